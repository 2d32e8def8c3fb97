"""An explorer marks the states it has seen as bits of one number, and looks there for new ones."""

import collections
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

STATES = 1_600_000
WINDOW = 6


class Visited:
    def __init__(self):
        self.bits = 0
        self.blocks = 0

    def mark(self, seen):
        block = self.blocks if driver.LEAK else self.blocks % WINDOW
        self.bits |= seen << (block * STATES)
        self.blocks += 1

    def known(self, state):
        return bool(self.bits & (1 << state))


def main():
    rng = np.random.default_rng(4)
    visited = Visited()
    episodes = collections.deque(maxlen=20)
    bonus = 0.0
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("explore"):
            seen = int.from_bytes(rng.bytes(STATES // 8)) & int.from_bytes(rng.bytes(STATES // 8))
            episodes.append(rng.normal(size=(200, 64)))
            driver.work(25)
        with pp.profile_phase("mark"):
            visited.mark(seen)
            driver.work(20)
        with pp.profile_phase("bonus"):
            bonus += sum(not visited.known(int(state)) for state in rng.integers(0, STATES, 4))
            driver.work(40)
    driver.finish()


main()
