"""Tracked names: objects sized by name, held weakly or asked for through a getter."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from types import MethodType

from phaseprof.errors import UsageError
from phaseprof.interrupts import raise_the_programs
from phaseprof.live.arguments import check_label, shown
from phaseprof.probes.typeinfo import bare_name, is_a

Getter = Callable[[], object]
_GONE = object()


@dataclass
class TrackList:
    """What ``track`` was told, by name; nothing in here keeps a tracked object alive.

    Attributes:
        warn: tells the user, once, of a name that was never there: it may be misspelt.
        getters: what is asked for each.
        gone: the names that could not be asked for, and why.
    """

    warn: Callable[[str], None]
    getters: dict[str, Getter] = field(default_factory=dict)
    gone: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, target: object) -> None:
        """Track an object (held weakly) or a function without arguments that returns it.

        Raises:
            UsageError: the object cannot be held weakly (a list, dict or tuple); give a getter instead.
        """
        check_label("tracked name", name, "track('replay', lambda: agent.replay)")
        self.gone.pop(name, None)
        if is_a(target, MethodType):
            # A bound method would keep its object alive; gone with it, it is called no more.
            self.getters[name] = _weak_method(target)
            return
        if _is_getter(target):
            self.getters[name] = target  # type: ignore[assignment]  # just checked
            return
        try:
            self.getters[name] = weakref.ref(target)
        except TypeError:
            raise UsageError(
                f"track({shown(name)}, ...) needs a weak reference, and {bare_name(type(target))} objects allow none; "
                "give a getter: track(name, lambda: owner.attribute)"
            ) from None

    def collect(self) -> dict[str, object]:
        """Ask every getter; a name whose getter raises or whose object died is recorded as gone.  Caller drops."""
        found: dict[str, object] = {}
        for name, getter in list(self.getters.items()):
            try:
                value = getter()
            except Exception as error:  # noqa: BLE001 - a stranger's getter may raise anything
                raise_the_programs(error)
                self.gone[name] = f"its getter raised {type(error).__name__}"
                continue
            if value is _GONE or (value is None and is_a(getter, weakref.ref)):
                self.gone[name] = "it was deleted"
                continue
            self.gone.pop(name, None)
            found[name] = value
        return found


def _weak_method(method: MethodType) -> Getter:
    try:
        held = weakref.WeakMethod(method)
    except TypeError:  # its object cannot be held weakly
        return method

    def ask() -> object:
        bound = held()
        return _GONE if bound is None else bound()

    return ask


def _is_getter(target: object) -> bool:
    """Functions, lambdas, built-in methods and partials are getters; a callable module, say, is an object to size."""
    return bare_name(type(target)) in ("function", "builtin_function_or_method", "partial")
