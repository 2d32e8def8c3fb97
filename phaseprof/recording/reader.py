"""Reads a run's folder: streams each file, validates each line, and says which line is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from phaseprof.errors import RecordingError
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun

_MAX_LINE = 1 << 26  # no record is longer than 64 MiB; a longer line is not ours


@dataclass
class Run:
    """A whole run: one :class:`ProcessRun` for each process that recorded, by (rank, pid)."""

    path: Path | None
    processes: list[ProcessRun] = field(default_factory=list)

    @property
    def main(self) -> ProcessRun:
        """The process to report first: the lowest rank that recorded generations, else the longest recording."""
        return min(self.processes, key=lambda p: (not p.generations, p.header.rank if p.header else 0, -p.n_records))


def load_run(path: str | Path) -> Run:
    """Read a run's folder, or one of its files.

    Raises:
        RecordingError: nothing there, no recording in it, or a newer format; the message names the file and line.
    Cost: about 2 µs a record; memory is bounded by the number of points and metrics, not by the file.
    """
    where = Path(path)
    files = [where] if where.is_file() else sorted(where.glob("*.jsonl"))
    if not where.exists():
        raise RecordingError(f"cannot read {where}: no such folder; a run is the folder given as run= or --out")
    if not files:
        raise RecordingError(f"cannot read {where}: it has no *.jsonl file; give the folder of a recorded run")
    processes: dict[str, ProcessRun] = {}
    empty = 0
    for file in files:
        if file.stat().st_size == 0:
            empty += 1
            continue
        stem = file.name.removesuffix(".jsonl")
        process = processes.setdefault(stem.partition(".")[0], ProcessRun())
        _read_into(process, file)
    if not processes:
        raise RecordingError(f"cannot read {where}: {empty} empty file(s) and no record; the run wrote nothing")
    run = Run(where, sorted(processes.values(), key=lambda p: (p.header.rank, p.header.pid) if p.header else (0, 0)))
    for process in run.processes:
        process.fold()
    return run


def _read_into(process: ProcessRun, file: Path) -> None:
    wrong = 0
    for number, line in _lines(file):
        try:
            record = fmt.decode(line)
        except (msgspec.DecodeError, ValueError) as error:
            if number == 1:
                raise RecordingError(
                    f"cannot read {file}: line 1 is not a recording's header ({_short(error)}); "
                    "give a file that phaseprof wrote"
                ) from error
            if _is_newer_kind(line):
                continue
            wrong += 1
            if wrong <= 20:
                process.notes.append(f"{file.name} line {number} is skipped: {_short(error)}")
            continue
        if number == 1:
            _check_header(record, file)
        process.add(record)
    if wrong > 20:
        process.notes.append(f"{file.name}: {wrong - 20} more lines are skipped")


def _check_header(record: fmt.Record, file: Path) -> None:
    if not isinstance(record, fmt.Header):
        raise RecordingError(f"cannot read {file}: line 1 is not a header; give a file that phaseprof wrote")
    if record.format > fmt.FORMAT_VERSION:
        raise RecordingError(
            f"cannot read {file}: format version {record.format}, this release reads up to {fmt.FORMAT_VERSION}; "
            "upgrade phaseprof"
        )


def _is_newer_kind(line: bytes) -> bool:
    """Tell whether a line is a well-formed record of a kind this release does not know: such lines are ignored."""
    try:
        known = msgspec.json.decode(line, type=dict[str, msgspec.Raw]).get("k")
    except (msgspec.DecodeError, ValueError):
        return False
    kinds = {kind.__struct_config__.tag for kind in fmt.Record.__args__}  # type: ignore[attr-defined]
    return known is not None and msgspec.json.decode(known) not in kinds


def _lines(file: Path) -> Iterator[tuple[int, bytes]]:
    """Yield numbered lines; a line that the process did not live to finish is yielded as it is, and fails to decode."""
    number = 0
    try:
        with file.open("rb") as stream:
            while line := stream.readline(_MAX_LINE):
                number += 1
                if line == b"\n":
                    continue
                if len(line) >= _MAX_LINE:
                    raise RecordingError(f"cannot read {file}: line {number} is over 64 MiB; no record is so long")
                yield number, line
    except OSError as error:
        raise RecordingError(f"cannot read {file}: {error.strerror}; check its permissions") from error


def _short(error: Exception) -> str:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return text[:160]
