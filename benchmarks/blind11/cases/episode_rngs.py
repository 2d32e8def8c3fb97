"""Each episode has a random stream of its own, that it may be played again alike."""

import collections
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Episodes:
    def __init__(self, width):
        self.width = width
        self.streams = {}
        self.running = []
        self.started = 0

    def start(self):
        while len(self.running) < self.width:
            self.started += 1
            self.streams[self.started] = np.random.RandomState(self.started)
            self.running.append(self.started)

    def step(self, episode):
        return float(self.streams[episode].normal(size=8).sum())

    def finish(self):
        for episode in self.running:
            if not driver.LEAK:
                del self.streams[episode]
        self.running.clear()


def main():
    rng = np.random.default_rng(15)
    episodes = Episodes(60)
    replay = collections.deque(maxlen=36)
    for _ in pp.generations(range(driver.generations(120))):
        with pp.profile_phase("reset"):
            episodes.start()
            driver.work(25)
        with pp.profile_phase("rollout"):
            returns = [sum(episodes.step(episode) for _ in range(10)) for episode in episodes.running]
            replay.append((np.array(returns), rng.normal(size=(60, 200))))
            driver.work(70)
        with pp.profile_phase("close"):
            episodes.finish()
            driver.work(10)
        with pp.profile_phase("learn"):
            np.mean([row.mean() for row, _ in replay])
            driver.work(45)
    driver.finish()


main()
