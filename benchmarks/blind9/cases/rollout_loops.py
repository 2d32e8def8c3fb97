"""Rollouts run in an event loop of their own for each generation, with their latencies kept for a chart."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import asyncio

import driver
import numpy as np

import phaseprof as pp


class Rollouts:
    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.latency = 0.0

    @staticmethod
    def episode(seed, slot):
        np.random.default_rng(seed).standard_normal(out=slot)

    async def gather(self, seed, slots):
        started = self.loop.time()
        for number, slot in enumerate(slots):
            await self.loop.run_in_executor(None, self.episode, (seed, number), slot)
        self.latency = self.loop.time() - started

    def run(self, seed, slots):
        self.loop.run_until_complete(self.gather(seed, slots))

    def close(self):
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()


class Chart:
    def __init__(self):
        self.collectors = []
        self.latencies = []

    def add(self, rollouts):
        if driver.LEAK:
            self.collectors.append(rollouts)
        else:
            rollouts.close()
            self.latencies.append(rollouts.latency)


def main():
    chart = Chart()
    replay = np.zeros((20, 3, 200, 60))
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            rollouts = Rollouts()
            rollouts.run(generation, replay[generation % 20])
            chart.add(rollouts)
            driver.work(25)
        with pp.profile_phase("learn"):
            driver.work(25)
        with pp.profile_phase("report"):
            driver.work(10)
    driver.finish()


main()
