"""Turns foreign readings into a recording that ``load_run`` reads: steps become generations, points become labels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from phaseprof._version import __version__
from phaseprof.analysis.imports.readings import NO_STEP, Readings, Turn, storable
from phaseprof.errors import RecordingError, UsageError
from phaseprof.recording import format as fmt
from phaseprof.recording.writer import RecordWriter

# Rows of our own export that are figures of the generation, not readings at a point.
GENERATION_END = "generation end"
SECONDS, ITEMS = "generation_seconds", "generation_items"
_UNIX_S = 1e9  # a time above it (September 2001) is a date; below it, seconds since the start
_NEAR = 10  # steps this close are the turns of a loop themselves; wider ones are its turns counted in something else
_BATCH_BYTES = 1 << 18


def write_run(processes: Sequence[Readings], out: Path) -> None:
    """Write one file a process into a new folder.

    Raises:
        UsageError: the folder holds a recording already, or cannot be written.
        RecordingError: the disk is full.
    """
    if out.is_file() or (out.is_dir() and any(out.glob("*.jsonl"))):
        raise UsageError(f"--out must name a new folder (got {str(out)!r}, which holds a recording); give another name")
    for at, readings in enumerate(processes):
        rank, pid = _identity(readings.name, at)
        _write_process(readings, out, rank=rank, pid=pid, world_size=len(processes))


def _identity(name: str, at: int) -> tuple[int, int]:
    """Take rank and pid from a name that says them; otherwise number the processes in order."""
    rank = re.search(r"rank[ _-]?(\d{1,9})", name)
    pid = re.search(r"pid[ _-]?(\d{1,9})", name)
    return int(rank[1]) if rank else at, int(pid[1]) if pid else at + 1


def _write_process(readings: Readings, out: Path, *, rank: int, pid: int, world_size: int) -> None:
    clock = _Clock(readings)
    header = fmt.Header(
        format=fmt.FORMAT_VERSION, phaseprof=__version__, pid=pid, started_unix_s=clock.started_unix_s, started_ns=0,
        page_bytes=4096, rank=rank, world_size=max(world_size, rank + 1),
        argv=["phaseprof", "import", storable(readings.file.name)],
        settings=_settings(readings),
    )  # fmt: skip
    writer = RecordWriter(out, f"rank{rank}-pid{pid}", lambda: fmt.encode(header) + b"\n")
    try:
        batch = bytearray()
        for record in _records(readings, clock):
            batch += fmt.encode(record) + b"\n"
            if len(batch) >= _BATCH_BYTES:
                writer.write(bytes(batch))
                batch.clear()
        writer.write(bytes(batch))
        if writer.lost:
            raise RecordingError(f"cannot write {writer.path}: {writer.why_lost}; free some space and import again")
    finally:
        writer.close()


def _settings(readings: Readings) -> dict[str, str]:
    shown = {"imported_from": storable(readings.file.name)}
    return {**shown, "process": storable(readings.name)} if readings.name else shown


class _Clock:
    """Nanoseconds since the first reading; all zero where the file has no times."""

    def __init__(self, readings: Readings) -> None:
        self.first_s = readings.first_time_s()
        self.is_known = self.first_s == self.first_s
        self.is_date = self.is_known and self.first_s > _UNIX_S
        self.started_unix_s = self.first_s if self.is_date else 0.0

    def ns(self, time_s: float) -> int:
        if not self.is_known or time_s != time_s:
            return 0
        return max(0, round((time_s - self.started_unix_s) * 1e9))


def ordinals_of(readings: Readings) -> dict[float, int]:
    """Give each step its generation: whole steps keep their distances, in units of the usual one.

    Steps 0, 1, 2 or 0, 10, 20 stay as they are; 0, 1000, 2000 become 0, 1, 2; where steps are uneven, generations are
    uneven alike, so that a straight line stays straight.  Steps that are ordinals of a recording stay as they are.
    """
    steps = readings.steps()
    if not len(steps):
        return {}
    whole = bool((steps == np.floor(steps)).all())
    gaps = np.diff(steps)
    usual = float(np.median(gaps)) if len(gaps) else 1.0
    if whole and (readings.are_ordinals or usual <= _NEAR):
        return {step: int(step) for step in steps.tolist()}
    unit = float(np.gcd.reduce(gaps.astype(np.int64))) if whole else usual
    if usual > _NEAR * unit:  # uneven steps, with a common divisor that says nothing
        unit = usual
    scaled = np.rint((steps - steps[0]) / unit).astype(np.int64)
    # Two steps closer than half a unit would fall into one generation: the later one moves up.
    apart = np.maximum.accumulate(scaled - np.arange(len(scaled))) + np.arange(len(scaled))
    return dict(zip(steps.tolist(), apart.tolist(), strict=True))


def end_points(readings: Readings) -> dict[str, str]:
    """Choose for each metric the point that stands for the end of a generation: the last one that reads it.

    Verdicts are passed on readings at the end of generations; foreign files name that point as they like.  A file that
    has it under our name needs no choice.
    """
    if GENERATION_END in readings.point_names():
        return {}
    return readings.last_points()


def _records(readings: Readings, clock: _Clock) -> Iterator[fmt.Record]:
    for number, point in enumerate(readings.point_names()):
        yield fmt.Label(number, point, "checkpoint")
    for note in _notes(readings, clock):
        yield fmt.Note(0, note)
    writer = _TurnWriter(readings, clock)
    turns = readings.turns()
    turn = next(turns, None)
    while turn is not None:
        following = next(turns, None)
        yield from writer.records(turn, following)
        turn = following
    yield fmt.End(clock.ns(readings.last_time_s()), "imported")


def _notes(readings: Readings, clock: _Clock) -> Iterator[str]:
    yield f"imported from {storable(readings.file.name)}"
    yield from map(storable, readings.notes)
    if readings.n_left_out:
        yield f"{readings.n_left_out:,} values were left out: no machine has that much memory"
    if not clock.is_known:
        yield "the file has no times, so rates per hour and the time until a limit are not known"


class _TurnWriter:
    """Turns the readings of one step into the records of one generation."""

    def __init__(self, readings: Readings, clock: _Clock) -> None:
        self._indices = readings.indices
        self._ordinals = ordinals_of(readings)
        self._end_points = end_points(readings)
        self._clock = clock

    def records(self, turn: Turn, following: Turn | None) -> Iterator[fmt.Record]:
        ns = self._clock.ns
        if turn.step == NO_STEP:
            for point, time_s, values in turn.groups:
                yield fmt.Metrics(ns(time_s), -1, values, at=point)
            return
        ordinal = self._ordinals[turn.step]
        times = [time_s for _, time_s, _ in turn.groups if time_s == time_s]
        began, ended = (ns(times[0]), ns(times[-1])) if times else (0, 0)
        index = self._indices.get(turn.step, int(turn.step) if turn.step == int(turn.step) else str(turn.step))
        if isinstance(index, str) or not -(2**63) <= index < 2**63:
            index = storable(str(index))
        yield fmt.GenerationBegin(began, ordinal, index)
        seconds, items = _seconds(times, following), -1.0
        at_end: dict[str, float] = {}
        for point, time_s, values in turn.groups:
            seconds = values.pop(SECONDS, seconds)
            items = values.pop(ITEMS, items)
            at_end.update({m: value for m, value in values.items() if self._end_points.get(m) == point})
            if values:
                yield fmt.Metrics(ns(time_s), ordinal, values, at=point)
        if at_end:
            yield fmt.Metrics(ended, ordinal, at_end, at=GENERATION_END)
        if seconds is not None:
            yield fmt.GenerationEnd(ended, ordinal, seconds, items)


def _seconds(times: list[float], following: Turn | None) -> float | None:
    """Length of a generation: between its first and last point, or until the next one where it has but one."""
    if not times:
        return None
    if times[-1] > times[0]:
        return times[-1] - times[0]
    after = next((time_s for _, time_s, _ in following.groups if time_s == time_s), None) if following else None
    return max(0.0, after - times[0]) if after is not None else None
