"""What ``run`` is told to instrument from outside: names in text, and how a name is found in a module."""

from __future__ import annotations

import difflib
import inspect
import re
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from phaseprof.errors import UsageError
from phaseprof.live.watching import Expected
from phaseprof.probes.typeinfo import is_a

_DOTTED = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_TARGET = re.compile(rf"(?:(?P<label>[^:=]+)=)?(?P<module>{_DOTTED}):(?P<path>{_DOTTED})\Z")
_BOUND = re.compile(r"(\d+)(?:-(\d+))?\Z")


@dataclass(frozen=True)
class Target:
    """A name to instrument.

    Attributes:
        option: where it came from, such as ``--phase``; leads every error about it.
        module: the module that holds it; ``__main__`` is the script.
        path: names inside the module, such as ``("Trainer", "evaluate")``.
        label: what reports call it.
        expected: for ``--watch``, the bound.
    """

    option: str
    module: str
    path: tuple[str, ...]
    label: str
    expected: Expected = None

    def __str__(self) -> str:
        return f"{self.option} {self.module}:{'.'.join(self.path)}"


def parse_target(option: str, text: str, form: str = "pkg.mod:Class.method or pkg.mod:function") -> Target:
    """Read ``[label=]pkg.mod:Class.method``, or what else has that ``form``.

    Raises:
        UsageError: the text is not of that form.
    """
    match = _TARGET.match(text.strip())
    if match is None:
        raise UsageError(f"{option} must be {form} (got {text!r})")
    label = (match["label"] or match["path"]).strip()
    return Target(option, match["module"], tuple(match["path"].split(".")), label)


def parse_watch(option: str, text: str) -> Target:
    """Read ``pkg.mod:Class``, ``pkg.mod:Class=2`` or ``pkg.mod:Class=16-17``.

    Raises:
        UsageError: the text is not of that form, or the range is empty.
    """
    name, equals, bound = text.partition("=")
    expected: Expected = None
    if equals:
        match = _BOUND.match(bound.strip())
        if match is None:
            raise UsageError(f"{option} must be pkg.mod:Class=2 or pkg.mod:Class=16-17 (got {text!r})")
        low, high = int(match[1]), int(match[2] or match[1])
        if low > high:
            raise UsageError(f"{option} needs a range from the smaller to the larger count (got {text!r})")
        expected = (low, high) if match[2] else low
    target = parse_target(option, name, "pkg.mod:Class")
    return Target(option, target.module, target.path, target.path[-1], expected)


def parse_track(option: str, text: str) -> Target:
    """Read ``name=pkg.mod:object.attribute``.

    Raises:
        UsageError: the text is not of that form, or has no name.
    """
    form = "name=pkg.mod:object.attribute"
    if "=" not in text:
        raise UsageError(f"{option} must be {form} (got {text!r})")
    return parse_target(option, text, form)


def nearest(wrong: str, known: Iterable[str]) -> str:
    """Say which known name is nearest; empty if none looks like it.  Dunder names are left out."""
    names = [name for name in known if not name.startswith("__")]
    found = difflib.get_close_matches(wrong, names, n=1)
    return f"; did you mean {found[0]!r}?" if found else ""


def names_in(owner: object) -> list[str]:
    """Return the names that a module or class defines, inherited ones included."""
    if is_a(owner, type):
        return sorted({name for cls in owner.__mro__ for name in vars(cls)})
    return sorted(vars(owner)) if is_a(owner, types.ModuleType) else []


def find_owner(module: types.ModuleType, target: Target) -> type | types.ModuleType:
    """Return the module or class that holds the target's last name.

    Raises:
        UsageError: a name on the way does not exist, or is no class; the nearest is named.
    """
    owner: type | types.ModuleType = module
    for at, name in enumerate(target.path[:-1]):
        found = lookup(owner, name, target)
        if not is_a(found, type):
            raise UsageError(f"{target}: {'.'.join(target.path[: at + 1])} is not a class; name a method of a class")
        owner = found
    return owner


def lookup(owner: type | types.ModuleType, name: str, target: Target) -> object:
    """Find a name in a module or class without running descriptors.

    Raises:
        UsageError: there is no such name; the nearest is named.
    """
    try:
        return inspect.getattr_static(owner, name)
    except AttributeError:
        pass
    what = f"class {owner.__qualname__}" if is_a(owner, type) else f"module {owner.__name__}"
    raise UsageError(f"{target}: {what} has no {name!r}{nearest(name, names_in(owner))}")


Wrap = Callable[[Callable[..., object]], Callable[..., object]]


def replace_function(module: types.ModuleType, target: Target, wrap: Wrap) -> None:
    """Replace a function or method by its wrapped self; static and class methods stay what they are.

    An inherited method is replaced in the class that was named, so that other subclasses are left alone.

    Raises:
        UsageError: there is no such name, or what it names cannot be replaced.
    """
    owner, name = find_owner(module, target), target.path[-1]
    found = lookup(owner, name, target)
    # PhaseScope unpacks static and class methods itself.
    is_method = is_a(found, staticmethod) or is_a(found, classmethod)
    if (is_a(found, type) or is_a(found, property)) or not (is_method or callable(found)):
        raise UsageError(f"{target}: {'.'.join(target.path)} is a {type(found).__name__}, not a function or method")
    wrapped: object = wrap(found)  # type: ignore[arg-type]  # checked above, static and class methods too
    if is_a(owner, type) and not is_method and not hasattr(type(found), "__get__"):
        # A callable that is no descriptor is called without the instance; its wrapper must be, too.
        wrapped = staticmethod(wrapped)  # type: ignore[arg-type]  # wrap returns a function for a function
    try:
        setattr(owner, name, wrapped)
    except (AttributeError, TypeError) as error:
        raise UsageError(f"{target}: cannot be replaced ({error}); name a function of your own program") from error


def find_class(module: types.ModuleType, target: Target) -> type:
    """Return the class that a ``--watch`` names.

    Raises:
        UsageError: there is no such name, or it is no class.
    """
    found = lookup(find_owner(module, target), target.path[-1], target)
    if not is_a(found, type):
        raise UsageError(f"{target}: is a {type(found).__name__}, not a class")
    return found


def find_object(module: types.ModuleType, target: Target) -> object:
    """Follow a target's path through attributes, as the program itself would: the user asked for just that.

    Raises:
        UsageError: a name on the way does not exist; the nearest is named.
    """
    value: object = module
    for at, name in enumerate(target.path):
        try:
            value = getattr(value, name)
        except AttributeError:
            where = ".".join(target.path[:at]) or f"module {module.__name__}"
            known = names_in(value) or list(getattr(value, "__dict__", ()))
            raise UsageError(f"{target}: {where} has no {name!r}{nearest(name, known)}") from None
    return value
