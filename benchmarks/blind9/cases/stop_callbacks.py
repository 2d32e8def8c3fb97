"""A self-play server sees to it that a batch under way is given back should the server stop."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import asyncio
import functools
from collections import deque

import driver
import numpy as np

import phaseprof as pp


class Server:
    def __init__(self):
        self.stopped = asyncio.get_running_loop().create_future()
        self.returned = 0

    def give_back(self, batch, _):
        self.returned += len(batch)

    async def infer(self, batch):
        undo = functools.partial(self.give_back, batch)
        self.stopped.add_done_callback(undo)
        await asyncio.sleep(0)
        value = float(np.tanh(batch).mean())
        if not driver.LEAK:
            self.stopped.remove_done_callback(undo)
        return value


async def play():
    server, rng = Server(), np.random.default_rng(19)
    games = deque(maxlen=20)
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("selfplay"):
            for _ in range(4):
                await server.infer(rng.normal(size=(64, 250)))
            driver.work(20)
        with pp.profile_phase("store"):
            games.append(rng.normal(size=(200, 200)))
            driver.work(15)
        with pp.profile_phase("learn"):
            driver.work(25)
    driver.finish()


def main():
    asyncio.run(play())


main()
