"""Reads a run's folder: streams each file, validates each line, and says which line is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import msgspec

from phaseprof.errors import RecordingError
from phaseprof.recording import format as fmt
from phaseprof.recording.addresses import File, RemoteFile, fetched, is_address, list_files
from phaseprof.recording.model import ProcessRun

T = TypeVar("T")
_MAX_LINE = 1 << 26  # no record is longer than 64 MiB; a longer line is not ours
_MAX_FIRST_LINE = 1 << 20
_CHUNK = 1 << 20
_MAX_TRIED = 1000  # lines after a damaged header in which a record is looked for
_MAX_TOLD = 20  # wrong lines that are named in the notes; the rest are counted
_PART = re.compile(r"(.*?)(?:\.(\d+))?\.jsonl")


@dataclass
class Run:
    """A whole run: one :class:`ProcessRun` for each process that recorded, by (rank, pid).

    Attributes:
        path: its folder or file, or its address; ``None`` if it was never written.
        processes: what each process recorded.
        left_out: a sentence on each file that could not be read beside the others.
    """

    path: Path | str | None
    processes: list[ProcessRun] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    @property
    def main(self) -> ProcessRun:
        """The process to report first: the lowest rank that recorded generations, else the longest recording."""

        def place(process: ProcessRun) -> tuple[bool, int, int]:
            return not process.has_generations, process.header.rank if process.header else 0, -process.n_records

        return min(self.processes, key=place)


def load_run(path: str | Path) -> Run:
    """Read a run's folder, or one of its files.

    Args:
        path: a folder or file, or an address that fsspec knows, such as ``s3://bucket/run``.

    Raises:
        RecordingError: nothing there, no recording in it, or a newer format; the message names the file and line.
        MissingExtra: an address needs a package that is not installed.
    Cost: about 1 µs a record; memory is bounded by the number of points and metrics, not by the file.
    """
    files, left_out = _files_of(path), list[str]()
    with fetched(files) as local:
        processes = load_files(local, left_out)
    if not processes:
        raise RecordingError(f"cannot read {path}: {len(files)} empty file(s) and no record; the run wrote nothing")
    return Run(where_of(path), put_in_order(processes, lambda process: process), left_out)


def where_of(path: str | Path) -> Path | str:
    """A run's folder or file as a path; an address as it is."""
    return path if is_address(path) else Path(path)


def put_in_order(items: Iterable[T], process_of: Callable[[T], ProcessRun]) -> list[T]:
    """Order items by the rank and pid of their processes, as a run has them."""

    def place(item: T) -> tuple[int, int]:
        header = process_of(item).header
        return (header.rank, header.pid) if header else (0, 0)

    return sorted(items, key=place)


def find_recordings(path: str | Path) -> dict[str, list[File]]:
    """Return the files of a run that hold anything, by the name that the parts of one recording share.

    Raises:
        RecordingError: as ``load_run``, for a folder without a recording.
    """
    groups: dict[str, list[File]] = {}
    for file in _files_of(path):
        if size_of(file):
            groups.setdefault(_part_of(file)[0], []).append(file)
    return groups


def size_of(file: File) -> int:
    """Bytes of a file.

    Raises:
        RecordingError: it may not be read.
    """
    if isinstance(file, RemoteFile):
        return file.n_bytes
    try:
        return file.stat().st_size
    except OSError as error:
        raise RecordingError(f"cannot read {file}: {error.strerror}; check its permissions") from error


def load_files(files: Iterable[Path], left_out: list[str] | None = None) -> list[ProcessRun]:
    """Read files, the parts of a recording in the order they were written; empty ones are passed over.

    A file whose header is damaged is read from its second line on, if records follow.

    Args:
        files: the files.
        left_out: takes a sentence on each file that could not be read, if any could.

    Raises:
        RecordingError: a file is no recording, or of a newer format, and no other is part of the same recording; with
            ``left_out``, none could be read.
    """
    processes: dict[tuple[object, ...], ProcessRun] = {}
    refused: list[tuple[str, RecordingError]] = []
    for file in files:
        first, name = _first_line(file), _part_of(file)[0]
        if not first:
            continue
        try:
            header = _read_header(first, file)
        except RecordingError as error:
            if (_format_of(first) or 0) > fmt.FORMAT_VERSION or not _has_records(file, len(first)):
                refused.append((name, error))
                continue
            # The parts before it are of the same recording, most likely.
            key = next((key for key in reversed(processes) if key[0] == name), (name,))
            process = processes.setdefault(key, ProcessRun())
            process.note(f"{file.name}: line 1 is not a recording's header, and is left out; what follows it is read")
        else:
            # The parts of a rotated recording repeat one header; another in the same folder is another recording.
            key = (name, header.host, header.pid, header.started_ns, header.started_unix_s)
            if (name,) in processes:
                processes[key] = processes.pop((name,))
            process = processes.setdefault(key, ProcessRun())
            process.add(header)
        _read_into(process, file, len(first))
        process.fold()
    _tell_of(refused, processes, left_out)
    return list(processes.values())


def _tell_of(
    refused: Iterable[tuple[str, RecordingError]],
    processes: Mapping[tuple[object, ...], ProcessRun],
    left_out: list[str] | None,
) -> None:
    for name, refusal in refused:
        others = [process for (of, *_), process in processes.items() if of == name]
        if not others and (left_out is None or not processes):
            raise refusal
        for process in others:
            process.note(f"one of its files is left out: {refusal}")
        if not others and left_out is not None:
            left_out.append(left_out_for(refusal))


def left_out_for(refusal: RecordingError) -> str:
    """Say that a file is not among what was read of a run, and why."""
    return f"a file is left out: {refusal}"


def _has_records(file: Path, offset: int) -> bool:
    """Whether any of the first lines after a header is a record."""
    _, lines = next(_chunks(file, offset), (0, None))
    return any(not _why_wrong(line) for line in (lines or b"").split(b"\n", _MAX_TRIED)[:_MAX_TRIED] if line.strip())


def _why_wrong(line: bytes) -> str:
    try:
        fmt.decode(line)
    except fmt.WRONG as error:
        return _short(error)
    return ""


def _files_of(path: str | Path) -> list[File]:
    """The files of a run; the parts of one recording in the order they were written."""
    if not str(path).strip():
        raise RecordingError("cannot read '': no folder is named; give the folder of a recorded run")
    files = list_files(path) if isinstance(path, str) and is_address(path) else _files_in(Path(path))
    if not files:
        raise RecordingError(f"cannot read {path}: it has no *.jsonl file; give the folder of a recorded run")
    return sorted(files, key=_part_of)


def _files_in(where: Path) -> list[Path]:
    try:
        if not where.exists():
            raise RecordingError(f"cannot read {where}: no such folder; a run is the folder given as run= or --out")
        return [where] if where.is_file() else [f for f in where.iterdir() if f.suffix == ".jsonl" and f.is_file()]
    except OSError as error:
        raise RecordingError(f"cannot read {where}: {error.strerror}; check its permissions") from error


def _part_of(file: File) -> tuple[str, int]:
    match = _PART.fullmatch(file.name)
    return (match[1], int(match[2] or 0)) if match else (file.name, 0)


def _first_line(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            return stream.readline(_MAX_FIRST_LINE)
    except OSError as error:
        raise RecordingError(f"cannot read {file}: {error.strerror}; check its permissions") from error


def _read_header(line: bytes, file: Path) -> fmt.Header:
    try:
        record = fmt.decode(line)
    except fmt.WRONG as error:
        newer = _format_of(line)
        if newer is not None and newer > fmt.FORMAT_VERSION:
            raise _too_new(file, newer) from error
        raise RecordingError(
            f"cannot read {file}: line 1 is not a recording's header ({_short(error)}); "
            "give a file that phaseprof wrote"
        ) from error
    return _check_header(record, file)


def _format_of(line: bytes) -> int | None:
    """The format of a header that a later release wrote in a way this one cannot decode."""
    try:
        fields = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        return msgspec.json.decode(fields["format"], type=fmt.Number)
    except (*fmt.WRONG, KeyError):
        return None


def _too_new(file: Path, version: int) -> RecordingError:
    return RecordingError(
        f"cannot read {file}: format version {version}, this release reads up to {fmt.FORMAT_VERSION}; "
        "upgrade phaseprof"
    )


def _read_into(process: ProcessRun, file: Path, offset: int) -> None:
    """Read what follows the header, many lines at a time; where a line is wrong, one by one to name it."""
    wrong = 0
    for number, lines in _chunks(file, offset):
        if lines is None:
            process.note(f"{file.name} line {number} is over 64 MiB: the rest of the file is skipped")
            break
        try:
            records = fmt.decode_lines(lines)
        except fmt.WRONG:
            for at, line in enumerate(lines.split(b"\n"), number):
                reason = _read_line(process, line)
                wrong += bool(reason)
                if reason and wrong <= _MAX_TOLD:
                    process.note(f"{file.name} line {at} is skipped: {reason}")
        else:
            process.extend(records)
    if wrong > _MAX_TOLD:
        process.note(f"{file.name}: {wrong - _MAX_TOLD} more lines are skipped")


def _read_line(process: ProcessRun, line: bytes) -> str:
    """Take in one line; return why it could not be, or an empty text."""
    if not line.strip():
        return ""
    try:
        process.add(fmt.decode(line))
    except fmt.WRONG as error:
        return "" if _is_newer_kind(line) else _short(error)
    return ""


def _check_header(record: fmt.Record, file: Path) -> fmt.Header:
    if not isinstance(record, fmt.Header):
        raise RecordingError(f"cannot read {file}: line 1 is not a header; give a file that phaseprof wrote")
    if record.format > fmt.FORMAT_VERSION:
        raise _too_new(file, record.format)
    return record


def _is_newer_kind(line: bytes) -> bool:
    """Tell whether a line is a well-formed record of a kind this release does not know: such lines are ignored."""
    try:
        known = msgspec.json.decode(msgspec.json.decode(line, type=dict[str, msgspec.Raw])["k"], type=str)
    except (*fmt.WRONG, KeyError):
        return False
    return known not in {kind.__struct_config__.tag for kind in fmt.Record.__args__}  # type: ignore[attr-defined]


def _chunks(file: Path, offset: int) -> Iterator[tuple[int, bytes | None]]:
    """Yield the number of a first line and some whole lines; ``None`` for a line that is too long to be a record.

    A last line that the process did not live to finish is yielded as it is, and fails to decode.
    """
    number, rest = 2, bytearray()
    try:
        with file.open("rb") as stream:
            stream.seek(offset)
            while block := stream.read(_CHUNK):
                end = block.rfind(b"\n") + 1
                if not end:
                    rest += block
                    if len(rest) >= _MAX_LINE:
                        yield number, None
                        return
                    continue
                lines = bytes(rest) + block[:end] if rest or end < len(block) else block
                rest = bytearray(block[end:])
                yield number, lines
                number += lines.count(b"\n")
    except OSError as error:
        raise RecordingError(f"cannot read {file}: {error.strerror}; check its permissions") from error
    if rest:
        yield number, bytes(rest)


def _short(error: Exception) -> str:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return text[:160]
