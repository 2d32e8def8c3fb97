"""An inference client in asyncio whose requests are aborted on shutdown."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import asyncio
import functools

import numpy as np


def abort(batch, future):
    batch.fill(0)


class Client:
    def __init__(self):
        self.shutdown = asyncio.get_running_loop().create_future()
        self.policy = np.random.default_rng(3).random((128, 4))

    async def infer(self, batch):
        on_shutdown = functools.partial(abort, batch)
        self.shutdown.add_done_callback(on_shutdown)
        await asyncio.sleep(0.001)
        actions = (batch @ self.policy).argmax(1)
        if not driver.LEAK:
            self.shutdown.remove_done_callback(on_shutdown)
        return actions


async def main():
    client = Client()
    rng = np.random.default_rng(7)
    returns = []
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("infer"):
            actions = await asyncio.gather(*(client.infer(rng.random((64, 128))) for _ in range(12)))
            driver.work(40)
        with pp.profile_phase("learn"):
            returns.append(float(np.mean(actions)))
            del returns[:-100]
            driver.work(45)
    driver.finish()


asyncio.run(main())
