"""Events of four simulators are put into windows of time; a window is summed up when every simulator is past it."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

SOURCES = ("north", "east", "south", "west")


class Windows:
    def __init__(self, patience=3.0):
        self.open = {}
        self.seen = dict.fromkeys(SOURCES, 0.0)
        self.patience = patience

    def add(self, source, when, observation):
        self.seen[source] = max(self.seen[source], when)
        self.open.setdefault(int(when * 4), []).append(observation)

    def watermark(self):
        times = self.seen.values()
        if driver.LEAK:
            return min(times)
        newest = max(times)
        return min(time for time in times if newest - time < self.patience)  # without those that are idle

    def close(self):
        limit = int(self.watermark() * 4)
        for index in sorted(index for index in self.open if index < limit):
            yield np.mean(self.open.pop(index), axis=0)


def main():
    rng = np.random.default_rng(83)
    windows = Windows()
    sums = deque(maxlen=200)
    total = driver.generations(150)
    for generation in pp.generations(range(total)):
        with pp.profile_phase("simulate"):
            for source in SOURCES:
                if source == "west" and generation > total / 3:
                    continue  # this simulator is not needed any more
                for when in np.sort(rng.random(14)):
                    windows.add(source, generation + when, rng.random(600))
            driver.work(30)
            driver.wait(330)
        with pp.profile_phase("summarise"):
            sums.extend(windows.close())
            driver.work(40)
    driver.finish()


main()
