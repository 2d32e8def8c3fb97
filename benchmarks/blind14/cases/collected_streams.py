"""Each generation's batches come as a stream that ends; the learner subscribes to it, and can cancel that."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np
import reactivex
from reactivex import operators
from reactivex.disposable import CompositeDisposable

import phaseprof as pp


class Collector:
    def __init__(self):
        self.batches = []
        self.complete = False

    def add(self, batch):
        self.batches.append(batch)

    def end(self):
        self.complete = True


class Learner:
    def __init__(self):
        self.subscriptions = CompositeDisposable()
        self.losses = deque(maxlen=60)

    def collect(self, stream):
        collector = Collector()
        subscription = stream.subscribe(on_next=collector.add, on_completed=collector.end)
        self.subscriptions.add(subscription)
        if collector.complete and not driver.LEAK:
            self.subscriptions.remove(subscription)
        return collector.batches

    def stop(self):
        self.subscriptions.dispose()


def main():
    rng = np.random.default_rng(149)
    learner = Learner()
    replay = deque(maxlen=25)
    for generation in pp.generations(range(driver.generations(76))):
        with pp.profile_phase("stream"):
            stream = reactivex.from_iterable(range(12)).pipe(operators.map(lambda _: rng.random((40, 45))))
            batches = learner.collect(stream)
            driver.work(55)
        with pp.profile_phase("learn"):
            replay.append(batches[-1].astype(np.float32))
            learner.losses.append(float(np.mean([np.square(batch).mean() for batch in batches])))
            del batches, stream
            driver.work(55)
    driver.finish()
    learner.stop()


main()
