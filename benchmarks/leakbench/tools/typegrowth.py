"""What the adapters share that count objects by type: who grew, how steadily, and in which phase."""

from __future__ import annotations

import builtins
import types
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from leakbench import Finding
from leakbench.tools.base import BaseTool

# How a user reads a growing type; every other name says "objects".
KIND_OF = {
    "Tensor": "tensors",
    "Parameter": "tensors",
    "ndarray": "arrays",
    "Thread": "threads",
    "Process": "children",
    "Popen": "children",
    "SharedMemory": "shared memory",
    "socket": "descriptors",
    "TextIOWrapper": "descriptors",
    "BufferedReader": "descriptors",
    "BufferedWriter": "descriptors",
    "FileIO": "descriptors",
}
PLUMBING = {t.__name__ for space in (builtins, types) for t in vars(space).values() if isinstance(t, type)}
PLUMBING |= {"deque", "OrderedDict", "defaultdict", "Counter", "ReferenceType", "weakref"}


class TypeGrowthTool(BaseTool):
    """Subclasses say how to count and how often; types that reach a new peak steadily are suspects."""

    warmup = 3
    every = 1  # read at the end of every n-th generation after the warm-up
    phases_every = 3  # and also at the phase exits of every n-th
    share = 0.8  # of the readings in which a suspect must reach a new peak
    least = 0.0  # objects per generation that a suspect must gain

    def count(self) -> dict[str, int]:
        raise NotImplementedError

    def holder(self, name: str) -> str:
        return ""

    def start(self, program: Any) -> None:
        self.program = program
        self.peaks: dict[str, int] = {}
        self.first: dict[str, int] = {}
        self.hits: Counter[str] = Counter()
        self.gain: dict[str, Counter[str]] = {}
        self.open: list[str] = []
        self.before: dict[str, int] | None = None
        self.readings = self.span = 0

    def mark(self) -> None:
        """Charge what changed since the last mark to the phase that is open."""
        now = self.count()
        if self.open:
            gain = self.gain.setdefault(self.open[-1], Counter())
            gain.update(now)
            gain.subtract(self.before)
        self.before = now

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        if self.before is None:
            yield
            return
        if self.open:
            self.mark()
        self.open.append(name)
        try:
            yield
        finally:
            self.mark()
            self.open.pop()

    @contextmanager
    def generation(self, index: int) -> Iterator[None]:
        age = index - self.warmup
        self.before = self.count() if age > 0 and age % self.phases_every == self.phases_every // 2 else None
        yield
        self.before = None
        if age >= 0 and age % self.every == 0:
            self.take(first=age == 0)
            self.span = age

    def take(self, first: bool) -> None:
        for name, count in self.count().items():
            if count > self.peaks.get(name, 0):
                self.hits[name] += not first
                self.peaks[name] = count
        if first:
            self.first.update(self.peaks)
        self.readings += not first

    def findings(self) -> list[Finding]:
        grown = {
            name: self.peaks[name] - self.first.get(name, 0)
            for name, hits in self.hits.items()
            if hits >= self.share * self.readings
        }
        names = [name for name, growth in grown.items() if growth >= self.least * self.span]
        names.sort(key=lambda name: (name not in KIND_OF, name in PLUMBING, -grown[name]))
        found = []
        for name in names[:3]:
            phase = max(self.gain, key=lambda p: self.gain[p][name], default="")
            detail = f"+{grown[name]} in {self.span} generations"
            found.append(Finding(phase, KIND_OF.get(name, "objects"), name, self.holder(name), detail))
        return found
