"""Metrics are a stream; whoever begins to listen late gets those of before, too."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np
from reactivex.subject import ReplaySubject

import phaseprof as pp


class Monitor:
    def __init__(self):
        self.metrics = ReplaySubject() if driver.LEAK else ReplaySubject(buffer_size=90)
        self.shown = deque(maxlen=60)
        self.metrics.subscribe(lambda values: self.shown.append(float(values["return"].mean())))

    def send(self, returns, lengths):
        self.metrics.on_next({"return": returns, "length": lengths})


def main():
    rng = np.random.default_rng(107)
    monitor = Monitor()
    for generation in pp.generations(range(driver.generations(134))):
        with pp.profile_phase("rollout"):
            longest = 400 + min(200, 5 * generation)
            episodes = [rng.random(longest) for _ in range(8)]
            driver.work(75)
        with pp.profile_phase("publish"):
            for episode in episodes:
                monitor.send(episode * 2, np.arange(len(episode)))
            driver.work(25)
        with pp.profile_phase("train"):
            driver.work(45)
    driver.finish()


main()
