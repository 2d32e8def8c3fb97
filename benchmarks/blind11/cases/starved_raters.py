"""A sample of each generation is rated in a thread; no more than three may rate at a time."""

import collections
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Sample:
    def __init__(self, values):
        self.values = values
        self.broken = bool(values[0] > 0)
        self.score = None


class Raters:
    def __init__(self):
        self.permits = threading.Semaphore(3)

    def rate(self, sample):
        self.permits.acquire()
        if sample.broken:
            if not driver.LEAK:
                self.permits.release()
            return
        sample.score = float(np.abs(sample.values).mean())
        self.permits.release()


def main():
    rng = np.random.default_rng(24)
    raters = Raters()
    scores = collections.deque(maxlen=25)
    for _ in pp.generations(range(driver.generations(80))):
        with pp.profile_phase("sample"):
            sample = Sample(rng.normal(size=2_000))
            driver.work(45)
        with pp.profile_phase("rate"):
            rater = threading.Thread(target=raters.rate, args=(sample,), daemon=True)
            rater.start()
            rater.join(timeout=0.01)
            scores.append(sample.score)
            driver.work(25)
        with pp.profile_phase("learn"):
            sum(score for score in scores if score is not None)
            driver.work(30)
    driver.finish()


main()
