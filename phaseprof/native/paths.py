"""How each object of a path refers to the next, in names and numbers; runs no code of the objects."""

from __future__ import annotations

import gc
import types
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import cast

from phaseprof.interrupts import raise_the_programs
from phaseprof.native.layout import attributes, holds_attributes, is_understood
from phaseprof.native.table import FRAME, PathStep, Root
from phaseprof.probes.holding import reading
from phaseprof.probes.holding.bounds import bound_of, capacity_among
from phaseprof.probes.holding.tensor_links import is_tensor, link_name
from phaseprof.probes.locals import GENERATORS, frame_of, local_values
from phaseprof.probes.names import looks_like_name
from phaseprof.probes.typeinfo import is_one_of, mro, namespace, plain_text, type_name

_SEQUENCES = (list, tuple, deque)
# Items of one container that are searched for an index or a key: a hundred paths are named in one look.
_MAX_SEARCHED = 20_000
_namespace_of = vars(types.ModuleType)["__dict__"].__get__


def steps_to(root: Root, links: Sequence[tuple[object, object]]) -> tuple[PathStep, ...]:
    """Describe a path.

    Args:
        root: where it begins.
        links: the references on it, holder and held, the root's own object first; ``None`` for one that may not be
            shown.
    """
    steps = [PathStep(root.kind, "root", root.name)]
    for holder, held in links[1:]:
        via, name = _link(root, holder, held, is_first=len(steps) == 1)
        shown = "" if held is None else type_name(type(held))
        steps.append(PathStep(shown, via, name, _label(held), *_size(held, holder)))
    steps[-1] = steps[-1]._replace(again=_to_its_like(links[-1][1]) if links else "")
    return tuple(steps)


def _to_its_like(obj: object) -> str:
    """Name the attribute that leads to another object of the same type, as from one span of a chain to its parent."""
    if issubclass(type(obj), (type, types.ModuleType, *reading.CONTAINER_BASES)):
        return ""
    likes = {id(other) for other in gc.get_referents(obj) if type(other) is type(obj) and other is not obj}
    if not likes:
        return ""
    named = chain(_attributes_of(obj), ((name, id(value)) for name, value in reading.slots(obj)))
    return next((_shown(name) for name, identity in named if identity in likes), "")


def _size(held: object, holder: object) -> tuple[int, int]:
    """Capacity and length of a container; -1 for either that it has not."""
    bound, length = (None, None) if held is None else bound_of(held, holder, _capacity)
    length = length if bound is not None or held is None else reading.length(held)
    return -1 if bound is None else bound, -1 if length is None else length


def _capacity(obj: object) -> int | None:
    """The capacity that an object's attributes declare; no dict is made of them."""
    if obj is None or reading.is_unsafe(obj) or type(obj) is types.FrameType:
        return None
    if is_one_of(obj, reading.CONTAINER_BASES):
        return None
    if not holds_attributes(type(obj)) or not is_understood():
        return capacity_among(reading.slots(obj))
    referents = gc.get_referents(obj)
    held = attributes(obj, type(obj), referents)
    by_id = {id(value): value for value in referents}
    direct = ((name, by_id.get(identity)) for name, identity in zip(held.names, held.value_ids, strict=False))
    return capacity_among([*direct, *list(dict.items(held.namespace or {})), *reading.slots(obj)])


def _link(root: Root, parent: object, child: object, *, is_first: bool) -> tuple[str, str]:
    if parent is None or child is None:
        return "referent", ""
    if is_first and root.kind == FRAME:
        values = local_values(cast("types.FrameType", parent)) or ()
        return "local", next((name for name, value in values if value is child), "")
    for find in (_local, _attribute, _item, _slot):
        found = find(parent, child)
        if found is not None:
            return found
    in_cpp = link_name(parent, child) if is_tensor(parent) else ""
    if in_cpp.startswith("."):
        return "attribute", in_cpp[1:]
    shown = [] if reading.is_unsafe(parent) else gc.get_referents(parent)
    ordinal = next((i for i, r in enumerate(shown, 1) if r is child), 0)
    return "referent", str(ordinal) if ordinal else ""


def _local(parent: object, child: object) -> tuple[str, str] | None:
    """Find a local of a function that is not running: a generator or coroutine has its frame."""
    frame = parent if type(parent) is types.FrameType else frame_of(parent)
    values = local_values(frame) or () if type(frame) is types.FrameType else ()
    return next((("local", name) for name, value in values if value is child), None)


def _attribute(parent: object, child: object) -> tuple[str, str] | None:
    for name, identity in _attributes_of(parent):
        if identity == id(child):
            return "attribute", _shown(name)
    return None


def _attributes_of(obj: object) -> Iterator[tuple[object, int]]:
    cls = type(obj)
    if issubclass(cls, types.ModuleType):
        yield from _identities(_namespace_of(obj))
    elif issubclass(cls, type):
        yield from ((name, id(value)) for name, value in namespace(cast("type", obj)).items())
    elif holds_attributes(cls) and is_understood():
        held = attributes(obj, cls, gc.get_referents(obj))
        yield from zip(held.names, held.value_ids, strict=False)  # values that a dict shows have no names here
        yield from _identities(held.namespace or {})


def _identities(items: dict[object, object]) -> Iterator[tuple[object, int]]:
    return ((name, id(value)) for name, value in list(dict.items(items)))


def _item(parent: object, child: object) -> tuple[str, str] | None:
    cls = type(parent)
    if issubclass(cls, dict):
        if dict.__len__(cast("dict[object, object]", parent)) > _MAX_SEARCHED:
            return "item", ""
        items = list(dict.items(cast("dict[object, object]", parent)))
        key = next((key for key, value in items if value is child), None)
        return ("key", _shown(key)) if key is not None else ("item", "")
    for base in _SEQUENCES:
        if issubclass(cls, base):
            values = base.__iter__(parent)  # type: ignore[arg-type, var-annotated]  # an instance, as just checked
            found = enumerate(list(islice(values, _MAX_SEARCHED)))
            return "item", str(next((i for i, value in found if value is child), ""))
    return ("item", "") if issubclass(cls, (set, frozenset)) else None


def _slot(parent: object, child: object) -> tuple[str, str] | None:
    """Find a slot or a member in C that holds the child."""
    if type(parent) is types.CellType:
        return "attribute", "cell_contents"
    for cls in mro(type(parent)):
        for name, member in list(namespace(cls).items()):
            if type(member) is types.MemberDescriptorType and name not in ("__dict__", "__weakref__"):
                try:
                    if member.__get__(parent, type(parent)) is child:
                        return "attribute", _shown(name)
                except (AttributeError, TypeError) as error:
                    raise_the_programs(error)
                    continue
    return None


def _shown(key: object) -> str:
    """Return a key that looks like a name; what else a program keeps in its keys is its own affair."""
    return str(key) if looks_like_name(key) else ""


def _label(obj: object) -> str:
    cls = type(obj)
    if issubclass(cls, type):
        return type_name(cast("type", obj))
    if cls is types.FunctionType or is_one_of(obj, GENERATORS):
        return plain_text(cast("types.FunctionType", obj).__qualname__)
    if issubclass(cls, types.ModuleType):
        name = _namespace_of(obj).get("__name__")
        return name if type(name) is str else ""
    return ""
