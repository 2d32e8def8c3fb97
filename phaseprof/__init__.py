"""phaseprof: which phase of a training run leaks memory, what leaks, who holds it, and when the run will die.

    from phaseprof import profile_phase, checkpoint, generation, watch, track, log_memory

The functions of this module use one default profiler; :class:`Profiler` makes others.

A name is imported when it is first asked for, so that the command line and the pytest plugin start at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phaseprof._version import __version__

__all__ = [
    "Finding",
    "PhaseprofWarning",
    "Profiler",
    "__version__",
    "assert_counts",
    "assert_no_growth",
    "checkpoint",
    "configure",
    "generation",
    "generations",
    "get_profiler",
    "load",
    "log_memory",
    "next_generation",
    "profile_phase",
    "track",
    "watch",
]

# Type checkers must not see a module's ``__getattr__``: with one, every misspelt name would pass.
if TYPE_CHECKING:
    from phaseprof.api import (
        assert_counts,
        assert_no_growth,
        checkpoint,
        configure,
        generation,
        generations,
        get_profiler,
        load,
        log_memory,
        next_generation,
        profile_phase,
        track,
        watch,
    )
    from phaseprof.errors import PhaseprofWarning
    from phaseprof.profiler import Profiler
    from phaseprof.records import Finding
else:
    _HOMES = {
        "Finding": "phaseprof.records", "PhaseprofWarning": "phaseprof.errors", "Profiler": "phaseprof.profiler",
    }  # fmt: skip

    def __getattr__(name: str) -> object:
        if name == "integrations":
            from importlib import import_module

            return import_module("phaseprof.integrations")
        if name in ("load_ipython_extension", "unload_ipython_extension"):  # what %load_ext phaseprof asks for
            from importlib import import_module

            return getattr(import_module("phaseprof.integrations.notebook"), name)
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = globals()[name] = getattr(import_module(_HOMES.get(name, "phaseprof.api")), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
