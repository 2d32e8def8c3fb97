"""Put a path into words: one step for each object that a reader would name, the root first."""

from __future__ import annotations

import functools
import itertools
import operator
import threading
import types
from collections.abc import Iterator
from typing import Any, cast

from phaseprof.probes.holding import reading
from phaseprof.probes.holding.edges import LRU_CACHE, SUSPENDED, Chain, hop, is_exactly
from phaseprof.probes.holding.frames import code_name
from phaseprof.probes.holding.graph import Node
from phaseprof.probes.names import bare_name, shown_attribute
from phaseprof.probes.typeinfo import is_one_of, plain_text
from phaseprof.records import UNKNOWN_NAME

_PREFERRED_LOCAL_AVOIDS = "self"
# Equal steps in a row that are told as one.
_MANY_ALIKE = 3
_NAMED = (types.FunctionType, types.BuiltinFunctionType, *SUSPENDED)


def lru_entries(obj: object) -> tuple[int, int | None]:
    """Return the entries of an ``lru_cache`` and its ``maxsize`` (``None``: no bound)."""
    cache = cast("functools._lru_cache_wrapper[object]", obj)
    entries = cache.cache_info()
    return entries.currsize, entries.maxsize


def label(obj: object) -> str:
    """Return what an object is, without parentheses: ``Trainer``, ``list, 21,504``, ``method Benchmark.record``."""
    cls = type(obj)
    if cls is LRU_CACHE:
        return f"lru_cache, {lru_entries(obj)[0]:,} entries"
    if cls is types.FunctionType:
        return f"function {plain_text(cast(types.FunctionType, obj).__qualname__)}"
    if cls is types.MethodType:
        return f"method {_method_name(cast(types.MethodType, obj))}"
    if cls is functools.partial:
        return f"partial of {_callable_name(cast('functools.partial[object]', obj).func)}"
    if is_one_of(obj, SUSPENDED):
        return f"{cls.__name__} {plain_text(cast(types.GeneratorType, obj).__qualname__)}"  # type: ignore[type-arg]
    if cls is types.FrameType:
        return f"frame of {code_name(cast(types.FrameType, obj).f_code)}()"
    if is_exactly(obj, "_asyncio", "Task"):
        return f"Task {_callable_name(cast(Any, obj).get_coro())}"
    if cls is threading.local:
        return "threading.local"
    if issubclass(cls, type):
        return f"class {reading.type_name(cast(type, obj))}"
    size = reading.length(obj)
    name = reading.type_name(cls)
    return name if size is None else f"{name}, {size:,}"


def _callable_name(target: object) -> str:
    if is_one_of(target, _NAMED):
        return plain_text(cast(types.FunctionType, target).__qualname__)
    return reading.type_name(type(target))


def _method_name(method: types.MethodType) -> str:
    return _callable_name(method.__func__)


def steps_of(nodes: tuple[Node, ...]) -> tuple[str, ...]:
    """Return the steps of a path; a step that repeats itself stands once, with how often: ``.cause (Error) x14``.

    Args:
        nodes: the path, root first, the suspect last.
    """
    chain = tuple(node.obj for node in nodes)
    text, at = _first(nodes, chain)
    steps = [(text, 1)] if text else []
    last = len(chain) - 1
    while at < last:
        jump = nodes[at + 1].jump
        if jump is not None and jump[0] is nodes[at]:
            link, times, at = jump[1], jump[2], at + 1
        else:
            (link, at), times = hop(chain, at), 1
        what = label(chain[at])
        is_plain_end = at == last and not is_one_of(chain[at], SUSPENDED) and reading.length(chain[at]) is None
        steps.append((f"{link} {what}" if is_plain_end and times == 1 else f"{link} ({what})", times))
    return tuple(_folded(steps))


def _folded(steps: list[tuple[str, int]]) -> Iterator[str]:
    for text, alike in itertools.groupby(steps, key=operator.itemgetter(0)):
        repeats = [times for _, times in alike]
        yield from [text] * len(repeats) if sum(repeats) < _MANY_ALIKE else [f"{text} x{sum(repeats):,}"]


def _first(nodes: tuple[Node, ...], chain: Chain) -> tuple[str, int]:
    """Return the root's own step, joined with the first link where the root is only a place, and where to go on."""
    root = nodes[0].root
    obj = chain[0]
    if root is None:
        return f"({label(obj)})" if len(chain) > 1 else label(obj), 0
    if len(chain) == 1:
        return f"{root.text} {label(obj)}", 0
    if root.names is not None:
        names = root.names.get(id(chain[1]), [UNKNOWN_NAME])
        name = next((n for n in names if n != _PREFERRED_LOCAL_AVOIDS), names[0])
        return _ended(f"{root.text} local {bare_name(name)}", chain, 1), 1
    if root.kind == "module global" and type(obj) is dict:
        name = next((shown_attribute(k) for k, value in list(obj.items()) if value is chain[1]), f".{UNKNOWN_NAME}")
        return _ended(f"{root.text}{name}", chain, 1), 1
    if root.kind == "class attribute":
        link, at = hop(chain, 0)
        return _ended(f"{root.text}{link}" if link.startswith(".") else f"{root.text} {link}", chain, at), at
    return f"{root.text} ({label(obj)})", 0


def _ended(text: str, chain: Chain, at: int) -> str:
    what = label(chain[at])
    is_plain_end = at == len(chain) - 1 and reading.length(chain[at]) is None
    return f"{text} {what}" if is_plain_end else f"{text} ({what})"
