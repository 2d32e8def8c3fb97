"""Calls something again and again, and says what it leaves behind each time.

Everything is counted exactly, so the rule is plain: what a leak leaves, it leaves in every stretch of calls, no less
in the last than in the first.  A cache that fills leaves less and less, a first call leaves once.  So a stretch that
leaves nothing ends the search at once, and one that leaves something is followed by another while growth falls.
"""

from __future__ import annotations

import gc
import linecache
import re
import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import _lru_cache_wrapper

from phaseprof.live.arguments import check_number, check_whole
from phaseprof.probes import census
from phaseprof.probes.holders import find_holders
from phaseprof.probes.typeids import TypeFilter
from phaseprof.probes.typeinfo import type_name

# Stretches of calls in which something must grow to be a leak, and those after which it is given up as falling.
LEAK_STRETCHES, MOST_STRETCHES = 3, 8
# Growth that falls by more than this from the first stretch to the last comes to an end.
FALLING = 0.75
# Blocks of Python's allocator that a call must leave for containers to be looked at: others free some meanwhile.
LEAST_BLOCKS = 0.7
# Python keeps one each of the numbers up to here.
_LARGEST_SHARED = 256
_MOST_NAMED = 5
_HOLDER_DEADLINE_S = 1.0
_CONTAINERS = (list, dict, set, deque, OrderedDict, defaultdict)


@dataclass(frozen=True)
class Repetition:
    """How often to call, and what to tolerate.

    Attributes:
        repeat: calls in a stretch; at least 5.
        warm_up: calls before the first reading.
        max_objects: objects of one type a call that are tolerated.
    """

    repeat: int = 10
    warm_up: int = 3
    max_objects: float = 0.0

    def __post_init__(self) -> None:
        check_whole("repeat", self.repeat, least=5)
        check_whole("warm_up", self.warm_up, least=0)
        check_number("max_objects", self.max_objects)


@dataclass(frozen=True)
class Grown:
    """What grows from call to call.

    Attributes:
        name: of the type, or what else it is.
        per_call: how many more of them each call leaves.
        holder: what keeps one of the newest alive; empty where it was not found.
    """

    name: str
    per_call: float
    holder: str = ""

    def __str__(self) -> str:
        number = f"{self.per_call:+.1f}".removesuffix(".0")
        return f"{self.name}: {number} a call" + (f"; held by {self.holder}" if self.holder else "")


@dataclass(frozen=True)
class Outcome:
    """What came of repeating.

    Attributes:
        grown: what leaks, the most telling first; empty: nothing does.
        calls: how often it was called.
    """

    grown: tuple[Grown, ...]
    calls: int

    def __str__(self) -> str:
        more = len(self.grown) - _MOST_NAMED
        shown = "; ".join(map(str, self.grown[:_MOST_NAMED]))
        return f"{shown} and {more} more types" if more > 0 else shown


Counts = dict[int, int]


class _Reader:
    """Reads the heap between stretches; types go by their address, so that none is kept alive.

    Strings, numbers and arrays are not tracked by the collector: they show in the lengths of what holds them, which are
    read only where blocks of Python's allocator pile up.  Containers go by their address, negated.
    """

    def __init__(self, settle: Callable[[], object]) -> None:
        self.names: dict[int, str] = {}
        self.reads_lengths = False
        self._settle = settle
        self._own_blocks = 0  # of the table of the last reading: keys and counts, names and their keys

    def read(self) -> tuple[Counts, int]:
        """Return objects by type, and the blocks of Python's allocator in use."""
        self._settle()
        _let_caches_go()
        gc.collect()
        blocks = sys.getallocatedblocks() - self._own_blocks
        counts: Counts = {}
        for cls, n in census.count_types().items():
            counts[id(cls)] = n
            if id(cls) not in self.names:
                self.names[id(cls)] = type_name(cls)
        if self.reads_lengths:
            counts.update(self._lengths(ignore={id(counts), id(self.names)}))
        self._own_blocks = 2 * len(self.names) + len(counts) + sum(n > _LARGEST_SHARED for n in counts.values())
        return counts, blocks

    def _lengths(self, ignore: set[int]) -> Counts:
        objects = gc.get_objects()
        try:
            containers = TypeFilter(_CONTAINERS).pick(objects)
            found = {-id(one): len(one) for one in containers if id(one) not in ignore}  # type: ignore[arg-type]
        finally:
            objects.clear()
        return found


def _let_caches_go() -> None:
    """Empty caches of the standard library that are bounded, and fill for longer than a test is repeated."""
    re.purge()
    linecache.clearcache()
    for cache in _bounded_caches():
        cache.cache_clear()


def _bounded_caches() -> Iterator[_lru_cache_wrapper[object]]:
    for found in gc.get_referrers(_lru_cache_wrapper):
        if type(found) is not _lru_cache_wrapper:
            continue
        is_standard = str(found.__module__).partition(".")[0] in sys.stdlib_module_names
        if is_standard and found.cache_parameters()["maxsize"] is not None:
            yield found


def repeat(call: Callable[[], object], how: Repetition, *, settle: Callable[[], object] = int) -> Outcome:
    """Call again and again until it is clear whether something piles up.

    Args:
        call: what is called; what it raises ends the search.
        how: how often, and what to tolerate.
        settle: called before each reading: lets go of what the caller itself keeps of the calls.

    Cost: two full collections and two passes over the heap where nothing grows, one of each more for every stretch.
    """
    reader = _Reader(settle)
    for _ in range(how.warm_up):
        call()
    search = _Search(reader.names, how)
    counts, blocks = reader.read()
    search.begin(counts, blocks)
    calls = how.warm_up
    while search.goes_on():
        for _ in range(how.repeat):
            call()
        calls += how.repeat
        counts, blocks = reader.read()  # apart, so that no reading meets an object of ours that another does not
        search.take(counts, blocks)
        if search.needs_lengths() and not reader.reads_lengths:
            reader.reads_lengths = True
            counts, blocks = reader.read()
            search.begin(counts, blocks)
    return Outcome(search.grown(), calls)


class _Search:
    """What grew in each stretch so far."""

    def __init__(self, names: Mapping[int, str], how: Repetition) -> None:
        self._names, self._how = names, how
        self.n_stretches = 0
        # Tuples of numbers, which the collector does not track: what is kept here must not count as growth.
        self._rises: dict[int, tuple[int, ...]] = {}
        self._counts: Counts = {}
        self._blocks = self._block_rise = 0

    def begin(self, counts: Counts, blocks: int) -> None:
        """Take in what was read before the first stretch."""
        self.n_stretches, self._rises = 0, {}
        self._counts, self._blocks = counts, blocks

    def take(self, counts: Counts, blocks: int) -> None:
        """Take in what was read after a stretch."""
        self.n_stretches += 1
        before = self._counts
        rises = {key: n - before.get(key, 0) for key, n in counts.items() if n > before.get(key, 0)}
        rises = {key: rise for key, rise in rises.items() if key >= 0 or key in before}  # a new container grew nothing
        tolerated = self._how.max_objects * self._how.repeat
        if self.n_stretches == 1:
            self._rises = {key: (rise,) for key, rise in rises.items() if rise > tolerated}
        else:
            self._rises = {
                key: (*earlier, rises[key]) for key, earlier in self._rises.items() if rises.get(key, 0) > tolerated
            }
        self._block_rise = blocks - self._blocks
        self._counts, self._blocks = counts, blocks

    def goes_on(self) -> bool:
        """Whether another stretch can tell more."""
        if self.n_stretches == 0:
            return True
        if not self._rises:
            return False
        if self.n_stretches < LEAK_STRETCHES:
            return True
        return all(map(_falls, self._rises.values())) and self.n_stretches < MOST_STRETCHES

    def needs_lengths(self) -> bool:
        """Whether something piles up that is no object of any type; who tolerates objects tolerates their parts."""
        return not self._rises and not self._how.max_objects and self._block_rise >= LEAST_BLOCKS * self._how.repeat

    def grown(self) -> tuple[Grown, ...]:
        """Say what grew in every stretch."""
        per_call = {key: rises[-1] / self._how.repeat for key, rises in self._rises.items() if not _falls(rises)}
        found = sorted(per_call, key=lambda key: (self._is_plain(key), -per_call[key], self._name(key)))
        return tuple(
            Grown(self._name(key), per_call[key], _holder_of(key) if at == 0 else "") for at, key in enumerate(found)
        )

    def _name(self, key: int) -> str:
        return "items of a container" if key < 0 else self._names[key].rpartition(".")[2]

    def _is_plain(self, key: int) -> bool:
        """Whether a type is one of Python's own, which carries what a program's own types hold."""
        module = self._names.get(key, "").rpartition(".")[0].partition(".")[0]
        return module in ("", "builtins", *sys.stdlib_module_names)


def _falls(rises: tuple[int, ...]) -> bool:
    return rises[-1] < FALLING * rises[0]


def _holder_of(key: int) -> str:
    """Say what keeps one of the newest objects of a type alive, or a container that grows."""
    cls = next((cls for cls in census.count_types() if id(cls) == key), None)
    found = [one for one in gc.get_objects() if (type(one) is cls if key >= 0 else id(one) == -key)][-1:]
    try:
        path = find_holders(found, deadline_s=_HOLDER_DEADLINE_S, ignore=(id(found),))[0] if found else None
        return str(path) if path is not None and path.steps else ""
    finally:
        found.clear()
