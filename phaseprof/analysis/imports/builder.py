"""Takes foreign readings in under our names and units, one :class:`Readings` for each process of the file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from phaseprof.analysis.imports.limits import ImportFailure
from phaseprof.analysis.imports.names import Named, name_metric
from phaseprof.analysis.imports.readings import NO_STEP, NO_TIME, Readings
from phaseprof.analysis.imports.units import Units
from phaseprof.analysis.metric_roles import HELD, meaning_of


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
        self._totals: list[str] = []
        self._in_doubt: dict[str, ImportFailure] = {}

    def process(self, name: str = "") -> Readings:
        """Return the readings of a process, made at its first use."""
        found = self.processes.get(name)
        if found is None:
            found = self.processes[name] = Readings(self.file, name)
        return found

    def add(
        self, metric: str, value: float, is_bytes: bool = False, *, step: float = NO_STEP, point: str = "",
        time_s: float = NO_TIME, process: str = "",
    ) -> None:  # fmt: skip
        """Take in one reading under its foreign name; what is not a finite number was not measured and is left out.

        Args:
            metric: the foreign name.
            value: in the unit that the name or the user says; in bytes if ``is_bytes``.
            is_bytes: the unit stood beside the value.
            step: of the reading.
            point: where in the loop it was taken.
            time_s: when it was taken.
            process: of which process it is, where the file holds several.
        """
        try:
            value = float(value)
        except OverflowError:  # a whole number of hundreds of digits
            return
        if not math.isfinite(value):
            return
        if metric not in self._named:
            self._named[metric] = self._name(metric, is_bytes=is_bytes)
        named = self._named[metric]
        if named is not None:
            readings = self.process(process)
            in_bytes = value if is_bytes else value * named.factor
            readings.add(step, point or self._point, named.metric, in_bytes, time_s=time_s)

    def _name(self, metric: str, *, is_bytes: bool) -> Named | None:
        if self._is_own_export:
            return Named(metric)
        try:
            named = name_metric(metric, self._units, self.file, has_unit=is_bytes)
        except ImportFailure as error:
            if meaning_of(metric).owner:  # memory of somebody: its unit decides, so it is asked for
                raise
            self._in_doubt[metric] = error
            return None
        if named is None:
            self._totals.append(metric)
            return None
        if named.metric.endswith("_percent") and meaning_of(metric).measure in HELD:
            self.notes.append(
                f"{metric} is a share of a total that the file does not give, so it gets no verdict; "
                f"give the total with --unit {metric}=64GiB"
            )
        if named.note:
            self.notes.append(named.note)
        if self._taken.setdefault(named.metric, metric) != metric:  # two columns for one figure: both are kept
            own = f"{metric}_bytes" if named.metric.endswith("_bytes") and not metric.endswith("_bytes") else metric
            return Named(own, named.factor)
        return named

    def finish(self) -> list[Readings]:
        """Return the readings of all processes that have any, with the notes put to the first."""
        found = [readings for readings in self.processes.values() if len(readings)]
        if not found and self._in_doubt:
            raise next(iter(self._in_doubt.values()))
        if found:
            found[0].notes.extend([*self.notes, *self._notes_on_names()])
        return found

    def _notes_on_names(self) -> Iterator[str]:
        if self._totals:
            yield f"left out, since they are running totals or not asked for: {_some(self._totals, 3)}"
        if self._in_doubt:
            yield f"left out, since their unit is not known (--unit NAME=MiB says it): {_some(list(self._in_doubt), 3)}"


def tell_left_out(names: Sequence[str]) -> str:
    """Say which columns of a log were left out because they are not about memory."""
    return f"left out, since by their names they are not about memory: {_some(names, 5)}"


def _some(names: Sequence[str], most: int) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
