"""Deferred log calls keep a copy of the context they were made in; their list is flushed at a size that is never reached."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import driver  # noqa: E402
import contextvars

import numpy as np

import phaseprof as pp

TRACE = contextvars.ContextVar("trace")


class Trace:
    def __init__(self, name, seed):
        self.name = name
        self.timeline = np.random.default_rng(seed).random(6_000)


class Telemetry:
    def __init__(self):
        self.deferred = []
        self.flush_at = 1_000_000 if driver.LEAK else 25
        self.sent = 0.0

    def later(self, call):
        self.deferred.append((contextvars.copy_context(), call))
        if len(self.deferred) >= self.flush_at:
            for context, deferred in self.deferred:
                self.sent += context.run(deferred)
            self.deferred.clear()


def duration():
    return float(TRACE.get().timeline[-1])


def rollout(telemetry, seed):
    token = TRACE.set(Trace(f"rollout {seed}", seed))
    telemetry.later(duration)
    TRACE.reset(token)


def main():
    telemetry = Telemetry()
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            for k in range(4):
                rollout(telemetry, 4 * generation + k)
            driver.work(40)
        with pp.profile_phase("learn"):
            driver.work(50)
        with pp.profile_phase("evaluate"):
            driver.work(15)
    driver.finish()


main()
