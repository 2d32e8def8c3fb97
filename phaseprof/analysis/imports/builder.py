"""Takes foreign readings in under our names and units, one :class:`Readings` for each process of the file."""

from __future__ import annotations

import math
from pathlib import Path

from phaseprof.analysis.imports.names import Named, name_metric, tell_running_totals
from phaseprof.analysis.imports.readings import NO_STEP, NO_TIME, Readings
from phaseprof.analysis.imports.units import Units


class Builder:
    """Collects what one file holds; metrics get their names and units once, at their first reading.

    Args:
        file: the file, for messages.
        units: what the user said about units.
        point: the point of readings that name none.
        is_own_export: names and units are ours already and stay as they are.
    """

    def __init__(self, file: Path, units: Units, *, point: str = "log", is_own_export: bool = False) -> None:
        self.file = file
        self.processes: dict[str, Readings] = {}
        self.notes: list[str] = []
        self._units = units
        self._point = point
        self._is_own_export = is_own_export
        self._named: dict[str, Named | None] = {}
        self._taken: dict[str, str] = {}

    def process(self, name: str = "") -> Readings:
        """Return the readings of a process, made at its first use."""
        found = self.processes.get(name)
        if found is None:
            found = self.processes[name] = Readings(self.file, name)
        return found

    def add(
        self, metric: str, value: float, *, step: float = NO_STEP, point: str = "", time_s: float = NO_TIME,
        process: str = "",
    ) -> None:  # fmt: skip
        """Take in one reading under its foreign name; what is not a finite number was not measured and is left out."""
        if not math.isfinite(value):
            return
        if metric not in self._named:
            self._named[metric] = self._name(metric)
        named = self._named[metric]
        if named is not None:
            readings = self.process(process)
            readings.add(step, point or self._point, named.metric, value * named.factor, time_s=time_s)

    def _name(self, metric: str) -> Named | None:
        if self._is_own_export:
            return Named(metric)
        named = name_metric(metric, self._units, self.file)
        if named is None:
            return None
        if named.note:
            self.notes.append(named.note)
        if self._taken.setdefault(named.metric, metric) != metric:  # two columns for one figure: both are kept
            own = f"{metric}_bytes" if named.metric.endswith("_bytes") and not metric.endswith("_bytes") else metric
            return Named(own, named.factor)
        return named

    def finish(self) -> list[Readings]:
        """Return the readings of all processes that have any, with the notes put to the first."""
        left = tell_running_totals(self._named)
        found = [readings for readings in self.processes.values() if len(readings)]
        if found:
            found[0].notes.extend([*self.notes, *([left] if left else [])])
        return found
