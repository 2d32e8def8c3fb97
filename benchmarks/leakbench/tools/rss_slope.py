"""The home-made method: psutil RSS after each phase and each generation, and a threshold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil

from leakbench import Finding
from leakbench.tools.base import BaseTool

WARMUP = 3
TOTAL, PER_GENERATION = 10e6, 5e6


class Tool(BaseTool):
    def start(self, program: Any) -> None:
        self.process = psutil.Process()
        self.growth: Counter[str] = Counter()
        self.history: list[int] = []
        self.last = self.rss()

    def rss(self) -> int:
        return self.process.memory_info().rss

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        self.last = self.rss()
        yield
        now = self.rss()
        if len(self.history) >= WARMUP:
            self.growth[name] += max(0, now - self.last)
        self.last = now

    @contextmanager
    def generation(self, index: int) -> Iterator[None]:
        yield
        self.history.append(self.rss())

    def findings(self) -> list[Finding]:
        kept = self.history[WARMUP - 1 :]
        growth = kept[-1] - kept[0]
        if growth <= TOTAL and growth <= PER_GENERATION * (len(kept) - 1):
            return []
        phase = max(self.growth, key=self.growth.__getitem__, default="")
        return [Finding(phase, "native", detail=f"RSS grew {growth / 1e6:.1f} MB in {len(kept) - 1} generations")]
