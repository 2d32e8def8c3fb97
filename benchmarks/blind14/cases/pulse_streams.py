"""While a longer evaluation runs, a stream of pulses tells the watchman that the program is alive."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np
import reactivex
from reactivex.scheduler import NewThreadScheduler

import phaseprof as pp


class Watchman:
    def __init__(self):
        self.pulses = deque(maxlen=100)

    def pulse(self, number):
        self.pulses.append(number)


def evaluate(watchman, policy, rng):
    pulses = reactivex.interval(0.5, scheduler=NewThreadScheduler()).subscribe(watchman.pulse)
    states = rng.normal(size=(500, 20))
    score = float(np.tanh(states @ policy).mean())
    driver.work(60)
    if not driver.LEAK:
        pulses.dispose()
    return score


def main():
    rng = np.random.default_rng(151)
    watchman = Watchman()
    policy = rng.normal(size=20)
    scores = deque(maxlen=30)
    replay = deque(maxlen=40)
    for generation in pp.generations(range(driver.generations(120))):
        with pp.profile_phase("rollout"):
            replay.append(rng.random((60, 80)))
            driver.work(70)
        with pp.profile_phase("learn"):
            policy += 0.01 * rng.normal(size=20)
            driver.work(65)
        with pp.profile_phase("evaluate"):
            if generation % 3 == 0:
                scores.append(evaluate(watchman, policy, rng))
    driver.finish()


main()
