"""Other tools, each in a module of its own that is imported when it is asked for: ``phaseprof.integrations.wandb``."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules


def __getattr__(name: str) -> object:
    if name.startswith("_") or name not in {module.name for module in iter_modules(__path__)}:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
