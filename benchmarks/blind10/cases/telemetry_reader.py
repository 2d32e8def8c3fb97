"""A simulator sends lines of telemetry, which a reader of asyncio splits; a world model is fitted to them."""

import asyncio
import collections
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

LINES = 6


class Telemetry:
    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.reader = asyncio.StreamReader(limit=1 << 20, loop=self.loop)

    def receive(self, lines):
        for line in lines:
            self.reader.feed_data(line)

    async def read(self, number):
        return [json.loads(await self.reader.readline()) for _ in range(number)]

    def batch(self):
        return self.loop.run_until_complete(self.read(2 if driver.LEAK else LINES))[:2]


def main():
    rng = np.random.default_rng(3)
    telemetry = Telemetry()
    window = collections.deque(maxlen=20)
    model = np.zeros(500)
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("simulate"):
            lines = [json.dumps(rng.normal(size=2500).tolist()).encode() + b"\n" for _ in range(LINES)]
            driver.work(25)
        with pp.profile_phase("telemetry"):
            telemetry.receive(lines)
            batch = telemetry.batch()
            driver.work(20)
        with pp.profile_phase("fit"):
            window.append(np.array(batch))
            model += 0.1 * (window[-1].reshape(-1, 500).mean(0) - model)
            driver.work(30)
    driver.finish()
    telemetry.loop.close()


main()
