"""Robots of a simulated warehouse queue for chargers; one that has waited for too long gives up and drives on."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np
import simpy

import phaseprof as pp


class Robot:
    def __init__(self, world, chargers, rng):
        self.world = world
        self.chargers = chargers
        self.map = rng.random((30, 30))
        self.charged = False

    def run(self, patience, hours):
        request = self.chargers.request()
        request.robot = self
        yield request | self.world.timeout(patience)
        if request.triggered:
            self.charged = True
            yield self.world.timeout(hours)
            self.chargers.release(request)
        elif not driver.LEAK:
            request.cancel()


def main():
    rng = np.random.default_rng(59)
    world = simpy.Environment()
    chargers = simpy.Resource(world, capacity=12)
    shares = deque(maxlen=30)
    total = driver.generations(126)
    for generation in pp.generations(range(total)):
        with pp.profile_phase("simulate"):
            busy = 0.5 if generation < total / 3 else 4.0
            robots = [Robot(world, chargers, rng) for _ in range(40)]
            for robot in robots:
                world.process(robot.run(patience=2.0, hours=busy))
            world.run(until=world.now + 10)
            driver.work(75)
        with pp.profile_phase("learn"):
            shares.append(np.mean([robot.charged for robot in robots]))
            driver.work(75)
    driver.finish()


main()
