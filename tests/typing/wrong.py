"""A program with one mistake a line, each of which ``mypy --strict`` must find; it is checked, never run."""

from __future__ import annotations

import phaseprof as pp


@pp.profile_phase("train")
def train(steps: int) -> int:
    return steps


train("three")  # error: arg-type
word: str = train(3)  # error: assignment
pp.watch(3)  # error: arg-type
pp.Profiler(on_violation="shout")  # error: arg-type
pp.checkpoint(3)  # error: arg-type
