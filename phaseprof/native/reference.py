"""The walk by place in Python: what runs where the extension was not built, and what the extension is held against."""

from __future__ import annotations

import gc
import sys
import time
import types
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple, cast

from phaseprof.native.array_layout import NUMBER_OF_OBJECT
from phaseprof.native.kinds import MASK, SHORT, Kind, Kinds, Treatment, mixed
from phaseprof.native.layout import NO_ATTRIBUTES, Attributes, attributes
from phaseprof.native.roots import Start, Starts, place_of
from phaseprof.native.table import FRAME, OUTSIDE, UNREACHABLE, Root, Rows
from phaseprof.probes.holding.reading import class_module
from phaseprof.probes.locals import GENERATORS, frame_of, local_values
from phaseprof.probes.typeinfo import is_one_of
from phaseprof.probes.uninterrupted import finished

# References past this one are at one position: a type that shows as many holds a number of like things.
_LAST_ORDINAL = 32
# An instance with more attributes is a table.
_MAX_ATTRIBUTES = 1000
_CLOCK_EVERY = 1024
_NAMESPACE_KEYS = ("__name__", "__builtins__")
_HEAP_TYPE = 1 << 9
_OWN_CONTAINERS = (list, dict, set, tuple, deque)

_flags_of = type.__dict__["__flags__"].__get__
_module_dict = vars(types.ModuleType)["__dict__"].__get__
_class_dict = type.__dict__["__dict__"].__get__


class Node(NamedTuple):
    """An object that is placed, and the one from which it was reached."""

    obj: object
    row: int
    parent: Node | None
    position: int


class Sample:
    """Objects at one place, of many a part: their addresses decide which, since no rhythm does.

    Attributes:
        objects: those that are listed.
        n_met: how many there are.
    """

    def __init__(self) -> None:
        self.objects: list[object] = []
        self.n_met = self._mask = 0

    def add(self, obj: object, at_most: int) -> None:
        """Take in one more; of more than so many about a half is left, and about half of what comes later."""
        self.n_met += 1
        if self._is_listed(obj):
            self.objects.append(obj)
            if len(self.objects) > at_most:
                self._mask = 2 * self._mask + 1
                self.objects[:] = filter(self._is_listed, self.objects)

    def _is_listed(self, obj: object) -> bool:
        return not mixed(id(obj) >> 3) & self._mask


class Walk:
    """One walk.  It holds what it has met until ``close``."""

    def __init__(self, kinds: Kinds, *, limit_s: float | None = None) -> None:
        self.rows = Rows()
        self.partial = False
        self.n_met = 0
        self.measured: list[tuple[object, int]] = []
        self.wanted: set[int] = set()
        self.examples: dict[int, tuple[int, Node]] = {}
        self.members_at_most = 0  # objects at a wanted place and below that are listed, where no paths are wanted
        self.samples: dict[int, Sample] = {}
        self._kinds = kinds
        self._seen: set[int] = set()
        self._queue: deque[Node] = deque()
        self._packages: frozenset[str] | None = None
        self._put_off: list[tuple[object, int, Node]] = []
        self._end = None if limit_s is None else time.thread_time() + limit_s

    def close(self) -> None:
        """Let go of every object."""
        self._queue.clear()
        self._put_off.clear()
        self.measured.clear()
        self.examples.clear()
        for sample in self.samples.values():
            sample.objects.clear()

    def run(self, starts: Starts) -> None:
        """Walk from the roots, in order of preference, and then through what none of them reaches if that is wanted."""
        self._seen.update(starts.skip)
        self._seen.update(starts.put_off)
        if starts.packages is not None:  # an exception that is kept leads to its callers' frames, not to their locals
            self._seen.update(map(id, starts.frames))
        self._packages = starts.packages
        for group in starts.groups:
            self._walk_from(group)
        if starts.packages is not None and starts.has_libraries and not self.partial:
            self._take_up(starts)
            self._unrooted()

    def _walk_from(self, group: list[Start]) -> None:
        for root, obj in group:
            self._begin(root, obj)
        self._follow()

    def _take_up(self, starts: Starts) -> None:
        """Walk from the modules of libraries; their classes that none leads to lie where the program leads to them."""
        self._packages = None
        self._seen.difference_update(starts.put_off, [id(obj) for obj, _, _ in self._put_off])
        self._walk_from(starts.last)
        for obj, position, parent in self._put_off:
            self._visit(obj, position, parent)
        self._follow()

    def _begin(self, root: Root, obj: object) -> None:
        row = self.rows.root(root, place_of(*root))
        node = Node(obj, row, None, 0)
        if root.kind == FRAME:
            self._seen.discard(id(obj))
        if id(obj) not in self._seen:
            self._seen.add(id(obj))
            self.n_met += 1
            self.rows.n_objects[row] += 1
            self._queue.append(node)

    def _add(self, node: Node, size: int) -> None:
        """Add an object's own bytes; where examples are wanted, keep the largest."""
        self.rows.own_bytes[node.row] += size
        place = self.rows.place[node.row]
        if place in self.wanted and (place not in self.examples or self.examples[place][0] < size):
            self.examples[place] = (size, node)

    def _follow(self) -> None:
        n_done = 0
        while self._queue:
            node = self._queue.popleft()
            for referent, position in self._expand(node):
                self._visit(referent, position, node)
            n_done += 1
            if n_done % _CLOCK_EVERY == 0 and self._end is not None and time.thread_time() > self._end:
                self.partial = True
                self._queue.clear()

    def _visit(self, obj: object, position: int, parent: Node) -> None:
        kind = self._kinds.of(type(obj))
        treatment = kind.treatment
        if treatment is Treatment.NOTHING or id(obj) in self._seen:
            return
        if treatment is Treatment.CLASS:
            if not _flags_of(cast("type", obj)) & _HEAP_TYPE:
                return  # part of the interpreter or an extension, not of the heap
            if self._is_of_library(cast("type", obj)):
                self._seen.add(id(obj))
                self._put_off.append((obj, position, parent))
                return
        self._seen.add(id(obj))
        self.n_met += 1
        if treatment is Treatment.SMALL or (treatment is Treatment.TEXT and len(cast("str", obj)) < SHORT):
            self._list_member(obj, parent.row)
            self.rows.own_bytes[parent.row] += kind.own_bytes(obj)
            return
        self._place(obj, kind, position, parent)

    def _is_of_library(self, cls: type) -> bool:
        """Say whether a class belongs to a package that is put off."""
        if self._packages is None:
            return False
        module = class_module(cls)
        return module in ("", "builtins") or module.partition(".")[0] in self._packages

    def _place(self, obj: object, kind: Kind, position: int, parent: Node) -> None:
        row = self.rows.child(parent.row, 0 if kind.is_merged else position, kind)
        self.rows.n_objects[row] += 1
        self._list_member(obj, row)
        node = Node(obj, row, parent if self.wanted else None, position)
        self._queue.append(node)

    def _list_member(self, obj: object, row: int) -> None:
        """Keep an object that lies at a wanted place or below one, the nearest."""
        if not self.members_at_most:
            return
        while row >= 0 and self.rows.place[row] not in self.wanted:
            row = self.rows.parent[row]
        if row >= 0:
            self.samples[self.rows.place[row]].add(obj, self.members_at_most)

    def _expand(self, node: Node) -> Iterator[tuple[object, int]]:
        """Yield what an object refers to and at which position, and add its own bytes."""
        obj = node.obj
        if self.rows.kind[node.row] is None and type(obj) is types.FrameType:
            self._add(node, 0)
            for name, value in local_values(obj) or ():
                yield value, _name_position(name)
            return
        kind = self._kinds.of(type(obj))
        if kind.is_measured:
            self.measured.append((obj, node.row))
        # What C keeps in a module's state is not safe to ask for.
        is_asked = kind.is_followed and kind.treatment is not Treatment.MODULE
        referents = gc.get_referents(obj) if is_asked else []
        held = self._held(obj, kind, referents)
        self._add(node, kind.own_bytes(obj) + self._bytes_of(held))
        yield from _attributes(held, referents, kind)
        yield from _items(obj, kind)
        apart: set[int] = set()
        if is_one_of(obj, GENERATORS):
            for name, value in self._suspended(obj, apart):
                yield value, _name_position(name)
            cells = [r for r in referents if type(r) is types.CellType] if apart else []
            apart.update(map(id, cells))
            yield from ((cell, 0) for cell in cells)
        yield from _ordinals(referents, held, kind, apart)

    def _suspended(self, obj: object, apart: set[int]) -> list[tuple[str, object]]:
        """Return the locals of a generator or coroutine; its frame object is part of it.

        Which of them have values, and what lies on the stack above them, changes from one moment to the next.

        Args:
            obj: the generator.
            apart: takes the ids of what it refers to besides, and that is told by name.
        """
        frame = frame_of(obj)
        if frame is None:
            return []
        found = local_values(frame) or []
        if sys.version_info >= (3, 11):
            self._seen.add(id(frame))
            shared = {*frame.f_code.co_cellvars, *frame.f_code.co_freevars}
            apart.update(id(value) for name, value in found if name not in shared)
            apart.add(id(frame))
        return found

    def _held(self, obj: object, kind: Kind, referents: list[object]) -> Attributes:
        """Return an object's attributes; a dict that was met before is not part of it any more."""
        if kind.treatment is Treatment.MODULE:
            held = Attributes(_module_dict(obj))
        elif kind.treatment is Treatment.CLASS:
            held = Attributes(_namespace_of_class(cast("type", obj)))
        else:
            held = attributes(obj, type(obj), referents) if kind.has_attributes else NO_ATTRIBUTES
        return held._replace(namespace=None, names=()) if id(held.namespace) in self._seen else held

    def _bytes_of(self, held: Attributes) -> int:
        if held.namespace is None:
            return held.bytes
        self._seen.add(id(held.namespace))
        self.n_met += 1
        kind = self._kinds.of(type(held.namespace))
        return kind.own_bytes(held.namespace)

    def _unrooted(self) -> None:
        """File what no root reaches: held by something in C, or by a ring only."""
        left = self._left()
        try:
            outside = self.rows.root(Root(OUTSIDE), place_of(OUTSIDE, ""))
            for obj in _held_outside(left):
                self._visit(obj, 0, Node(None, outside, None, 0))
            self._follow()
            unreachable = self.rows.root(Root(UNREACHABLE), place_of(UNREACHABLE, ""))
            for obj in left:
                if not self.partial:
                    self._visit(obj, 0, Node(None, unreachable, None, 0))
                    self._follow()
        finally:
            left.clear()

    def _left(self) -> list[object]:
        self._seen |= self._own_ids()
        found = finished(gc.get_objects)
        try:
            return [
                o
                for o in found
                if id(o) not in self._seen
                and o is not found
                and not (type(o) is types.FrameType and o.f_code.co_filename == __file__)
            ]
        finally:
            found.clear()

    def _own_ids(self) -> set[int]:
        """Return the ids of the walk's own containers."""
        own: dict[int, object] = {id(o): o for o in (self, self._kinds, self.rows, *_parts(self))}
        level = list(own.values())
        while level:
            level = [
                r for r in gc.get_referents(*level) if id(r) not in own and is_one_of(r, (*_OWN_CONTAINERS, Kind, Node))
            ]
            own.update((id(r), r) for r in level)
        return {*own, id(own), id(level)}


def _parts(walk: Walk) -> list[object]:
    return [vars(walk), vars(walk.rows), vars(walk._kinds)]


def links_between(nodes: list[Node]) -> list[tuple[object, object]]:
    """Return the references along a path, holder and held, the root first with no holder.

    Where the path comes back to a place it is cut short: of a chain one link is shown, however long it is.
    """
    rows = [nodes[0].row]
    links: list[tuple[object, object]] = [(None, nodes[0].obj)]
    goes_on = [nodes[0].obj]  # of each place on the path, the object from which the path leaves it
    for node in nodes[1:]:
        if node.row in rows:
            at = rows.index(node.row)
            del rows[at + 1 :], links[at + 1 :], goes_on[at + 1 :]
            goes_on[at] = node.obj
        else:
            links.append((goes_on[-1], node.obj))
            rows.append(node.row)
            goes_on.append(node.obj)
    return links


def _name_position(name: object) -> int:
    return hash(name) & MASK if type(name) is str else 0


def _namespace_of_class(cls: type) -> dict[object, object]:
    return cast("dict[object, object]", gc.get_referents(_class_dict(cls))[0])


def _is_namespace(items: dict[object, object]) -> bool:
    """Say whether a dict holds the variables of code that was run, which put its own name or the builtins first."""
    first = next(islice(dict.keys(items), 1), None)
    return type(first) is str and first in _NAMESPACE_KEYS


def _attributes(held: Attributes, referents: list[object], kind: Kind) -> Iterator[tuple[object, int]]:
    if held.namespace is not None:
        is_small = len(held.namespace) <= _MAX_ATTRIBUTES
        yield from _entries(held.namespace, named=is_small or kind.treatment in (Treatment.MODULE, Treatment.CLASS))
    elif held.names:
        values = {id(r): r for r in referents}
        for name, identity in zip(held.names, held.value_ids, strict=True):
            yield values[identity], _name_position(name)


def _entries(items: dict[object, object], *, named: bool) -> Iterator[tuple[object, int]]:
    for key, value in list(dict.items(items)):
        yield key, 0
        yield value, _name_position(key) if named else 0


def _items(obj: object, kind: Kind) -> Iterator[tuple[object, int]]:
    if kind.treatment is Treatment.DICT:
        items = cast("dict[object, object]", obj)
        yield from _entries(items, named=type(items) is dict and _is_namespace(items))
    elif kind.treatment is Treatment.ARRAY:
        yield from _behind_array(obj)


def _ordinals(referents: list[object], held: Attributes, kind: Kind, apart: set[int]) -> Iterator[tuple[object, int]]:
    """Yield the references that are no attributes, nor told ``apart``, by number where they are no items."""
    apart |= {*held.value_ids, *(() if held.namespace is None else (id(held.namespace),))}
    n = 0
    for referent in referents:
        if id(referent) not in apart:
            n += 1
            yield referent, 0 if kind.treatment in (Treatment.DICT, Treatment.MANY) else min(n, _LAST_ORDINAL)


def _behind_array(array: object) -> Iterator[tuple[object, int]]:
    """Yield the items of an array of objects that owns its memory, and what a view looks at."""
    ndarray: Any = sys.modules["numpy"].ndarray
    base = ndarray.__dict__["base"].__get__(array)
    if base is not None:
        yield base, 1
    elif ndarray.__dict__["dtype"].__get__(array).num == NUMBER_OF_OBJECT:
        yield from ((item, 0) for item in ndarray.view(array, ndarray).ravel(order="K").tolist())


def _safe_referents(objects: list[object]) -> list[object]:
    modules = [o for o in objects if issubclass(type(o), types.ModuleType)]
    others = (o for o in objects if not issubclass(type(o), types.ModuleType))
    return [*gc.get_referents(*others), *map(_module_dict, modules)]


def _held_outside(left: list[object]) -> list[object]:
    """Return those that more refers to than the others of the list."""
    inner = dict.fromkeys(map(id, left), 0)
    for start in range(0, len(left), 512):
        for identity in map(id, _safe_referents(left[start : start + 512])):
            if identity in inner:
                inner[identity] += 1
    counts = list(map(sys.getrefcount, left))
    probe = [object()]
    alone = next(map(sys.getrefcount, probe))
    return [obj for obj, n, known in zip(left, counts, inner.values(), strict=True) if n - alone > known]
