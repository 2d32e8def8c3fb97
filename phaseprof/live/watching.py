"""Watched classes and what must be true of their counts."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Union

from phaseprof.errors import UsageError

Expected = Union[int, tuple[int, int], None]  # noqa: UP007 - evaluated at run time on Python 3.10


def check_expected(expected: object) -> tuple[int, int]:
    """Turn an expectation into bounds: ``2`` is (2, 2), ``None`` is (-1, -1), no bound.

    Raises:
        UsageError: it is neither a count, a range, nor ``None``.
    """
    if expected is None:
        return (-1, -1)
    if isinstance(expected, int) and not isinstance(expected, bool) and expected >= 0:
        return (expected, expected)
    if isinstance(expected, (tuple, list)) and len(expected) == 2:
        low, high = expected
        if all(isinstance(n, int) and not isinstance(n, bool) for n in (low, high)) and 0 <= low <= high:
            return (low, high)
    raise UsageError(f"expected must be a count, a range (lo, hi) with 0 <= lo <= hi, or None (got {expected!r})")


@dataclass
class Watched:
    """One watched class; ``since`` is the generation in which its expectation broke, or ``None`` while it holds."""

    name: str
    low: int
    high: int
    cls: weakref.ref[type] | None
    dotted: str = ""
    since: int | None = None
    count: int = 0
    seen: int = 0

    @property
    def has_expectation(self) -> bool:
        """Whether a bound was given."""
        return self.low >= 0

    def expectation(self) -> str:
        """The bound as text."""
        return f"exactly {self.low}" if self.low == self.high else f"{self.low} to {self.high}"


@dataclass
class WatchList:
    """The classes a profiler watches, by display name; classes are held weakly."""

    entries: dict[str, Watched] = field(default_factory=dict)

    def add(self, target: type | str, expected: Expected) -> Watched:
        """Watch a class, or a dotted name that is resolved once its module has been imported.

        Raises:
            UsageError: ``target`` is neither, or ``expected`` is not a bound.
        """
        low, high = check_expected(expected)
        if isinstance(target, str):
            name = target.replace(":", ".").rpartition(".")[2]
            entry = Watched(self._free_name(name, None), low, high, None, dotted=target.replace(":", "."))
        elif isinstance(target, type):
            entry = Watched(self._free_name(target.__name__, target), low, high, weakref.ref(target))
        else:
            raise UsageError(f"watch takes a class or its dotted name (got {target!r}); write watch(Env, expected=2)")
        self.entries[entry.name] = entry
        return entry

    def _free_name(self, name: str, cls: type | None) -> str:
        """The class's short name, or a longer one where two classes share it; watching one again replaces it."""
        taken = self.entries.get(name)
        if taken is None or cls is None or taken.cls is None or taken.cls() in (cls, None):
            return name
        return f"{cls.__module__}.{cls.__qualname__}"

    def classes(self) -> dict[type, Watched]:
        """The classes that exist now; dotted names whose module has appeared are resolved on the way."""
        found: dict[type, Watched] = {}
        for entry in self.entries.values():
            if entry.cls is None:
                resolve_dotted(entry)
            cls = entry.cls() if entry.cls is not None else None
            if cls is not None:
                found[cls] = entry
        return found

    def update(self, counts: Mapping[type, int], generation: int) -> list[Watched]:
        """Take in new counts; return the entries whose expectation is broken by a count it was not broken by before."""
        broken = []
        for cls, entry in self.classes().items():
            if cls not in counts:
                continue
            before = entry.count if entry.seen else None
            entry.count = counts[cls]
            entry.seen += 1
            if not entry.has_expectation or entry.low <= entry.count <= entry.high:
                entry.since = None
                continue
            if entry.since is None:
                entry.since = generation
                broken.append(entry)
            elif before != entry.count:
                broken.append(entry)
        return broken


def resolve_dotted(entry: Watched) -> None:
    """Look for the class of a dotted name among the modules the program has imported; import nothing."""
    parts = entry.dotted.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        module = sys.modules.get(".".join(parts[:cut]))
        if module is None:
            continue
        found: object = module
        for part in parts[cut:]:
            found = vars(found).get(part) if isinstance(found, type) or found is module else None
        if isinstance(found, type):
            entry.cls = weakref.ref(found)
            return
