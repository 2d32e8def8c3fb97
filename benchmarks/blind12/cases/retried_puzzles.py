"""Puzzles that were not solved come back into the pool; those that were make room for harder ones."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Puzzle:
    def __init__(self, rng, difficulty):
        self.difficulty = difficulty
        self.board = rng.integers(9, size=(24, 24))
        self.tried = 0


class Pool:
    def __init__(self):
        self.rng = np.random.default_rng(33)
        self.waiting = deque()

    def refill(self, difficulty):
        self.waiting.extend(Puzzle(self.rng, difficulty) for _ in range(40))

    def draw(self):
        return [self.waiting.popleft() for _ in range(min(100, len(self.waiting)))]

    def retry(self, puzzle):
        puzzle.tried += 1
        if driver.LEAK or puzzle.tried < 2:
            self.waiting.append(puzzle)


def main():
    rng = np.random.default_rng(331)
    pool = Pool()
    total = driver.generations(200)
    losses = np.zeros((60, 300, 64))
    for generation in pp.generations(range(total)):
        with pp.profile_phase("draw"):
            pool.refill(max(0.1, min(0.95, 1.6 * generation / total)))
            puzzles = pool.draw()
            driver.wait(80)
        with pp.profile_phase("solve"):
            skill = 0.55
            for puzzle in puzzles:
                if puzzle.difficulty + rng.normal() / 30 > skill:
                    pool.retry(puzzle)
            driver.wait(120)
            driver.work(20)
        with pp.profile_phase("train"):
            losses[generation % 60] = rng.normal(size=(300, 64))
            driver.wait(90)
            driver.work(20)
    driver.finish()


main()
