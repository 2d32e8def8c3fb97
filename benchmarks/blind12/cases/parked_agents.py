"""Agents are generators which wait for events of their world: a key, a door, the end."""

import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


def agent(rng):
    memory = rng.normal(size=(40, 64))
    while True:
        event = yield "key" if memory[0, 0] < 0 else "door"
        memory[1:] = memory[:-1].copy()
        memory[0] = np.tanh(memory.mean(0)) + rng.normal(size=64) / 10
        if event == "door":
            return


class World:
    def __init__(self):
        self.waiting = defaultdict(list)

    def admit(self, agents):
        for one in agents:
            self.waiting[next(one)].append(one)

    def fire(self, event):
        woken, self.waiting[event] = self.waiting[event], []
        for one in woken:
            try:
                self.waiting[one.send(event)].append(one)
            except StopIteration:
                continue

    def finish(self):
        for event in list(self.waiting):
            if event == "door" and driver.LEAK:
                continue  # they leave by themselves
            for one in self.waiting.pop(event):
                one.close()


def main():
    rng = np.random.default_rng(26)
    world = World()
    total = driver.generations(140)
    window = np.zeros((40, 300, 64))
    for generation in pp.generations(range(total)):
        with pp.profile_phase("populate"):
            world.admit(agent(rng) for _ in range(16))
            driver.work(40)
        with pp.profile_phase("play"):
            for _ in range(4):
                world.fire("key")
                if generation < 0.35 * total:  # the later levels have no doors
                    world.fire("door")
            world.finish()
            driver.work(55)
        with pp.profile_phase("learn"):
            window[generation % 40] = rng.normal(size=(300, 64))
            driver.work(45)
    driver.finish()


main()
