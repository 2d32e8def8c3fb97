"""Each trial of a search collects its log lines with a handler of its own on the one logger of the search."""

import logging
import logging.handlers
import random
import time

from leakbench import Case, Truth

log = logging.getLogger("blind2.search")
log.setLevel(logging.DEBUG)
log.propagate = False


class Trial:
    def __init__(self, number):
        self.number = number
        self.lines = logging.handlers.MemoryHandler(capacity=100_000, flushLevel=logging.CRITICAL)

    def __enter__(self):
        log.addHandler(self.lines)
        return self

    def __exit__(self, *exc_info):
        log.removeHandler(self.lines)
        self.lines.close()


class Tuner:
    def __init__(self, leaky):
        self.leaky = leaky
        self.random = random.Random(9)
        self.scores = [0.0] * 8

    def run(self, trial):
        score = 0.0
        for step in range(80):
            score += self.random.random()
            log.debug("trial %d step %d loss %.4f", trial.number, step, score)
        self.scores[trial.number % 8] = score

    def generation(self, pp, index):
        with pp.phase("trial"):
            trial = Trial(index)
            if self.leaky:
                trial.__enter__()
                self.run(trial)
            else:
                with trial:
                    self.run(trial)
            time.sleep(0.14)
        with pp.phase("propose"):
            self.scores.sort()
            time.sleep(0.06)


CASE = Case(
    name="blind2_trial_handlers",
    build=Tuner,
    truth=Truth(
        phase="trial",
        kind="objects",
        subject="LogRecord",
        holder=("handlers", "buffer"),
        also=("container", "native"),
        subject_also=("MemoryHandler", "list", "dict"),
    ),
    source="https://github.com/malariagen/malariagen-data-python/pull/949",
    generations=36,
    tags=("slow",),
)
