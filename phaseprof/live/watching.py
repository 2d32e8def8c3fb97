"""Watched classes and what must be true of their counts."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeGuard, Union, cast

from phaseprof.errors import UsageError
from phaseprof.live.arguments import refuse, shown
from phaseprof.live.names import MAIN, find_class, misspelt, not_a_class, why_missing
from phaseprof.probes import census
from phaseprof.probes.typeinfo import bare_name, hashes_plainly, is_a, type_name, with_subclasses
from phaseprof.recording import format as fmt

Expected = Union[int, tuple[int, int], None]  # noqa: UP007 - evaluated at run time on Python 3.10


def check_expected(expected: object) -> tuple[int, int]:
    """Turn an expectation into bounds: ``2`` is (2, 2), ``None`` is (-1, -1), no bound.

    Raises:
        UsageError: it is neither a count, a range, nor ``None``.
    """
    if expected is None:
        return (-1, -1)
    if _is_count(expected):
        return (expected, expected)
    if (is_a(expected, tuple) or is_a(expected, list)) and len(expected) == 2:
        low, high = expected
        if _is_count(low) and _is_count(high) and low <= high:
            return (low, high)
    raise refuse("expected", "be a count, a range (lo, hi) with 0 <= lo <= hi, or None", expected)


def _is_count(n: object) -> TypeGuard[int]:
    """Whether it is a whole number that a record can hold."""
    return is_a(n, int) and not is_a(n, bool) and 0 <= n < 2**63


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

    def resolve(self) -> None:
        """Look for the class of a dotted name."""
        cls = find_class(self.dotted)
        self.cls = None if cls is None else weakref.ref(cls)

    def missing(self) -> str:
        """Why the class of a dotted name was never found; empty if it was, or if a class was given."""
        return why_missing(self.dotted) if self.dotted and self.cls is None else ""

    def keeps(self, count: int) -> bool:
        """Whether a count is within the bounds."""
        return not self.has_expectation or self.low <= count <= self.high

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
            UsageError: ``target`` is neither, looks misspelt (the nearest class is named), or ``expected`` is not a
                bound.
        """
        low, high = check_expected(expected)
        # By type, since isinstance would ask the class for its __class__, and a metaclass may answer anything.
        if not issubclass(type(target), type) and is_a(target, str):
            dotted = target.replace(":", ".")
            if not all(part.isidentifier() for part in dotted.split(".")):
                given = shown(target)
                raise UsageError(f"watch takes a class or its dotted name (got {given}); write watch('envs.Env')")
            entry = Watched(dotted.rpartition(".")[2], low, high, None, dotted=dotted)
            cls = find_class(dotted, lazily=True)
            other = not_a_class(dotted) if cls is None else ""
            if other:
                raise UsageError(f"watch takes a class (got {target!r}, which is a {other}); name the class")
            near = misspelt(dotted) if cls is None else ""
            if near:
                raise UsageError(f"watch: there is no class {target!r} ({why_missing(dotted)}); did you mean {near!r}?")
            entry.cls = None if cls is None else weakref.ref(cls)
        elif issubclass(type(target), type):
            target = cast("type", target)
            entry = Watched(bare_name(target), low, high, weakref.ref(target))
        else:
            given = shown(target)
            raise UsageError(f"watch takes a class or its dotted name (got {given}); write watch(Env, expected=2)")
        entry.name = self._free_name(entry)
        self.entries[entry.name] = entry
        return entry

    def _free_name(self, entry: Watched) -> str:
        """The class's short name, or a longer one where two classes share it; watching one again replaces it."""
        taken = self.entries.get(entry.name)
        if taken is None or _is_same(taken, entry):
            return entry.name
        cls = entry.cls() if entry.cls is not None else None
        if cls is not None:
            return type_name(cls)
        return entry.dotted if "." in entry.dotted else f"{MAIN}.{entry.dotted}"

    def classes(self) -> dict[str, type]:
        """The classes that exist now; dotted names whose module has appeared are resolved on the way."""
        found: dict[str, type] = {}
        for entry in self.entries.values():
            if entry.dotted and (entry.cls is None or entry.cls() is None):
                entry.resolve()
            cls = entry.cls() if entry.cls is not None else None
            if cls is not None:
                found[entry.name] = cls
        return found

    @property
    def has_broken(self) -> bool:
        """Whether an expectation was broken at the newest count."""
        return any(entry.since is not None for entry in self.entries.values())

    def missing(self) -> list[fmt.Watch]:
        """Records of the names that were never found: nobody counted them, so nobody may call them right."""
        told = [(entry, entry.missing()) for entry in self.entries.values()]
        return [fmt.Watch(entry.name, entry.low, entry.high, why) for entry, why in told if why]

    def take_earlier(self, counts: Mapping[str, int], generation: int) -> None:
        """Take in counts of a generation that are known only now: since when an expectation is broken."""
        for name, count in counts.items():
            entry = self.entries[name]
            if entry.keeps(count):
                entry.since = None
            elif entry.since is None:
                entry.since = generation

    def update(self, counts: Mapping[str, int], generation: int) -> list[Watched]:
        """Take in new counts; return the entries whose expectation is broken by a count it was not broken by before."""
        broken = []
        for name, count in counts.items():
            entry = self.entries[name]
            before = entry.count if entry.seen else None
            entry.count = count
            entry.seen += 1
            if entry.keeps(entry.count):
                entry.since = None
                continue
            if entry.since is None:
                entry.since = generation
                broken.append(entry)
            elif before != entry.count:
                broken.append(entry)
        return broken


def counts_of(classes: Mapping[str, type], tally: Mapping[type, int]) -> dict[str, int]:
    """Count the instances of classes by name, subclasses included, from a census of exact types.

    Classes that a census leaves out, since hashing them may run a metaclass's Python, are counted in a pass of their
    own.  Cost: nothing, but for those 30 ns an object of the heap.
    """
    families = {name: with_subclasses([cls]) for name, cls in classes.items()}
    found = {
        name: sum(tally.get(sub, 0) for sub in family)
        for name, family in families.items()
        if all(hashes_plainly(type(sub)) for sub in family)
    }
    left_out = {name: cls for name, cls in classes.items() if name not in found}
    return {**found, **(census.watched_counts(left_out) if left_out else {})}


def _is_same(one: Watched, other: Watched) -> bool:
    """Whether two entries watch one class, as far as can be told: a class that is gone makes room."""
    if one.dotted and one.dotted == other.dotted:
        return True
    first = one.cls() if one.cls is not None else None
    second = other.cls() if other.cls is not None else None
    return first is second if second is not None else first is None and not one.dotted
