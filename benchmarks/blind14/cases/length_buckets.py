"""Episodes of different lengths are put into buckets, so that the batches made from a bucket need little padding."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

TASKS = ("reach", "push", "stack")


class Buckets:
    def __init__(self, size):
        self.size = size
        self.waiting = {}

    def key(self, task, episode):
        length = len(episode)
        if driver.LEAK:
            return task, length
        return task, 1 << (length - 1).bit_length()

    def add(self, task, episode):
        """A batch, if the bucket of this episode is full now."""
        bucket = self.waiting.setdefault(self.key(task, episode), [])
        bucket.append(episode)
        if len(bucket) < self.size:
            return None
        del self.waiting[self.key(task, episode)]
        longest = max(map(len, bucket))
        return np.stack([np.pad(one, ((0, longest - len(one)), (0, 0))) for one in bucket])


def main():
    rng = np.random.default_rng(97)
    buckets = Buckets(size=4)
    losses = deque(maxlen=60)
    norms = deque(maxlen=40)
    for generation in pp.generations(range(driver.generations(120))):
        with pp.profile_phase("collect"):
            lengths = rng.integers(260, 1000, size=10)
            episodes = [(TASKS[rng.integers(3)], rng.random((length, 8), np.float32)) for length in lengths]
            driver.work(70)
        with pp.profile_phase("batch"):
            added = (buckets.add(task, episode) for task, episode in episodes)
            batches = [batch for batch in added if batch is not None]
            driver.work(15)
        with pp.profile_phase("learn"):
            for batch in batches:
                losses.append(float(np.square(batch).mean()))
            norms.append(rng.random(4000))
            driver.work(65)
    driver.finish()


main()
