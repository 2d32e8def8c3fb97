"""Scores come from an asynchronous judge, asked through a portal into the thread of its event loop."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import anyio
import driver
import numpy as np
from anyio.from_thread import start_blocking_portal

import phaseprof as pp


async def judge(samples):
    await anyio.sleep(0)
    return float(np.tanh(samples).mean())


class Judges:
    """A portal serves for three generations, then there is a new one."""

    def __init__(self):
        self.portals = []

    def renew(self):
        if self.portals and not driver.LEAK:
            self.close()
        opening = start_blocking_portal()
        self.portals.append((opening, opening.__enter__()))

    def ask(self, samples):
        return self.portals[-1][1].call(judge, samples)

    def close(self):
        while self.portals:
            self.portals.pop()[0].__exit__(None, None, None)


def main():
    rng = np.random.default_rng(20)
    judges = Judges()
    window = np.zeros((40, 300, 64))
    for generation in pp.generations(range(driver.generations(120))):
        with pp.profile_phase("sample"):
            window[generation % 40] = rng.normal(size=(300, 64))
            driver.work(50)
        with pp.profile_phase("judge"):
            if generation % 3 == 0:
                judges.renew()
            score = judges.ask(window[generation % 40])
            driver.work(50)
        with pp.profile_phase("train"):
            window[generation % 40] += score
            driver.work(45)
    driver.finish()
    judges.close()


main()
