"""Ask about types without running a stranger's code: metaclasses may override anything that can be looked up."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable
from itertools import filterfalse
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from typing_extensions import TypeIs

T = TypeVar("T")

# Descriptors taken from ``type`` itself: an attribute look-up on the class would ask its metaclass first.
_mro_of = cast("Callable[[type], tuple[type, ...]]", type.__dict__["__mro__"].__get__)
_namespace_of = cast("Callable[[type], MappingProxyType[str, object]]", type.__dict__["__dict__"].__get__)
_module_namespace_of = cast("Callable[[ModuleType], dict[str, object]]", vars(ModuleType)["__dict__"].__get__)
_flags_of = cast("Callable[[type], int]", type.__dict__["__flags__"].__get__)
_module_of = cast("Callable[[type], object]", type.__dict__["__module__"].__get__)
_qualname_of = cast("Callable[[type], str]", type.__dict__["__qualname__"].__get__)
_name_of = cast("Callable[[type], str]", type.__dict__["__name__"].__get__)
_basicsize_of = cast("Callable[[type], int]", type.__dict__["__basicsize__"].__get__)
_itemsize_of = cast("Callable[[type], int]", type.__dict__["__itemsize__"].__get__)
_children_of = cast("Callable[[type], list[type]]", type.__subclasses__)

# Include/object.h: Py_TPFLAGS_HEAPTYPE, Py_TPFLAGS_HAVE_GC, Py_TPFLAGS_MANAGED_DICT (3.11 and later).
_HEAP_TYPE, _HAS_COLLECTOR, _MANAGED_DICT = 1 << 9, 1 << 14, 1 << 4
_MANAGED_WEAKREF = 1 << 3  # 3.12 and later
_POINTER_BYTES = 8
# Characters of a name that are kept, as in _heap.c: code that makes classes may give them names of any length.
LONGEST_NAME = 1000
_MANAGED_DICT_EXISTS = sys.version_info >= (3, 11)

# Packages whose metaclasses define a hash that is known to be harmless; every process with torch has both.
_TRUSTED_PACKAGES = frozenset({"typing_extensions", "torch"})

_C_FUNCTIONS = (type(object.__sizeof__), type(object.__init__), type(object.__new__))


def is_a(obj: object, cls: type[T]) -> TypeIs[T]:
    """Say whether the object's type is a class or extends it.

    Unlike ``isinstance`` it asks nobody: a proxy's ``__class__`` runs code, and says what it likes.
    """
    return issubclass(type(obj), cls)


def is_one_of(obj: object, kinds: Iterable[type]) -> bool:
    """Say whether the exact type is one of ``kinds``; ``in`` would ask a stranger's metaclass for ``==`` or a hash."""
    cls = type(obj)
    return any(cls is kind for kind in kinds)


def loaded_module(name: str, *attributes: str) -> ModuleType | None:
    """Return a module that the program has imported, if it has the attributes: one under way has not all of them.

    Anything else that is registered under that name is passed over, and no code of a lazy module runs.
    """
    module = sys.modules.get(name)
    if not is_a(module, ModuleType):
        return None
    return module if all(map(module_namespace(module).__contains__, attributes)) else None


def module_namespace(module: ModuleType) -> dict[str, object]:
    """Return the dictionary of a module, lazy loaders' overrides notwithstanding."""
    return _module_namespace_of(module)


def mro(cls: type) -> tuple[type, ...]:
    """Return the method resolution order; no metaclass code runs."""
    return _mro_of(cls)


def namespace(cls: type) -> MappingProxyType[str, object]:
    """Return the class's own namespace; no metaclass code runs."""
    return _namespace_of(cls)


def is_heap_type(cls: type) -> bool:
    """Say whether instances hold a reference to the class, so that its referrers include them."""
    return bool(_flags_of(cls) & _HEAP_TYPE)


def is_collected(cls: type) -> bool:
    """Say whether the collector knows instances of the class (numpy arrays, strings, empty slots are not known)."""
    return bool(_flags_of(cls) & _HAS_COLLECTOR)


def has_managed_dict(cls: type) -> bool:
    """Say whether instances keep their attributes beside themselves, with no dict until one is asked for."""
    return _MANAGED_DICT_EXISTS and bool(_flags_of(cls) & _MANAGED_DICT)


def header_bytes(cls: type) -> int:
    """Return what lies before an instance: the collector's links, and the links to attributes and weak references.

    ``sys.getsizeof`` adds the same; it cannot be used since it calls overrides of ``__sizeof__``.
    """
    flags = _flags_of(cls)
    collector = 2 * _POINTER_BYTES if flags & _HAS_COLLECTOR else 0
    managed = _MANAGED_DICT if _MANAGED_DICT_EXISTS else 0
    if sys.version_info >= (3, 12):
        managed |= _MANAGED_WEAKREF
    return collector + (2 * _POINTER_BYTES if flags & managed else 0)


def plain_text(text: str) -> str:
    """Return a name as a plain ``str`` of bounded length: it may be of a class of the program's, made by its code."""
    return "".join((text,))[:LONGEST_NAME]  # joining copies in C what is no plain str


def bare_name(cls: type) -> str:
    """Return a class's own name, without its module and the classes it is in."""
    return plain_text(_name_of(cls))


def type_name(cls: type) -> str:
    """Name a type ``module.QualName``, builtins without their module; no code of the class or metaclass runs.

    >>> from collections import Counter
    >>> type_name(dict), type_name(Counter)
    ('dict', 'collections.Counter')
    """
    qualname = plain_text(_qualname_of(cls))
    try:
        module = _module_of(cls)
    except AttributeError:  # a class may delete its __module__
        return qualname
    if type(module) is not str or module == "builtins":
        return qualname
    return f"{module[:LONGEST_NAME]}.{qualname}"


def with_subclasses(classes: Iterable[type]) -> list[type]:
    """Return the classes and all their subclasses, each once; ``ABC.register`` makes no subclass."""
    found: dict[int, type] = {}
    pending = list(classes)
    while pending:
        cls = pending.pop()
        if id(cls) not in found:
            found[id(cls)] = cls
            pending.extend(_children_of(cls))
    return list(found.values())


def types_hash_plainly() -> bool:
    """Say whether hashing any class in this process runs no Python code.

    A metaclass may define ``__hash__`` or ``__eq__`` (sympy's does); where one exists, no dict or set may hold types.

    Cost: one look at each metaclass, some tens of microseconds.
    """
    return all(map(hashes_plainly, with_subclasses([type])))


def hashes_plainly(meta: type) -> bool:
    """Say whether hashing a class of this metaclass runs no stranger's code."""
    for cls in _mro_of(meta):
        if cls is type:
            return True
        if not {"__hash__", "__eq__"}.isdisjoint(_namespace_of(cls)) and not _is_trusted(cls):
            return False
    return True


def _is_trusted(meta: type) -> bool:
    return type_name(meta).partition(".")[0] in _TRUSTED_PACKAGES


def untracked(objects: Iterable[object]) -> Iterable[object]:
    """Return the objects that the collector does not list."""
    return filterfalse(gc.is_tracked, objects)


def fixed_bytes(cls: type) -> int:
    """Return what ``object.__sizeof__`` gives for every instance of a class, 0 if it differs between instances."""
    return 0 if _itemsize_of(cls) else _basicsize_of(cls)


def c_sizeof(cls: type) -> Callable[[object], int]:
    """Return the nearest ``__sizeof__`` of a class that is written in C; an override in Python is a stranger's code."""
    for base in _mro_of(cls):
        method = _namespace_of(base).get("__sizeof__")
        if is_one_of(method, _C_FUNCTIONS):
            return cast("Callable[[object], int]", method)
    return object.__sizeof__


def all_classes() -> list[type]:
    """Return every class that there is but ``object``; the caller drops the list.

    No code of a class runs.  Cost: 0.3 µs a class; a program beside torch has some 15,000.
    """
    found: dict[int, type] = {}
    stack: list[type] = [object]
    while stack:
        cls = stack.pop()
        subclasses: list[type] = type.__subclasses__(cls)
        for sub in subclasses:
            if id(sub) not in found:
                found[id(sub)] = sub
                stack.append(sub)
    return list(found.values())
