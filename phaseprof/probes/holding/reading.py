"""Read strangers' objects without running a line of their code.

Everything goes through unbound C descriptors of the exact built-in base (``list.__len__``, ``dict.values``), so that an
overridden ``__len__``, ``__iter__``, ``__dict__`` or ``__getattribute__`` is never called.
"""

from __future__ import annotations

import gc
import types
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

from phaseprof.interrupts import raise_the_programs
from phaseprof.probes.typeinfo import is_one_of, plain_text

CONTAINER_BASES: tuple[type, ...] = (list, dict, tuple, set, frozenset, deque)

PACKAGE = __name__.partition(".")[0]
PACKAGE_DIR = str(Path(__file__).resolve().parents[2]) + "/"
# The demonstration programs are programs under study, not the profiler.
STUDIED_DIR, STUDIED = PACKAGE_DIR + "demo/", PACKAGE + ".demo"

_TYPE = type.__dict__
_name = _TYPE["__name__"].__get__
_mro = _TYPE["__mro__"].__get__
_dict = _TYPE["__dict__"].__get__


def type_name(cls: type) -> str:
    """Return the bare name of a class, whatever its metaclass overrides."""
    return plain_text(_name(cls))


def class_bases(cls: type) -> tuple[type, ...]:
    """Return the method resolution order, the class itself first."""
    found: tuple[type, ...] = _mro(cls)
    return found


def class_attributes(cls: type) -> types.MappingProxyType[str, object]:
    """Return the read-only view of the class's own dictionary."""
    found: types.MappingProxyType[str, object] = _dict(cls)
    return found


def class_module(cls: type) -> str:
    """Return the name of the module that defined the class, or ``""``."""
    name = class_attributes(cls).get("__module__")
    return name if type(name) is str else ""


def is_module(obj: object) -> TypeGuard[types.ModuleType]:
    """Say whether the object is a module; libraries put others into ``sys.modules`` that only claim to be one."""
    return issubclass(type(obj), types.ModuleType)


def is_ours(cls: type) -> bool:
    """Say whether phaseprof itself defined the class: its records hold nothing that counts."""
    name = class_module(cls)
    return name.startswith(PACKAGE) and (name + ".").startswith(PACKAGE + ".") and not name.startswith(STUDIED)


def is_our_code(code: types.CodeType) -> bool:
    """Say whether the code belongs to phaseprof itself (the demonstration programs do not)."""
    name = code.co_filename
    return name.startswith(PACKAGE_DIR) and not name.startswith(STUDIED_DIR)


def is_unsafe(obj: object) -> bool:
    """Say whether the object must not be asked for its referents: a module.

    On Python 3.12 the ``_asyncio`` module shows its list of freed futures' iterators; ``gc.get_referents`` gives them a
    reference and takes it away, which frees them a second time and makes the next collection loop for ever. A
    module's namespace is a root of its own, so nothing is lost but what C keeps in the state of an extension.
    """
    return is_module(obj)


def instance_namespace(obj: object) -> dict[str, object] | None:
    """Return the attribute dictionary of one object, or ``None``.

    Reading it makes one on Python 3.11+ (some 170 bytes that stay with the object), which is why it is read only for
    the few objects on a path. A class's own ``__dict__`` property is never run.
    """
    for cls in class_bases(type(obj)):
        getter = class_attributes(cls).get("__dict__")
        if getter is None:
            continue
        if not is_one_of(getter, (types.GetSetDescriptorType, types.MemberDescriptorType)):
            return None
        try:
            found = getter.__get__(obj, type(obj))  # type: ignore[attr-defined]  # a C descriptor, as just checked
        except (AttributeError, TypeError) as error:
            raise_the_programs(error)
            return None
        return found if type(found) is dict else None
    return None


def slots(obj: object) -> Iterator[tuple[str, object]]:
    """Yield the name and value of every filled slot (``__slots__`` and C members)."""
    for cls in class_bases(type(obj)):
        for name, member in list(class_attributes(cls).items()):
            if type(member) is types.MemberDescriptorType and name not in ("__dict__", "__weakref__"):
                try:
                    yield name, member.__get__(obj, type(obj))
                except (AttributeError, TypeError) as error:
                    raise_the_programs(error)
                    continue


def container_base(obj: object) -> type | None:
    """Return the built-in container type that the object is or extends, or ``None``."""
    cls = type(obj)
    return next((base for base in CONTAINER_BASES if issubclass(cls, base)), None)


def length(obj: object) -> int | None:
    """Return the number of items of a built-in container or a subclass of one, else ``None``."""
    base = container_base(obj)
    return None if base is None else int(base.__len__(obj))  # type: ignore[attr-defined]  # every base has one


def members(obj: object) -> list[object]:
    """Return the items of a sequence or set, or the values of a dict, as one atomic copy; ``[]`` if it changes."""
    base = container_base(obj)
    try:
        if base is dict:
            return list(dict.values(obj))  # type: ignore[arg-type]
        return [] if base is None else list(base.__iter__(obj))  # type: ignore[attr-defined]
    except RuntimeError as error:  # a deque or set that another thread is filling
        raise_the_programs(error)
        return []


def is_class_namespace(obj: object, cls: type) -> bool:
    """Say whether ``obj`` is the dictionary behind the class's read-only view."""
    return any(found is obj for found in gc.get_referents(class_attributes(cls)))
