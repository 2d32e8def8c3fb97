"""Readings of a foreign file, held as columns until they are sorted into generations."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from phaseprof.analysis.imports import limits

# A reading that belongs to no step, such as one taken before the first generation.
NO_STEP = -1.0
NO_TIME = float("nan")
# What a recording takes: more is no memory of any machine, and no time of this century.
MOST_VALUE, MOST_TIME_S, MOST_STEP = 1e18, 4e9, 2.0**53
_LONGEST_NAME = 500


@dataclass(frozen=True)
class Turn:
    """All readings of one step in the order of the file: (point, time in seconds or NaN, metric to value) groups."""

    step: float
    groups: list[tuple[str, float, dict[str, float]]]


@dataclass
class Readings:
    """Readings of one process: columns of step, point, metric, value and time, 40 bytes a reading.

    Attributes:
        file: where they come from, for messages.
        name: name of the process in a file that holds several; empty otherwise.
        notes: what the reader of the run must know about this import.
        are_ordinals: the steps are ordinals of generations already, and stay as they are.
        indices: the user's own name of a step, where the file gives one.
        n_left_out: values that were left out, since they are larger than a recording can hold.
    """

    file: Path
    name: str = ""
    notes: list[str] = field(default_factory=list)
    are_ordinals: bool = False
    indices: dict[float, int | str] = field(default_factory=dict)
    n_left_out: int = 0
    _steps: array[float] = field(default_factory=lambda: array("d"))
    _times: array[float] = field(default_factory=lambda: array("d"))
    _values: array[float] = field(default_factory=lambda: array("d"))
    _points: array[int] = field(default_factory=lambda: array("q"))
    _metrics: array[int] = field(default_factory=lambda: array("q"))
    _names: dict[str, int] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._values)

    def add(self, step: float, point: str, metric: str, value: float, *, time_s: float = NO_TIME) -> None:
        """Take in one reading; a value, time or step that no recording can hold was not measured.

        Raises:
            ImportFailure: there are more readings or names than a run can have.
        """
        if len(self._values) >= limits.MAX_READINGS:
            raise limits.fail(self.file, f"it has over {limits.MAX_READINGS:,} readings", "import a part of it")
        if not -MOST_VALUE <= value <= MOST_VALUE:
            self.n_left_out += 1
            return
        self._steps.append(step if 0 <= step <= MOST_STEP else NO_STEP)
        self._times.append(time_s if -MOST_TIME_S <= time_s <= MOST_TIME_S else NO_TIME)
        self._values.append(value)
        self._points.append(self._number(point))
        self._metrics.append(self._number(metric))

    def _number(self, name: str) -> int:
        number = self._numbers.get(name)
        if number is None:
            if len(self._numbers) >= limits.MAX_NAMES:
                rule = f"it has over {limits.MAX_NAMES:,} names of points and metrics"
                raise limits.fail(self.file, rule, "check that the columns are in their places")
            number = self._numbers[name] = self._names.setdefault(storable(name), len(self._names))
        return number

    def metric_names(self) -> list[str]:
        """Return the names of the metrics in the order of their first reading."""
        names = list(self._names)
        return [names[number] for number in dict.fromkeys(self._metrics)]

    def point_names(self) -> list[str]:
        """Return the names of the points in the order of their first reading."""
        names = list(self._names)
        return [names[number] for number in dict.fromkeys(self._points)]

    def last_points(self) -> dict[str, str]:
        """Map each metric to the last point, in the order of their first readings, at which it was read."""
        names = list(self._names)
        order = {number: at for at, number in enumerate(dict.fromkeys(self._points))}
        last: dict[int, int] = {}
        for point, metric in dict.fromkeys(zip(self._points, self._metrics, strict=True)):
            if metric not in last or order[point] > order[last[metric]]:
                last[metric] = point
        return {names[metric]: names[point] for metric, point in last.items()}

    def first_time_s(self) -> float:
        """Return the earliest time, or NaN if no reading has one."""
        return self._time(np.fmin)

    def last_time_s(self) -> float:
        """Return the latest time, or NaN if no reading has one."""
        return self._time(np.fmax)

    def _time(self, choose: np.ufunc) -> float:
        return float(choose.reduce(np.frombuffer(self._times, np.float64))) if self._times else NO_TIME

    def steps(self) -> npt.NDArray[np.float64]:
        """Return the steps that occur, ascending, without ``NO_STEP``; shape (n_steps,)."""
        found = np.unique(np.frombuffer(self._steps, np.float64)) if self._steps else np.empty(0)
        return np.asarray(found[found != NO_STEP], dtype=np.float64)

    def turns(self) -> Iterator[Turn]:
        """Yield the readings by ascending step; within a step they keep the order of the file.

        A metric that is read twice at one point of a step opens a new group, so that no reading is lost.
        """
        if not self._values:
            return
        names = list(self._names)
        steps = np.frombuffer(self._steps, np.float64)
        order = np.argsort(steps, kind="stable")
        turn = Turn(float(steps[order[0]]), [])
        for at in order.tolist():
            step = self._steps[at]
            if step != turn.step:
                yield turn
                turn = Turn(step, [])
            point, metric, time_s = names[self._points[at]], names[self._metrics[at]], self._times[at]
            group = turn.groups[-1] if turn.groups else None
            if group is None or group[0] != point or not _is_same_time(group[1], time_s) or metric in group[2]:
                turn.groups.append((point, time_s, {metric: self._values[at]}))
            else:
                group[2][metric] = self._values[at]
        yield turn


def storable(name: str) -> str:
    """Cut a name of a foreign file to a bound, and replace what UTF-8 cannot hold."""
    return name[:_LONGEST_NAME].encode("utf-8", "replace").decode("utf-8")


def _is_same_time(one: float, other: float) -> bool:
    return one == other or (one != one and other != other)
