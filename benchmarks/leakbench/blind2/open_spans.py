"""Tracing spans in a context variable; a span that is not taken out again becomes the parent of the next."""

import contextvars
import time

from leakbench import Case, Truth

current_span = contextvars.ContextVar("current_span", default=None)


class Span:
    __slots__ = ("begin", "name", "notes", "parent", "token")

    def __init__(self, name):
        self.name = name
        self.begin = time.perf_counter()
        self.parent = current_span.get()
        self.notes = [f"{name}: shard {i} of request at {self.begin:.6f} accepted for scoring" for i in range(6)]
        self.token = None

    def start(self, temporary):
        token = current_span.set(self)
        self.token = token if temporary else None

    def finish(self):
        if self.token is not None:
            current_span.reset(self.token)


class ScoringService:
    def __init__(self, leaky):
        self.leaky = leaky
        self.answers = 0

    def handle(self, name):
        span = Span(name)
        span.start(temporary=not self.leaky)
        self.answers += len(span.notes)
        span.finish()

    def generation(self, pp, index):
        with pp.phase("requests"):
            for number in range(60):
                self.handle(f"request-{index}-{number}")
            time.sleep(0.12)
        with pp.phase("refresh"):
            time.sleep(0.08)


CASE = Case(
    name="blind2_open_spans",
    build=ScoringService,
    truth=Truth(
        phase="requests",
        kind="objects",
        subject="Span",
        holder=("parent",),
        also=("native", "container"),
        subject_also=("str", "list"),
    ),
    source="https://github.com/DataDog/dd-trace-py/pull/1936",
    generations=38,
    tags=("slow",),
)
