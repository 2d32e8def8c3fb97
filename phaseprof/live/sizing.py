"""The deep sizes of tracked names, measured in parts: as much in a generation as there is room for."""

from __future__ import annotations

from collections.abc import Callable

from phaseprof.live.tracking import TrackList
from phaseprof.probes import sizes


class TrackedSizes:
    """Sizes the names of a ``TrackList``, across generations if need be.

    Args:
        tracked: the names.
        note: told once of each name that is gone, and of each that could not be sized whole.
    """

    def __init__(self, tracked: TrackList, note: Callable[[str], None]) -> None:
        self._tracked = tracked
        self._note = note
        self._sized: set[str] = set()
        self._noted: set[str] = set()
        self._sizing: sizes.Sizing | None = None

    @property
    def is_open(self) -> bool:
        """Whether a sizing was begun and not finished."""
        return self._sizing is not None

    def step(self, limit_s: float) -> dict[str, float]:
        """Size for at most so many seconds; return the figures once all names are done, and nothing before."""
        sizing = self._sizing = self._sizing or sizes.Sizing()
        found = self._tracked.collect()
        try:
            is_done = sizing.step(found, limit_s)
        finally:
            found.clear()
        if not is_done:
            return {}
        self._sizing = None
        return self._figures(sizing.sizes(), "it was replaced while it was being sized")

    def all_at_once(self, limit_s: float) -> dict[str, float]:
        """Size now, because it was asked for; a name for which the time is too short has no figure."""
        self._sizing = None
        found = self._tracked.collect()
        try:
            readings = sizes.deep_sizes(found, deadline_s=limit_s)
        finally:
            found.clear()
        return self._figures(readings, f"it holds more objects than can be sized in {limit_s:g} s (max_look)")

    def _figures(self, readings: sizes.DeepSizes, why_cut: str) -> dict[str, float]:
        for name, why in self._tracked.gone.items():
            if name in self._sized:
                self._note_once(name, f"tracked name {name!r} is gone: {why}")
            else:
                self._tracked.warn(f"tracked name {name!r} has no size so far: {why}")
        self._sized.update(readings.names)
        figures = {}
        for name, size in readings.names.items():
            if size.truncated:
                self._note_once(name, f"tracked name {name!r} has no size in some generations: {why_cut}")
            else:
                figures[f"tracked/{name}"] = float(size.bytes)
        if len(figures) == len(readings.names):
            figures["tracked_total_bytes"] = float(readings.total_bytes)
        return figures

    def _note_once(self, name: str, text: str) -> None:
        if name not in self._noted:
            self._noted.add(name)
            self._note(text)
