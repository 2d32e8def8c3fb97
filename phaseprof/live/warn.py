"""Warnings of ours: at the user's line, and never an error, whatever the program makes of warnings."""

from __future__ import annotations

import logging
import sys
import warnings

from phaseprof.errors import PhaseprofWarning
from phaseprof.probes.own import is_own_frame
from phaseprof.units import for_terminal


def warn_user(text: str) -> None:
    """Warn at the innermost line that is not ours; where the program turns warnings into errors, log it instead."""
    try:
        text = for_terminal(text)
        warnings.warn(text, PhaseprofWarning, stacklevel=users_level())
    except PhaseprofWarning:
        # The program turns warnings into errors, but one of ours never stops a run.
        logging.getLogger("phaseprof").warning(text)


def users_level() -> int:
    """Return the ``stacklevel``, for a warning given by the caller, of the innermost frame that is not ours."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and is_own_frame(frame):
        frame = frame.f_back
        level += 1
    return level
