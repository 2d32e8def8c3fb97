"""Classes by dotted name: how one is found, whether a name looks misspelt, and why none was found."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import cast

from phaseprof.interrupts import raise_the_programs
from phaseprof.probes.typeinfo import is_a, namespace, type_name

MAIN = "__main__"
# Names as alike as this, 0 to 1 by ``difflib``, differ by a slip of the finger: one letter of seven.
ALIKE = 0.85


def find_class(dotted: str, *, lazily: bool = False) -> type | None:
    """Look for a class among the modules that the program has imported; a bare name is one of the main module.

    Args:
        dotted: its name.
        lazily: ask a module that defines ``__getattr__`` for what it makes on demand, as Python would; else nothing of
            the program's is run.
    """
    parts = dotted.split(".") if "." in dotted else [MAIN, dotted]
    for cut in range(len(parts) - 1, 0, -1):
        found: object = sys.modules.get(".".join(parts[:cut]))
        for part in parts[cut:]:
            found = _member(found, part, lazily=lazily)
        if issubclass(type(found), type):
            return cast("type", found)
    return None


def _member(owner: object, name: str, *, lazily: bool) -> object:
    """Look into a module or class; anything else has nothing to look into."""
    if issubclass(type(owner), type):
        return namespace(cast("type", owner)).get(name)
    if not is_a(owner, ModuleType):
        return None
    names = vars(owner)
    if name in names or not (lazily and "__getattr__" in names):
        return names.get(name)
    try:
        return cast(object, getattr(owner, name))
    except Exception as error:  # noqa: BLE001 - a stranger's __getattr__ may raise anything
        raise_the_programs(error)
        return None


def misspelt(dotted: str) -> str:
    """Return the class that was probably meant; empty if nothing that exists is near.

    What does not exist yet may still come: only a name that is nearly another, in a place where that is a class, or
    a bare name that is the name of one class elsewhere, is taken for a slip.
    """
    parts = dotted.split(".")
    if len(parts) == 1:
        return _near_member(sys.modules.get(MAIN), dotted) or _only_class_called(dotted)
    for cut in range(len(parts) - 1, 0, -1):
        module = sys.modules.get(".".join(parts[:cut]))
        if module is not None:
            near = _near_member(module, parts[cut]) if cut == len(parts) - 1 else ""
            return f"{'.'.join(parts[:cut])}.{near}" if near else _in_near_module(parts)
    return _in_near_module(parts)


def _near_member(module: ModuleType | None, name: str) -> str:
    if module is None:
        return ""
    classes = [known for known, value in vars(module).items() if issubclass(type(value), type)]
    return _nearest(name, classes)


def _in_near_module(parts: list[str]) -> str:
    """Return the class of this name in a module whose name is nearly the one given."""
    path, name = ".".join(parts[:-1]), parts[-1]
    near = _nearest(path, [known for known in list(sys.modules) if known.count(".") == path.count(".")])
    return f"{near}.{name}" if near and find_class(f"{near}.{name}") is not None else ""


def _only_class_called(name: str) -> str:
    found = {type_name(cls) for cls in _all_classes() if cls.__name__ == name}
    return found.pop() if len(found) == 1 else ""


def _all_classes() -> list[type]:
    found: dict[int, type] = {}
    waiting: list[type] = [object]
    while waiting:
        subclasses: list[type] = type.__subclasses__(waiting.pop())
        new = [cls for cls in subclasses if id(cls) not in found]
        found.update((id(cls), cls) for cls in new)
        waiting += new
    return list(found.values())


def _nearest(wrong: str, known: Iterable[str]) -> str:
    """Return the known name that is nearly the wrong one; one that goes on where the other ends is another name."""
    able = [name for name in known if name != wrong and not name.startswith(wrong) and not wrong.startswith(name)]
    return next(iter(difflib.get_close_matches(wrong, able, n=1, cutoff=ALIKE)), "")


def why_missing(dotted: str) -> str:
    """Say which part of a name was not found."""
    parts = dotted.split(".") if "." in dotted else [MAIN, dotted]
    for cut in range(len(parts) - 1, 0, -1):
        name = ".".join(parts[:cut])
        if name in sys.modules:
            if cut == len(parts) - 1:
                return f"module {name} has no {parts[cut]}"
            break
    return f"module {'.'.join(parts[:-1])} was not imported"
