"""Tracing: each call of the policy opens a span below the current one."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import contextvars
import random
import time

_current_span = contextvars.ContextVar("current_span", default=None)


class Span:
    def __init__(self, name, parent):
        self.name = name
        self.parent = parent
        self.started = time.perf_counter()
        self.attributes = {}


class Tracer:
    def start(self, name):
        span = Span(name, _current_span.get())
        return span, _current_span.set(span)

    def end(self, span, token):
        span.attributes["seconds"] = time.perf_counter() - span.started
        if not driver.LEAK:
            _current_span.reset(token)


class Policy:
    def __init__(self, tracer):
        self.tracer = tracer

    def act(self, obs):
        span, token = self.tracer.start("policy.act")
        scores = [x * 0.5 for x in obs]
        span.attributes["observation"] = obs
        span.attributes["scores"] = scores
        self.tracer.end(span, token)
        return max(range(8), key=scores.__getitem__)


def main():
    policy = Policy(Tracer())
    random.seed(1)
    for generation in range(driver.GENERATIONS):
        with pp.generation(generation):
            with pp.profile_phase("inference"):
                for _ in range(100):
                    policy.act([random.random() for _ in range(64)])
                driver.work(40)
            with pp.profile_phase("gradient"):
                driver.work(40)
            with pp.profile_phase("sync"):
                driver.work(15)
    driver.finish()


main()
