"""Simulators made for an evaluation register their release with atexit, and are never unregistered."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import driver  # noqa: E402
import atexit

import numpy as np

import phaseprof as pp


class Simulator:
    def __init__(self, seed):
        self.terrain = np.random.default_rng(seed).random((200, 128))
        self.tiles = {(x, y): float(x * y) for x in range(8) for y in range(8)}
        self.open = True

    def rollout(self):
        return float((self.terrain * 0.5).sum())

    def close(self):
        self.open = False


def open_simulator(seed):
    simulator = Simulator(seed)

    def release():
        simulator.close()

    atexit.register(release)  # so that a crash leaves no simulator open
    return simulator, release


def evaluate(generation):
    scores = []
    for k in range(3):
        simulator, release = open_simulator(10 * generation + k)
        scores.append(simulator.rollout())
        simulator.close()
        if not driver.LEAK:
            atexit.unregister(release)
    return scores


def main():
    best = -np.inf
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            driver.work(35)
        with pp.profile_phase("update"):
            driver.work(45)
        with pp.profile_phase("evaluate"):
            best = max(best, *evaluate(generation))
            driver.work(20)
    driver.finish()


main()
