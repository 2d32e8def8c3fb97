"""Brings the series of several runs onto one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from phaseprof.analysis.intervals import COPIES, between_points
from phaseprof.analysis.symptoms import carry_forward
from phaseprof.errors import UsageError
from phaseprof.recording.model import COUNTED, ProcessRun
from phaseprof.recording.reader import Run
from phaseprof.recording.series import Series, Sums

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# No delta is found under it: ordinals begin at -1.
_NO_SLOT = -2

_HEADER_FIELDS = ("git_commit", "torch", "python", "platform", "host", "world_size")


@dataclass
class Side:
    """One run's process on the common axis, from ``first`` to ``last``."""

    process: ProcessRun
    positions: dict[int, float] | None
    first: float = -np.inf
    last: float = np.inf

    def axis(self, generations: Sequence[int]) -> Floats:
        """Return the positions of generation ordinals; NaN for readings outside all generations."""
        places = self.positions
        if places is None:
            return np.array([float(g) if g >= 0 else np.nan for g in generations])
        return np.array([places.get(g, np.nan) for g in generations])

    def has(self, point: str, metric: str) -> bool:
        """Tell whether the run read this metric at this point, be it once for a count that never changed."""
        return (point, metric) in self.process.series or (point, metric) in self.process.first_counts

    def _recorded(self, point: str, metric: str) -> Series:
        found = self.process.series.get((point, metric))
        if found is None:
            found = Series()
            found.put(*self.process.first_counts[point, metric])
        return found

    def series(self, point: str, metric: str, *, whole: bool = False) -> tuple[Floats, Floats]:
        """Return (n,) positions and (n,) values of a series within the common part, or of the whole run."""
        found = self._recorded(point, metric)
        censuses = self.process.series.get((point, "n_objects"))
        if metric.startswith("count/") and censuses is not None:  # written only when it changed
            found = carry_forward(found, censuses.generations)
        x, y = self.axis(found.generations), np.array(found.values, dtype=np.float64)
        inside = ~np.isnan(x) if whole else (x >= self.first) & (x <= self.last)
        with np.errstate(invalid="ignore"):  # before the first position that is known
            inside[1:] &= np.diff(np.maximum.accumulate(np.where(np.isnan(x), -np.inf, x))) > 0
        return x[inside], y[inside]


@dataclass(frozen=True)
class Aligned:
    """Runs on one axis: its unit and common part, and the series that all of them have as (point, metric)."""

    sides: tuple[Side, ...]
    unit: str
    first: float
    last: float
    keys: tuple[tuple[str, str], ...]
    also_differ: tuple[str, ...]
    notes: tuple[str, ...]


def align(runs: Sequence[Run], names: Sequence[str], *, rank: int | None) -> Aligned:
    """Choose one process of each run and put all on one axis: the users' own numbers where all runs have them."""
    processes = [process_of(run, name, rank) for run, name in zip(runs, names, strict=True)]
    positions = [_own_numbers(process) for process in processes]
    by_step = all(positions) and any(_are_steps(numbers) for numbers in positions)
    sides = tuple(Side(p, numbers if by_step else None) for p, numbers in zip(processes, positions, strict=True))
    known = dict.fromkeys(key for process in processes for key in process.series)
    keys = tuple(key for key in known if all(side.has(*key) for side in sides))
    ends = [_ends(side) for side in sides]
    first, last = max(low for low, _ in ends), min(high for _, high in ends)
    for side in sides:
        side.first, side.last = first, last
    notes = [
        f"{name}: rank {_rank(process)} of {len(run.processes)} processes is compared"
        for run, name, process in zip(runs, names, processes, strict=True)
        if len(run.processes) > 1
    ]
    if first > last:
        notes.append("the runs have no generation in common")
    return Aligned(sides, "step" if by_step else "generation", first, last, keys, _differences(processes), tuple(notes))


def process_of(run: Run, name: str, rank: int | None) -> ProcessRun:
    """Return the process of a run that is compared: that of a rank, or the one that reports lead with.

    Raises:
        UsageError: the run has no such rank.
    """
    if rank is None:
        return run.main
    for process in run.processes:
        if _rank(process) == rank:
            return process
    there = sorted({_rank(process) for process in run.processes})
    raise UsageError(f"--rank must be a rank of every run (got {rank}, {name} has {there}); choose one of these")


def _rank(process: ProcessRun) -> int:
    return process.header.rank if process.header else 0


def _own_numbers(process: ProcessRun) -> dict[int, float]:
    """Map ordinals to the user's numbers, if all are whole and rise; otherwise nothing."""
    numbers: dict[int, float] = {}
    previous = -np.inf
    for generation in process.generations:
        if not isinstance(generation.index, int) or generation.index <= previous:
            return {}
        previous = numbers[generation.ordinal] = float(generation.index)
    return numbers


def _are_steps(numbers: dict[int, float]) -> bool:
    return any(ordinal != number for ordinal, number in numbers.items())


def _ends(side: Side) -> tuple[float, float]:
    found = {g for series in side.process.series.values() for g in (series.generations[0], series.generations[-1])}
    x = side.axis(sorted(found))
    x = x[~np.isnan(x)]
    return (float(x.min()), float(x.max())) if len(x) else (np.inf, -np.inf)


def _differences(processes: Sequence[ProcessRun]) -> tuple[str, ...]:
    """Say what the headers show to differ beside what was meant to."""
    headers = [process.header for process in processes]
    if any(header is None for header in headers):
        return ()
    told = []
    for field in _HEADER_FIELDS:
        values = [str(getattr(header, field)) for header in headers]
        if len(set(values)) > 1:
            told.append(f"{field}: {' / '.join(value or 'unknown' for value in values)}")
    return tuple(told)


def interval_changes(side: Side, metric: str) -> dict[str, Floats]:
    """Return the change per generation of a metric within each phase, (n,) a phase in the metric's unit.

    Phases are those that the recording charged; where none was recorded, an interval is named by the point that ends
    it.  Changes are in the order of their generations.
    """
    charged = side.process.charges_of(metric)
    if charged:
        unknown = charged.pop(COUNTED, Sums())
        return {phase: _within(side, sums, unknown) for phase, sums in charged.items()}
    points = [point for point, name in side.process.series if name == metric and point not in COPIES]
    levels = {point: dict(zip(*map(list, side.series(point, metric)), strict=True)) for point in points}
    changes = between_points(levels)
    return {point: np.array([change for _, change in found]) for point, found in changes.items()}


def _within(side: Side, sums: Sums, unknown: Sums) -> Floats:
    """Return the change in each generation of the common part: zero for one in which the phase changed nothing.

    Generations in which it is unknown what phases changed are left out.
    """
    generations = [generation.ordinal for generation in side.process.generations]
    every = np.unique(np.array([*sums.generations, *generations], np.int64))
    ordinals = every[~np.isin(_slots(unknown, every), unknown.generations)]
    slots = _slots(sums, ordinals)
    at = np.searchsorted(sums.generations, slots)
    is_known = np.array([*sums.generations, _NO_SLOT])[at] == slots
    changes = np.where(is_known, np.array([*sums.values, 0.0])[at], 0.0) / sums.stride
    x = side.axis(ordinals.tolist())
    return changes[(x >= side.first) & (x <= side.last)]


def _slots(sums: Sums, ordinals: Ints) -> Ints:
    """The generation under which the delta of each is found; see ``Sums.slot``."""
    found: Ints = ordinals - np.maximum(ordinals, 0) % sums.stride
    return found
