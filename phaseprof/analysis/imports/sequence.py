"""Steps and times of rows, as one series after the other goes on: rows that number themselves, clocks past midnight."""

from __future__ import annotations

from collections.abc import Hashable

from phaseprof.analysis.imports.times import DAY_S


class Sequencer:
    """Gives each row of a series its step and its time."""

    def __init__(self) -> None:
        self._steps: dict[Hashable, float] = {}
        self._gaps: dict[Hashable, float] = {}
        self._offsets: dict[Hashable, float] = {}
        self._times: dict[Hashable, float] = {}
        self._days: dict[Hashable, float] = {}

    def step(self, key: Hashable, given: float | None = None) -> float:
        """Return the step of the next row of a series.

        Args:
            key: the series: what splits the table.
            given: the step that the row names; ``None``: it names none.

        A step that falls begins anew, as batches do in each epoch: the series goes on where it was.
        """
        last = self._steps.get(key)
        if given is None:
            step = 0.0 if last is None else last + 1.0
        else:
            step = given + self._offsets.get(key, 0.0)
            if last is not None and step < last:
                self._offsets[key] = last + self._gaps.get(key, 1.0) - given
                step = given + self._offsets[key]
            if last is not None and step > last:
                self._gaps[key] = step - last
        self._steps[key] = step
        return step

    def time(self, key: Hashable, time_s: float, *, is_clock: bool) -> float:
        """Return the time of a row; a clock that falls by more than half a day has passed midnight."""
        time_s += self._days.get(key, 0.0)
        last = self._times.get(key)
        if is_clock and last is not None and time_s < last - DAY_S / 2:
            self._days[key] = self._days.get(key, 0.0) + DAY_S
            time_s += DAY_S
        self._times[key] = time_s
        return time_s
