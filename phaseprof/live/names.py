"""Classes by dotted name: how one is found, whether a name looks misspelt, and why none was found."""

from __future__ import annotations

import difflib
import importlib.util
import sys
from collections.abc import Collection, Iterator
from types import ModuleType
from typing import cast

from phaseprof.interrupts import raise_the_programs
from phaseprof.probes.typeinfo import all_classes, bare_name, is_a, module_namespace, namespace, type_name

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
    found = next((one for one in _named(dotted, lazily=lazily) if issubclass(type(one), type)), None)
    return cast("type | None", found)


def not_a_class(dotted: str) -> str:
    """Return what a name stands for that is no class, such as ``function``; empty where nothing has the name."""
    return next((bare_name(type(one)) for one in _named(dotted) if one is not None), "")


def _named(dotted: str, *, lazily: bool = False) -> Iterator[object]:
    """Yield what a name stands for, by each way to part it into a module and names in it; ``None`` for nothing."""
    parts = dotted.split(".") if "." in dotted else [MAIN, dotted]
    for cut in range(len(parts) - 1, 0, -1):
        found: object = sys.modules.get(".".join(parts[:cut]))
        for part in parts[cut:]:
            found = _member(found, part, lazily=lazily)
        yield found


def _member(owner: object, name: str, *, lazily: bool) -> object:
    """Look into a module or class; anything else has nothing to look into."""
    if issubclass(type(owner), type):
        return namespace(cast("type", owner)).get(name)
    if not is_a(owner, ModuleType):
        return None
    names = module_namespace(owner)
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
        owner: object = sys.modules.get(".".join(parts[:cut]))
        if owner is not None:
            for part in parts[cut:-1]:
                owner = _member(owner, part, lazily=False)
            near = _near_member(owner, parts[-1])
            return f"{'.'.join(parts[:-1])}.{near}" if near else _in_near_module(parts)
    return _in_near_module(parts)


def _near_member(owner: object, name: str) -> str:
    if issubclass(type(owner), type):
        members = namespace(cast("type", owner)).items()
    elif is_a(owner, ModuleType):
        members = module_namespace(owner).items()
    else:
        return ""
    return _nearest(name, [known for known, value in members if issubclass(type(value), type)])


def _in_near_module(parts: list[str]) -> str:
    """Return the class of this name in a module whose name is nearly the one given."""
    path, name = ".".join(parts[:-1]), parts[-1]
    known = [known for known in list(sys.modules) if known.count(".") == path.count(".")]
    if _cannot_come(path):  # then env may well be a slip for envs
        near = next(iter(difflib.get_close_matches(path, known, n=1, cutoff=ALIKE)), "")
    else:
        near = _nearest(path, known)
    return f"{near}.{name}" if near and find_class(f"{near}.{name}") is not None else ""


def _cannot_come(path: str) -> bool:
    """Whether a package that was imported has no such module; no package is imported to find out."""
    if path in sys.modules or path.rpartition(".")[0] not in sys.modules:
        return False
    try:
        return importlib.util.find_spec(path) is None
    except Exception as error:  # noqa: BLE001 - a stranger's finder may raise anything
        raise_the_programs(error)
        return False


def _only_class_called(name: str) -> str:
    found = {type_name(cls) for cls in all_classes() if bare_name(cls) == name}
    only = found.pop() if len(found) == 1 else ""
    return f"builtins.{only}" if only and "." not in only else only


def _nearest(wrong: str, known: Collection[str]) -> str:
    """Return the known name that is nearly the wrong one; one that goes on where the other ends is another name."""
    same = [name for name in known if name != wrong and name.lower() == wrong.lower()]
    if same:
        return same[0]
    able = [name for name in known if name != wrong and not name.startswith(wrong) and not wrong.startswith(name)]
    return next(iter(difflib.get_close_matches(wrong, able, n=1, cutoff=ALIKE)), "")


def why_missing(dotted: str) -> str:
    """Say which part of a name was not found."""
    parts = dotted.split(".") if "." in dotted else [MAIN, dotted]
    for cut in range(len(parts) - 1, 0, -1):
        owner: object = sys.modules.get(".".join(parts[:cut]))
        if owner is not None:
            for at in range(cut, len(parts)):
                owner = _member(owner, parts[at], lazily=False)
                if owner is None and (at > cut or at == len(parts) - 1):
                    kind = "module" if at == cut else "class"
                    return f"{kind} {'.'.join(parts[:at])} has no {parts[at]}"
                if owner is None:
                    break
            break
    module = ".".join(parts[:-1])
    return f"there is no module {module}" if _cannot_come(module) else f"module {module} was not imported"
