"""Turns foreign readings into a recording that ``load_run`` reads: steps become generations, points become labels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from phaseprof._version import __version__
from phaseprof.analysis.imports.readings import NO_STEP, Readings, Turn
from phaseprof.errors import RecordingError, UsageError
from phaseprof.recording import format as fmt
from phaseprof.recording.writer import RecordWriter

# Rows of our own export that are figures of the generation, not readings at a point.
SECONDS, ITEMS = "generation_seconds", "generation_items"
_UNIX_S = 1e9  # a time above it (September 2001) is a date; below it, seconds since the start
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
        page_bytes=4096, rank=rank, world_size=max(world_size, rank + 1), argv=["phaseprof", "import", str(readings.file)],
        settings={"imported_from": readings.file.name, **({"process": readings.name} if readings.name else {})},
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

    Steps 0, 1000, 2000 become 0, 1, 2; where steps are uneven, generations are uneven alike, so that a straight line
    stays straight.  Steps that are ordinals of a recording already stay as they are.
    """
    steps = readings.steps()
    if not len(steps):
        return {}
    whole = bool((steps == np.floor(steps)).all())
    gaps = np.diff(steps)
    if whole and (readings.are_ordinals or not len(gaps)):
        return {step: int(step) for step in steps.tolist()}
    unit = float(np.gcd.reduce(gaps.astype(np.int64))) if whole else 0.0
    if unit == 1.0 and float(np.median(gaps)) <= 10:
        return {step: int(step) for step in steps.tolist()}
    if unit == 0 or float(np.median(gaps)) > 10 * unit:
        unit = float(np.median(gaps))
    scaled = np.rint((steps - steps[0]) / unit).astype(np.int64)
    # Two steps closer than half a unit would fall into one generation: the later one moves up.
    apart = np.maximum.accumulate(scaled - np.arange(len(scaled))) + np.arange(len(scaled))
    return dict(zip(steps.tolist(), apart.tolist(), strict=True))


def _records(readings: Readings, clock: _Clock) -> Iterator[fmt.Record]:
    for number, point in enumerate(readings.point_names()):
        yield fmt.Label(number, point, "checkpoint")
    for note in _notes(readings, clock):
        yield fmt.Note(0, note)
    ordinals = ordinals_of(readings)
    turns = readings.turns()
    turn = next(turns, None)
    while turn is not None:
        following = next(turns, None)
        yield from _turn_records(turn, following, readings, ordinals=ordinals, clock=clock)
        turn = following
    yield fmt.End(clock.ns(readings.last_time_s()), "imported")


def _notes(readings: Readings, clock: _Clock) -> Iterator[str]:
    yield f"imported from {readings.file.name}"
    yield from readings.notes
    if not clock.is_known:
        yield "the file has no times: rates by the hour and the time until a limit are not known"


def _turn_records(
    turn: Turn, following: Turn | None, readings: Readings, *, ordinals: dict[float, int], clock: _Clock
) -> Iterator[fmt.Record]:
    if turn.step == NO_STEP:
        for point, time_s, values in turn.groups:
            yield fmt.Metrics(clock.ns(time_s), -1, values, at=point)
        return
    ordinal = ordinals[turn.step]
    times = [time_s for _, time_s, _ in turn.groups if time_s == time_s]
    index = readings.indices.get(turn.step, int(turn.step) if turn.step == int(turn.step) else str(turn.step))
    yield fmt.GenerationBegin(clock.ns(times[0]) if times else 0, ordinal, index)
    seconds, items = _seconds(times, following), -1.0
    for point, time_s, values in turn.groups:
        seconds = values.pop(SECONDS, seconds)
        items = values.pop(ITEMS, items)
        if values:
            yield fmt.Metrics(clock.ns(time_s), ordinal, values, at=point)
    if seconds is not None:
        yield fmt.GenerationEnd(clock.ns(times[-1]) if times else 0, ordinal, seconds, items)


def _seconds(times: list[float], following: Turn | None) -> float | None:
    """Length of a generation: between its first and last point, or until the next one where it has but one."""
    if not times:
        return None
    if times[-1] > times[0]:
        return times[-1] - times[0]
    after = next((time_s for _, time_s, _ in following.groups if time_s == time_s), None) if following else None
    return max(0.0, after - times[0]) if after is not None else None
