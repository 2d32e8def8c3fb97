"""tracemalloc: traced bytes at phase exits and generation ends, and a snapshot diff of five frames."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from leakbench import Finding
from leakbench.tools.base import BaseTool

WARMUP, FRAMES, LIMIT, SHARE = 3, 5, 5e6, 0.8


def traced() -> int:
    return tracemalloc.get_traced_memory()[0]


class Tool(BaseTool):
    def start(self, program: Any) -> None:
        tracemalloc.start(FRAMES)
        self.growth: Counter[str] = Counter()
        self.history: list[int] = []
        self.open: list[str] = []
        self.last = traced()
        self.first: tracemalloc.Snapshot | None = None

    def mark(self) -> None:
        """Charge what changed since the last mark to the phase that is open."""
        now = traced()
        if self.open and self.first:
            self.growth[self.open[-1]] += now - self.last
        self.last = now

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        self.mark()
        self.open.append(name)
        try:
            yield
        finally:
            self.mark()
            self.open.pop()

    @contextmanager
    def generation(self, index: int) -> Iterator[None]:
        yield
        if index == WARMUP:
            self.first = tracemalloc.take_snapshot()
        self.history.append(traced())

    def findings(self) -> list[Finding]:
        kept = self.history[WARMUP + 1 :]
        steps = [b - a for a, b in pairwise(kept)]
        if kept[-1] - kept[len(kept) // 2] <= LIMIT or sum(s > 0 for s in steps) < SHARE * len(steps):
            return []
        last = tracemalloc.take_snapshot()
        total = kept[-1] - kept[0]
        numpy_only = [tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)]
        arrays = sum(
            d.size_diff
            for d in last.filter_traces(numpy_only).compare_to(self.first.filter_traces(numpy_only), "filename")
        )
        top = last.compare_to(self.first, "lineno")[0]
        frame = top.traceback[0]
        phase = max(self.growth, key=self.growth.__getitem__, default="")
        kind = "arrays" if arrays > total / 2 else "objects"
        return [
            Finding(
                phase,
                kind,
                holder=f"{Path(frame.filename).name}:{frame.lineno}",
                detail=f"+{total / 1e6:.1f} MB; top line {top}",
            )
        ]
