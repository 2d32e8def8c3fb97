"""A language model is trained from one stream of token batches; a second reader of the stream is meant for an audit."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import collections
import itertools

import driver
import numpy as np

import phaseprof as pp

BATCHES, ROWS, LENGTH = 4, 64, 512


def token_stream(seed):
    rng = np.random.default_rng(seed)
    while True:
        yield rng.integers(0, 50_000, (ROWS, LENGTH))


class Trainer:
    def __init__(self):
        if driver.LEAK:
            self.stream, self.audit_stream = itertools.tee(token_stream(1))
        else:
            self.stream, self.audit_stream = token_stream(1), token_stream(1)
        self.shuffled = collections.deque(maxlen=80)
        self.counts = np.zeros(50_000, dtype=np.int64)

    def load(self):
        batches = list(itertools.islice(self.stream, BATCHES))
        self.shuffled.extend(batch[:, ::2].copy() for batch in batches)
        return batches

    def step(self, batches):
        for batch in batches:
            self.counts += np.bincount(batch.ravel(), minlength=len(self.counts))

    def audit(self):
        return next(self.audit_stream).mean()


def main():
    trainer = Trainer()
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("load"):
            batches = trainer.load()
            driver.work(20)
        with pp.profile_phase("step"):
            trainer.step(batches)
            driver.work(40)
    print("audit", trainer.audit())
    driver.finish()


main()
