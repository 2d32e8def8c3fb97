"""Objects that misbehave when anyone looks at them closely."""

from __future__ import annotations

calls: list[str] = []


def _record(name):
    def hook(self, *args, **kwargs):
        calls.append(name)
        raise RuntimeError(f"{name} was called")

    return hook


class Hostile:
    """Every hook that a careless profiler might run records the call and raises."""

    __eq__ = _record("__eq__")
    __hash__ = _record("__hash__")
    __len__ = _record("__len__")
    __bool__ = _record("__bool__")
    __sizeof__ = _record("__sizeof__")
    __getattr__ = _record("__getattr__")
    __getattribute__ = _record("__getattribute__")
    __repr__ = _record("__repr__")
    __iter__ = _record("__iter__")
    __class__ = property(_record("__class__"))


class HostileMeta(type):
    """A metaclass whose classes cannot be hashed, compared, named or searched for subclasses."""

    __hash__ = _record("meta __hash__")
    __eq__ = _record("meta __eq__")
    __subclasses__ = _record("meta __subclasses__")
    __instancecheck__ = _record("meta __instancecheck__")
    __getattribute__ = _record("meta __getattribute__")
    __module__ = property(_record("meta __module__"))


def hostile_class():
    """Make a class of the hostile metaclass; while it lives, types must be keyed by id."""
    return HostileMeta("HostileClass", (), {})
