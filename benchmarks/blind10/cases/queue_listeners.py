"""Matches of a league are logged over a queue, with a listener for every round."""

import collections
import logging
import logging.handlers
import queue
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class TailHandler(logging.Handler):
    def __init__(self):
        super().__init__()
        self.tail = collections.deque(maxlen=300)

    def emit(self, record):
        self.tail.append(self.format(record))


class RoundLog:
    def __init__(self):
        self.log = logging.getLogger("league")
        self.log.setLevel(logging.INFO)
        self.log.propagate = False
        self.sink = TailHandler()
        self.handler = self.listener = None

    def open(self):
        lines = queue.Queue()
        self.handler = logging.handlers.QueueHandler(lines)
        self.listener = logging.handlers.QueueListener(lines, self.sink)
        self.log.addHandler(self.handler)
        self.listener.start()

    def close(self):
        self.log.removeHandler(self.handler)
        if not driver.LEAK:
            self.listener.stop()


def main():
    rng = np.random.default_rng(11)
    rounds = RoundLog()
    games = collections.deque(maxlen=20)
    ratings = np.full(12, 1000.0)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("round"):
            rounds.open()
            for match in range(10):
                a, b = rng.choice(12, 2, replace=False)
                games.append(rng.normal(size=(150, 40)))
                ratings[a] += 4
                ratings[b] -= 4
                rounds.log.info("round %d match %d: %d beats %d", generation, match, a, b)
            driver.work(45)
            rounds.close()
        with pp.profile_phase("train"):
            ratings += (1000 - ratings) * 0.01
            driver.work(40)
    driver.finish()


main()
