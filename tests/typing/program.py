"""A program as users write it, which must pass ``mypy --strict``; it is checked, never run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import phaseprof as pp
from phaseprof import checkpoint, generation, profile_phase, track, watch


class Env:
    """Something to watch."""


class Trainer:
    """Decorated in every way; what the decorated ones return keeps its type."""

    @profile_phase("train", items=len)
    def train(self, steps: int) -> list[float]:
        with checkpoint("forward"):
            losses = [0.0] * steps
        checkpoint("after forward")
        return losses

    @profile_phase
    def evaluate(self) -> str:
        return "done"

    @staticmethod
    @profile_phase()
    def fixed(n: int) -> int:
        return n

    @profile_phase("batches")
    def batches(self) -> Iterator[int]:
        yield 1

    @profile_phase("fetch")
    async def fetch(self) -> bytes:
        return b""

    @profile_phase("stream")
    async def stream(self) -> AsyncIterator[int]:
        yield 1


def main(trainer: Trainer) -> None:
    watch(Env, expected=2)
    watch("pkg.mod:Env", expected=(1, 3))
    track("trainer", trainer)
    track("losses", lambda: trainer.train(1))
    for epoch in pp.generations(range(3), items=10):
        pp.next_generation(epoch + 1)
    for g in range(3):
        with generation(g, items=100) as turn:
            turn.items = 200
            losses: list[float] = trainer.train(3)
            word: str = trainer.evaluate()
            number: int = trainer.fixed(len(losses)) + sum(trainer.batches())
            with profile_phase("block"):
                print(word, number)
    pp.log_memory("end", show_objects=True)
    pp.assert_counts({Env: 2}, Trainer=(0, 1))
    pp.assert_no_growth(lambda: trainer.train(1), repeat=5)
    profiler: pp.Profiler = pp.configure(budget=None, on_violation="warn")
    for finding in profiler.findings():
        text: str = finding.summary
        print(text)
    data: dict[str, object] = profiler.report().to_dict()
    print(data, profiler.trend(), profiler.growth(), profiler.counts(), profiler.large_objects(min_mb=1.0))
    other = pp.Profiler("runs/1", leak_threshold_mb=2.0, on_violation=print)
    other.close()
    print(pp.load(Path("runs/1")).main.phase_names)
