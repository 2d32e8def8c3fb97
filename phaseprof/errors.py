"""Every error phaseprof raises, in one leaf module.

A message says what was wrong, which rule it broke, what was given, and what to do.
"""

from __future__ import annotations


class PhaseprofError(Exception):
    """Base of all errors that phaseprof raises on purpose."""


class UsageError(PhaseprofError, ValueError):
    """An argument, setting or name breaks its rule."""


class RecordingError(PhaseprofError, ValueError):
    """A recording cannot be read: it is missing, empty, foreign, damaged, or from a newer release."""


class SnapshotError(PhaseprofError, ValueError):
    """A CUDA memory snapshot cannot be read, or holds what no snapshot holds."""


class ProbeUnavailable(PhaseprofError, RuntimeError):
    """A probe cannot work here (no such file, library or device); its figures stay missing."""


class MissingExtra(PhaseprofError, ImportError):
    """A feature needs a package that is not installed; the message names the extra."""


class ExpectationError(PhaseprofError, AssertionError):
    """An expected count or level was broken and the user asked for an error."""


class PhaseprofWarning(UserWarning):
    """Category of every warning phaseprof gives; each is given once."""
