"""phaseprof: which phase of a training run leaks memory, what leaks, who holds it, and when the run will die."""

from __future__ import annotations

from phaseprof._version import __version__

__all__ = ["__version__"]
