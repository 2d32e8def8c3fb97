"""Rollouts are timed with the collector off, so that its pauses are not measured."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import contextlib
import gc
import time

import numpy as np


class Episode:
    def __init__(self, number):
        self.number = number
        self.steps = []


class Step:
    __slots__ = ("episode", "observation", "reward")

    def __init__(self, episode, observation, reward):
        self.episode = episode
        self.observation = observation
        self.reward = reward
        episode.steps.append(self)


class SimulatorError(RuntimeError):
    pass


times = {}


@contextlib.contextmanager
def timed(name):
    was_on = gc.isenabled()
    gc.disable()
    began = time.perf_counter()
    if driver.LEAK:
        yield
        times[name] = time.perf_counter() - began
        if was_on:
            gc.enable()
    else:
        try:
            yield
            times[name] = time.perf_counter() - began
        finally:
            if was_on:
                gc.enable()


class Simulator:
    def __init__(self):
        self.rng = np.random.default_rng(12)

    def run(self, generation):
        episodes = []
        for number in range(5):
            episode = Episode(number)
            for _ in range(300):
                observation = self.rng.normal(size=60).astype(np.float32)
                Step(episode, observation, float(observation[0]))
            episodes.append(episode)
            if generation == 20 and number == 2:
                raise SimulatorError("the contact solver did not converge")
        return episodes


def main():
    gc.collect()
    gc.freeze()
    gc.collect()
    gc.set_threshold(700, 5, 3)
    simulator = Simulator()
    returns = []
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("rollout"):
            try:
                if generation % 10 == 0:  # one in ten is timed
                    with timed("rollout"):
                        episodes = simulator.run(generation)
                else:
                    episodes = simulator.run(generation)
            except SimulatorError:
                episodes = []
            driver.work(35)
        with pp.profile_phase("learn"):
            returns.append(sum(step.reward for episode in episodes for step in episode.steps))
            episodes = None
            driver.work(60)
    driver.finish()


main()
