"""One line a generation for the program's own log: logger ``phaseprof``, level INFO."""

from __future__ import annotations

import logging
from collections.abc import Callable

from phaseprof.recording.model import ProcessRun
from phaseprof.units import format_bytes, format_duration, format_signed_bytes

LOGGER = logging.getLogger("phaseprof")
_AT, _METRIC = "generation end", "rss_bytes"


def log_generation(fold: Callable[[], None], model: ProcessRun) -> None:
    """Log the newest generation, if the program asked for INFO.

    Args:
        fold: lets the model take in what waits; called only where there is a line to write.
        model: the recording so far.

    Cost: 0.1 µs where nobody listens.
    """
    if not LOGGER.isEnabledFor(logging.INFO):
        return
    fold()
    LOGGER.info("%s", generation_line(model))


def generation_line(model: ProcessRun) -> str:
    """Say which generation ended, how long it took, and where resident memory stands."""
    newest = model.generations[-1] if model.generations else None
    parts = []
    if newest is not None and newest.seconds is not None:
        parts.append(format_duration(newest.seconds))
        if newest.items is not None and newest.items >= 0 and newest.seconds > 0:
            parts.append(f"{newest.items / newest.seconds:,.4g} items/s")
    series = model.series.get((_AT, _METRIC))
    if series is not None and len(series):
        grown = f" ({format_signed_bytes(series.last - series.values[-2])})" if len(series) > 1 else ""
        parts.append(f"RSS {format_bytes(series.last)}{grown}")
    name = "?" if newest is None else newest.index
    return f"generation {name}: {', '.join(parts) or 'not measured'}"
