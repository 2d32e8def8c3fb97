"""The walk that adds up what objects reach: measured type by type in C loops, every byte once."""

from __future__ import annotations

import gc
import sys
import time
import types
from array import array
from collections.abc import Callable
from itertools import chain, compress, islice, repeat
from operator import is_not, not_
from typing import TYPE_CHECKING, cast

from phaseprof.native import deep
from phaseprof.probes import tensors, walk
from phaseprof.probes.array_items import array_items
from phaseprof.probes.arrays import BufferLocator
from phaseprof.probes.size_plans import Plan, Planner

if TYPE_CHECKING:
    import torch

# Objects measured at a time: about a millisecond of work, and little enough to stay in a second-level cache.
CHUNK = 4096


def _references_if_alone() -> int:
    """Measure what ``SizeWalk._fresh`` sees of an object that one container holds, in the way it is asked there."""
    holder = [object()]
    candidates = list(holder)
    return next(map(sys.getrefcount, candidates))


_REFERENCES_IF_ALONE = _references_if_alone()


class _TooWide(Exception):
    """A container has too many items to be looked into at once."""


class Found:
    """What was added up so far; holds numbers only.

    Attributes:
        total: bytes.
        ids, sizes: id and bytes of each object, where they are kept, to tell what several names share.
        memory: addresses of the storages and foreign buffers among it.
    """

    def __init__(self, *, keeps_sizes: bool) -> None:
        self.keeps_sizes = keeps_sizes
        self.total = 0
        self.ids, self.sizes = array("q"), array("q")
        self.memory: set[int] = set()

    def add_memory(self, address: int, size_bytes: int) -> None:
        """Add memory that is no Python object, once; its key is negative, where no id can be."""
        if address not in self.memory:
            self.memory.add(address)
            self.total += size_bytes
            if self.keeps_sizes:
                self.ids.append(-address)
                self.sizes.append(size_bytes)

    def merge(self, other: Found) -> None:
        """Add what another part found."""
        self.total += other.total
        self.ids += other.ids
        self.sizes += other.sizes


class Known:
    """What earlier parts of a sizing have measured, by number: nothing is held between two parts.

    Attributes:
        ids: of objects to which more than one place refers; others cannot be met again.
        in_c: the same where the walk is in C.
        memory: addresses of storages and foreign buffers.
    """

    def __init__(self) -> None:
        self.ids: set[int] = set()
        self.in_c = deep.KnownInC()
        self.memory: set[int] = set()


class SizeWalk:
    """One walk; every chunk of objects is measured type by type in C loops.

    Args:
        planner: how types are measured; made once for a stretch in which no other code runs.
        known: what was measured before.
        keeps_sizes: keep the id and size of each object.
        widest_bytes: a container whose own table takes more ends the walk before it is looked into.
    """

    def __init__(
        self,
        planner: Planner,
        known: Known,
        *,
        keeps_sizes: bool = False,
        widest_bytes: int | None = None,
    ) -> None:
        self.found = Found(keeps_sizes=keeps_sizes)
        self._known = known
        # Seen objects are held until the walk ends, so that no id is used again meanwhile.
        self._seen: dict[int, object] = {}
        self._plans = planner
        self._widest_bytes = widest_bytes

    def run(self, start: list[object], *, limit_s: float | None = None, is_cpu_time: bool = False) -> bool:
        """Walk from some objects; return whether all was seen before a limit was met, which is asked for each chunk.

        Args:
            start: where to begin; the list is empty afterwards.
            limit_s: end after this many seconds.
            is_cpu_time: the limit is in seconds of this thread's processor time.
        """
        clock = time.thread_time if is_cpu_time else time.perf_counter
        end = float("inf") if limit_s is None else clock() + limit_s
        # What a chunk refers to is measured next, while it is in cache.
        pending = [start]
        try:
            while pending:
                if clock() > end:
                    return False
                chunk = pending[-1][-CHUNK:]
                del pending[-1][-CHUNK:]
                if not pending[-1]:
                    pending.pop()
                referents = self._measure(self._fresh(chunk))
                if referents:
                    pending.append(referents)
            return True
        except _TooWide:
            return False
        finally:
            pending.clear()

    def measure_alone(self, obj: object) -> None:
        """Add one object without what it refers to, unless it was measured before."""
        try:
            self._measure(self._fresh([obj]))
        except _TooWide:  # raised when its own bytes had been added
            pass

    def following(self, obj: object) -> list[object]:
        """Return what is followed from an object, in an order that is the same as long as the object is."""
        return self._measure([obj])

    def commit(self) -> None:
        """Remember what was seen, for later parts, and let go of it."""
        self._known.ids.update(self._seen)
        self._known.memory |= self.found.memory
        self.drop()

    def drop(self) -> None:
        """Let go of every object."""
        self._seen.clear()

    def _fresh(self, candidates: list[object]) -> list[object]:
        """Return the candidates not seen before; neighbours in memory stay neighbours, for the cache's sake.

        What one place only refers to cannot be met again and needs no remembering: most of any data.
        """
        alone = list(map(_REFERENCES_IF_ALONE.__eq__, map(sys.getrefcount, candidates)))
        unshared = list(compress(candidates, alone))
        if len(unshared) == len(candidates):
            return unshared
        shared = list(compress(candidates, map(not_, alone)))
        if self._known.ids:
            known = list(map(self._known.ids.__contains__, map(id, shared)))
            shared = list(compress(shared, map(not_, known)))
        before = len(self._seen)
        self._seen.update(zip(map(id, shared), shared, strict=True))
        latest = list(islice(reversed(self._seen.values()), len(self._seen) - before))
        latest.reverse()
        return unshared + latest

    def _measure(self, objects: list[object]) -> list[object]:
        """Add the objects' sizes and return what they refer to."""
        following: list[object] = []
        for bucket in self._plans.by_type(objects) if objects else ():
            plan = self._plans.of(type(bucket[0]))
            if plan is not None:
                following += self._measure_bucket(plan, bucket)
        return following

    def _measure_bucket(self, plan: Plan, bucket: list[object]) -> list[object]:
        if plan.kind == "function":
            # A function of a module or class belongs there; one made at run time to whoever holds it.
            bucket = [f for f in bucket if str.__contains__(_qualname_of_function(f), "<locals>")]
        sizes = None if plan.sizeof is None else list(map(plan.sizeof, bucket))
        is_wide = self._widest_bytes is not None and plan.follows and sizes and max(sizes) > self._widest_bytes
        referents = self._referents(plan, bucket) if plan.follows and not is_wide else []
        each = plan.fixed_bytes
        if plan.has_managed_dict and bucket:
            each += _managed_values_bytes(len(referents) / len(bucket) - 1)
        self.found.total += (sum(sizes) if sizes else 0) + each * len(bucket)
        if self.found.keeps_sizes:
            self.found.ids.extend(map(id, bucket))
            self.found.sizes.extend(repeat(each, len(bucket)) if sizes is None else map(each.__add__, sizes))
        if is_wide:
            raise _TooWide
        return self._expand(plan.kind, bucket, referents)

    @staticmethod
    def _referents(plan: Plan, bucket: list[object]) -> list[object]:
        if plan.kind == "plain dict":
            # The collector is shown no keys where all are strings; here they are added for all, so only once for each.
            return list(chain.from_iterable(map(dict.values, cast("list[dict[object, object]]", bucket))))
        return gc.get_referents(*bucket)

    def _expand(self, kind: str, bucket: list[object], referents: list[object]) -> list[object]:
        """Add memory that the collector does not see behind special types, and return all that is to be followed."""
        if kind == "function":
            apart = {id(part) for f in bucket for part in (_globals_of_function(f), _builtins_of_function(f))}
            return [r for r in referents if id(r) not in apart]
        if kind == "array":
            referents += self._behind_arrays(bucket)
        elif kind in ("dict", "plain dict"):
            referents += walk.dict_keys(bucket)
        elif kind == "tensor":
            for address, (size, _) in tensors.storages_of(cast("list[torch.Tensor]", bucket)).items():
                self._add_memory(address, size)
        elif kind == "storage":
            for storage in cast("list[torch.UntypedStorage]", bucket):
                self._add_memory(storage._cdata, _storage_bytes(storage))
        return referents

    def _add_memory(self, address: int, size_bytes: int) -> None:
        if address not in self._known.memory:
            self.found.add_memory(address, size_bytes)

    def _behind_arrays(self, arrays: list[object]) -> list[object]:
        """Return the items of object arrays, and what views look at; add memory that only they show."""
        behind = array_items(arrays)
        locate = self._plans.locator()
        bases = list(map(locate.base, arrays))
        exporters = list(compress(bases, map(is_not, bases, repeat(None))))
        if not locate.array_ids.issuperset(map(id, map(type, exporters))):
            self._add_foreign(locate, [a for a, base in zip(arrays, bases, strict=True) if base is not None])
        behind += exporters
        return behind

    def _add_foreign(self, locate: BufferLocator, views: list[object]) -> None:
        """Add memory that is lent by objects which do not tell its size themselves."""
        for view in views:
            _, exporter = locate.last_array(view)
            if exporter is not None and not self._plans.measures_itself(exporter):
                buffer = locate(view)
                if buffer is not None and not buffer.is_array:
                    self._add_memory(buffer.owner_id, buffer.size_bytes)


def _managed_values_bytes(n_attributes: float) -> int:
    """Estimate the array that holds an instance's attributes where it has no dict.

    A class's first instances get room for thirty, later ones for one attribute more than were used, with a byte and a
    slot for each (``Objects/dictobject.c``, ``init_inline_values``); the exact capacity is not to be seen from Python.
    """
    room = max(0, round(n_attributes)) + 1
    if sys.version_info >= (3, 13):
        return 8 * (room + 1) + (room + 7) // 8 * 8
    return 8 * room + (room + 9) // 8 * 8


_qualname_of_function = cast("Callable[[object], str]", types.FunctionType.__dict__["__qualname__"].__get__)
_globals_of_function = cast("Callable[[object], object]", types.FunctionType.__dict__["__globals__"].__get__)
_builtins_of_function = cast("Callable[[object], object]", types.FunctionType.__dict__["__builtins__"].__get__)


def _storage_bytes(storage: torch.UntypedStorage) -> int:
    torch = sys.modules["torch"]
    return int(torch._C.StorageBase.nbytes(storage))
