"""An explorer counts the rooms it is still curious about: a visit takes away from the count of a room."""

import sys
from collections import Counter, deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Curiosity:
    def __init__(self):
        self.left = Counter()

    def discover(self, rooms):
        self.left.update(dict.fromkeys(rooms, 2))

    def visit(self, rooms):
        self.left.subtract(rooms)
        if not driver.LEAK:
            for room in rooms:
                if self.left[room] <= 0:
                    del self.left[room]


def look(rng, number):
    return [rng.integers(256, size=1100, dtype=np.uint8).tobytes() for _ in range(number)]


def main():
    rng = np.random.default_rng(31)
    curiosity = Curiosity()
    path = deque(maxlen=1500)
    for _ in pp.generations(range(driver.generations(75))):
        with pp.profile_phase("discover"):
            rooms = look(rng, 200)
            curiosity.discover(rooms)
            driver.work(35)
        with pp.profile_phase("explore"):
            for _ in range(2):
                curiosity.visit(rooms)
            path.extend(room[:16] for room in rooms)
            driver.work(45)
        with pp.profile_phase("train"):
            driver.work(35)
    driver.finish()


main()
