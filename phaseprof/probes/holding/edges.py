"""Name the link from a holder to what it holds: ``.losses``, ``[-1]``, ``closure variable memo``.

A link may pass through objects that nobody wrote down: an instance's ``__dict__``, the tuple of a closure and its
cells, the dictionary inside an ``lru_cache``. ``hop`` steps over those, so that a path reads as the program does.
"""

from __future__ import annotations

import functools
import gc
import threading
import types
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import Context
from typing import Any, cast

from phaseprof.interrupts import raise_the_programs
from phaseprof.probes.holding import reading
from phaseprof.probes.holding.frames import local_name
from phaseprof.probes.holding.tensor_links import is_tensor, link_name
from phaseprof.probes.names import bare_name, shown_attribute, shown_key
from phaseprof.probes.typeinfo import is_one_of, loaded_module, module_namespace
from phaseprof.records import UNKNOWN_NAME

LRU_CACHE = type(functools.lru_cache(maxsize=1)(lambda: None))
SUSPENDED: dict[type, str] = {
    types.GeneratorType: "gi_frame",
    types.CoroutineType: "cr_frame",
    types.AsyncGeneratorType: "ag_frame",
}
_EXCEPTION_LINKS = ("__traceback__", "__cause__", "__context__", "args")
_TORCH_TABLES = frozenset({"_modules", "_parameters", "_buffers"})

Chain = Sequence[object]
Hop = tuple[str, int]


def hop(chain: Chain, at: int) -> Hop:
    """Name the link out of ``chain[at]``.

    Args:
        chain: the objects of a path, root first.
        at: index of a holder, not the last.

    Returns:
        The text of the link, and the index in ``chain`` of the object it leads to (at least ``at + 1``).
    """
    holder = chain[at]
    for matches, name in _NAMERS:
        if matches(holder):
            found = name(chain, at)
            if found is not None:
                return found
    named = _attribute(chain, at)
    if named is not None:
        return named
    return (link_name(holder, chain[at + 1]) if is_tensor(holder) else "->"), at + 1


def _position(items: Sequence[object], target: object) -> str:
    """Return ``[-1]`` for one of the newest half of a sequence, counted from its end, else ``[index]``."""
    identities = list(map(id, items))
    try:
        from_end = identities[::-1].index(id(target)) + 1
    except ValueError as error:
        raise_the_programs(error)
        return "[?]"
    return f"[-{from_end}]" if from_end <= (len(identities) + 1) // 2 else f"[{len(identities) - from_end}]"


def _sequence(chain: Chain, at: int) -> Hop | None:
    items = reading.members(chain[at])
    child = chain[at + 1]
    if not any(item is child for item in reversed(items)):
        return None  # an attribute of a subclass
    return _position(items, child), at + 1


def _set(chain: Chain, at: int) -> Hop | None:
    child = chain[at + 1]
    return ("member", at + 1) if any(item is child for item in reading.members(chain[at])) else None


def _dict(chain: Chain, at: int) -> Hop | None:
    holder, child = cast("dict[object, object]", chain[at]), chain[at + 1]
    for key, value in list(dict.items(holder)):
        if value is child:
            return shown_key(key), at + 1
        if key is child:
            return "key", at + 1
    return None


def _function(chain: Chain, at: int) -> Hop | None:
    function = cast("types.FunctionType", chain[at])
    child, code = chain[at + 1], function.__code__
    after = chain[at + 2] if at + 2 < len(chain) else None
    if child is function.__closure__ and after is not None:
        cells = zip(code.co_freevars, function.__closure__ or (), strict=False)
        names = [name for name, cell in cells if cell is after]
        return f"closure variable {names[0] if names else '?'}", min(at + 3, len(chain) - 1)
    if child is function.__defaults__ and after is not None:
        arguments = code.co_varnames[: code.co_argcount][-len(function.__defaults__ or ()) :]
        names = [n for n, v in zip(arguments, function.__defaults__ or (), strict=False) if v is after]
        return f"default argument {names[0] if names else '?'}", at + 2
    if child is function.__kwdefaults__ and after is not None:
        names = [n for n, v in (function.__kwdefaults__ or {}).items() if v is after]
        return f"default argument {names[0] if names else '?'}", at + 2
    return None


def _method(chain: Chain, at: int) -> Hop | None:
    method = cast("types.MethodType", chain[at])
    return (".__self__" if method.__self__ is chain[at + 1] else ".__func__"), at + 1


def _partial(chain: Chain, at: int) -> Hop | None:
    partial = cast("functools.partial[object]", chain[at])
    child = chain[at + 1]
    after = chain[at + 2] if at + 2 < len(chain) else None
    if child is partial.func:
        return ".func", at + 1
    if child is partial.args:
        index = next((i for i, value in enumerate(partial.args) if value is after), None)
        return (f"argument {index}", at + 2) if index is not None else (".args", at + 1)
    if child is partial.keywords:
        name = next((n for n, value in partial.keywords.items() if value is after), None)
        return (f"argument {bare_name(name)}", at + 2) if name is not None else (".keywords", at + 1)
    return None


def _lru_cache(chain: Chain, at: int) -> Hop | None:
    """A cache without a bound refers to its entries through a dictionary, one with a bound directly."""
    table = next((held for held in gc.get_referents(chain[at]) if type(held) is dict), None)
    to = at + 2 if chain[at + 1] is table and at + 2 < len(chain) else at + 1
    if chain[to] is table:
        return "table", to
    if table is not None and any(key is chain[to] for key in list(table)):
        return "key", to
    return "result", to


def _suspended(chain: Chain, at: int) -> Hop | None:
    holder = chain[at]
    frame = getattr(holder, SUSPENDED[type(holder)])
    to = at + 2 if chain[at + 1] is frame and at + 2 < len(chain) else at + 1  # 3.10 refers to it by its frame
    name = None if frame is None else local_name(frame, chain[to])
    return ("waits for" if name is None else f"local {name}"), to


def _frame(chain: Chain, at: int) -> Hop | None:
    frame = cast("types.FrameType", chain[at])
    if frame.f_back is chain[at + 1]:
        return ".f_back", at + 1
    name = local_name(frame, chain[at + 1])
    return None if name is None else (f"local {name}", at + 1)


def _exception(chain: Chain, at: int) -> Hop | None:
    base = vars(BaseException)
    for name in _EXCEPTION_LINKS:
        if cast(Any, base[name]).__get__(chain[at]) is chain[at + 1]:
            return f".{name}", at + 1
    return None


def _traceback(chain: Chain, at: int) -> Hop | None:
    """Step over the links of a traceback to the function whose locals it keeps."""
    to = at + 1
    while type(chain[to]) is types.TracebackType and to + 1 < len(chain):
        to += 1
    return (".tb_frame" if type(chain[to]) is types.FrameType else ".tb_next"), to


def _context(chain: Chain, at: int) -> Hop | None:
    """Step over the nodes of the tree in which a context keeps its variables."""
    to = at + 1
    while reading.type_name(type(chain[to])).startswith("hamt") and to + 1 < len(chain):
        to += 1
    context = cast("Context", chain[at])
    name = next((variable.name for variable, value in list(context.items()) if value is chain[to]), None)
    return ("->" if name is None else f"variable {name}"), to


def _array(chain: Chain, at: int) -> Hop | None:
    return (".base" if cast(Any, chain[at]).base is chain[at + 1] else "item"), at + 1


def _task(chain: Chain, at: int) -> Hop | None:
    return ("coroutine", at + 1) if cast(Any, chain[at]).get_coro() is chain[at + 1] else None


def _class(chain: Chain, at: int) -> Hop | None:
    cls, child = cast(type, chain[at]), chain[at + 1]
    if child is reading.class_bases(cls):
        return ".__mro__", at + 1
    if type(child) is not dict or not reading.is_class_namespace(child, cls):
        return None
    if at + 2 == len(chain):
        return ".__dict__", at + 1
    after = chain[at + 2]
    name = next((key for key, value in child.items() if value is after), None)
    return (f".{name}" if type(name) is str else ".__dict__"), at + 2


def _thread_local(chain: Chain, at: int) -> Hop | None:
    """A ``threading.local`` keeps one dictionary a thread in a table of its own."""
    tail = chain[at + 1 : at + 4]
    if len(tail) == 3 and type(tail[0]) is dict and type(tail[1]) is dict:
        name = next((key for key, value in tail[1].items() if value is tail[2]), UNKNOWN_NAME)
        return f".{name}", at + 3
    return None


def _attribute(chain: Chain, at: int) -> Hop | None:
    """Name an attribute of any instance: a slot, or an entry of its dictionary."""
    holder, child = chain[at], chain[at + 1]
    for name, value in reading.slots(holder):
        if value is child:
            return f".{name}", at + 1
    namespace = reading.instance_namespace(holder)
    if namespace is None:
        return None
    if namespace is child:
        return (_entry(namespace, chain, at, at + 2)) if at + 2 < len(chain) else (".__dict__", at + 1)
    return _entry(namespace, chain, at, at + 1)


def _entry(namespace: dict[str, object], chain: Chain, at: int, to: int) -> Hop | None:
    child = chain[to]
    name = next((key for key, value in list(namespace.items()) if value is child), None)
    if name is None:
        return None
    if name in _TORCH_TABLES and to + 1 < len(chain) and issubclass(type(child), dict) and _is_torch_module(chain[at]):
        table, after = cast("dict[object, object]", child), chain[to + 1]
        inner = next((key for key, value in list(dict.items(table)) if value is after), None)
        if type(inner) is str:
            return shown_attribute(inner), to + 1
    return shown_attribute(name), to


def _is_torch_module(obj: object) -> bool:
    return any(
        reading.type_name(cls) == "Module" and reading.class_module(cls) == "torch.nn.modules.module"
        for cls in reading.class_bases(type(obj))
    )


def is_exactly(obj: object, module: str, name: str) -> bool:
    """Say whether the object's type is the named class of a module, if that module was imported at all."""
    home = loaded_module(module, name)
    return home is not None and type(obj) is module_namespace(home)[name]


def _extends(*bases: type) -> Callable[[object], bool]:
    return lambda obj: issubclass(type(obj), bases)


def _exactly(*kinds: type) -> Callable[[object], bool]:
    return lambda obj: is_one_of(obj, kinds)


_NAMERS: tuple[tuple[Callable[[object], bool], Callable[[Chain, int], Hop | None]], ...] = (
    (_extends(dict), _dict),
    (_extends(list, tuple, deque), _sequence),
    (_extends(set, frozenset), _set),
    (_exactly(types.FunctionType), _function),
    (_exactly(types.MethodType), _method),
    (_exactly(functools.partial), _partial),
    (_exactly(LRU_CACHE), _lru_cache),
    (_exactly(*SUSPENDED), _suspended),
    (_exactly(types.FrameType), _frame),
    (_exactly(types.CellType), lambda chain, at: ("contents", at + 1)),
    (_extends(BaseException), _exception),
    (_exactly(types.TracebackType), _traceback),
    (_exactly(Context), _context),
    (lambda obj: is_exactly(obj, "numpy", "ndarray"), _array),
    (lambda obj: is_exactly(obj, "_asyncio", "Task"), _task),
    (_extends(type), _class),
    (_extends(threading.local), _thread_local),
)
