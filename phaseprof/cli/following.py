"""Follows the files of a run while they are written: each look reads what was added since the one before."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from phaseprof.errors import RecordingError
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.reader import Run

_CHUNK = 1 << 20
_MAX_LINE = 1 << 26  # no record is longer than 64 MiB; such a file is not ours
Identity = tuple[str, int, int, float]


@dataclass
class FollowedFile:
    """One file and how far it was read.

    Attributes:
        path: the file.
        offset: bytes that were read.
        rest: the beginning of a line whose end was not written yet.
        inode: which file it was, so that one put in its place is read from its start.
        process: the recording that its records belong to; ``None`` until its header was read.
        is_foreign: whether its first line is not a header that this release reads; such a file is left alone.
        n_wrong: lines that could not be decoded.
    """

    path: Path
    offset: int = 0
    rest: bytes = b""
    inode: int = 0
    process: ProcessRun | None = None
    is_foreign: bool = False
    n_wrong: int = 0


@dataclass
class RunFollower:
    """Reads a run's folder bit by bit; processes that start later, end, or start again are picked up as they come.

    A look costs a listing of the folder, and about 2 µs for each record that is new.

    Attributes:
        path: the folder, or one file of it.
    """

    path: Path
    _files: dict[Path, FollowedFile] = field(default_factory=dict)
    _processes: dict[Identity, ProcessRun] = field(default_factory=dict)

    def poll(self) -> int:
        """Read what is new and return how many records that were; a file or folder that is gone changes nothing."""
        return sum(self._read(self._files.setdefault(file, FollowedFile(file))) for file in self._listing())

    def run(self) -> Run:
        """Return the run as far as it was read; its processes go on growing with the next look."""
        for process in self._processes.values():
            process.fold()
        ordered = sorted(self._processes.values(), key=_order)
        return Run(self.path, ordered)

    @property
    def n_wrong(self) -> int:
        """Lines that could not be decoded, so far."""
        return sum(one.n_wrong for one in self._files.values())

    def _listing(self) -> list[Path]:
        try:
            if self.path.is_file():
                return [self.path]
            # Parts of a rotated recording are read in the order they were written: name.jsonl, name.1, ... name.10.
            return sorted(filter(Path.is_file, self.path.glob("*.jsonl")), key=lambda file: (len(file.name), file.name))
        except OSError:
            return []

    def _read(self, one: FollowedFile) -> int:
        if one.is_foreign:
            return 0
        n = 0
        try:
            with one.path.open("rb") as stream:
                self._check_same(one, stream.fileno())
                stream.seek(one.offset)
                while chunk := stream.read(_CHUNK):
                    one.offset += len(chunk)
                    n += self._take(one, chunk)
                    if one.is_foreign:
                        break
        except OSError:  # gone, or not ours to read for now: what was read stays
            return n
        return n

    def _check_same(self, one: FollowedFile, descriptor: int) -> None:
        """Begin again where the file was replaced or cut: what is in it now is another recording."""
        now = os.fstat(descriptor)
        if one.inode and (now.st_ino != one.inode or now.st_size < one.offset):
            one.offset, one.rest, one.process = 0, b"", None
        one.inode = now.st_ino

    def _take(self, one: FollowedFile, chunk: bytes) -> int:
        *lines, one.rest = (one.rest + chunk).split(b"\n")
        if len(one.rest) > _MAX_LINE:
            one.is_foreign = True
        return sum(self._add(one, line) for line in lines if line)

    def _add(self, one: FollowedFile, line: bytes) -> int:
        if one.is_foreign:
            return 0
        try:
            record = fmt.decode(line)
        except fmt.WRONG:
            one.n_wrong += 1
            one.is_foreign = one.process is None
            return 0
        if one.process is None:
            one.process = self._begin(record)
            one.is_foreign = one.process is None
        if one.process is not None:
            one.process.add(record)
        return 1

    def _begin(self, record: fmt.Record) -> ProcessRun | None:
        """Return the recording that a file's first record opens or goes on with; ``None`` if it opens none."""
        if not isinstance(record, fmt.Header) or record.format > fmt.FORMAT_VERSION:
            return None
        identity = (record.host, record.pid, record.started_ns, record.started_unix_s)
        return self._processes.setdefault(identity, ProcessRun())


def follow_existing(path: Path) -> RunFollower:
    """Follow a run that must be there already, for a single look.

    Raises:
        RecordingError: the folder is not there, or holds no recording that this release reads.
    """
    if not path.exists():
        raise RecordingError(f"cannot read {path}: no such folder; a run is the folder given as run= or --out")
    follower = RunFollower(path)
    follower.poll()
    if not follower.run().processes:
        raise RecordingError(f"cannot read {path}: no recording in it; give the folder of a run")
    return follower


def _order(process: ProcessRun) -> tuple[int, float, int]:
    header = process.header
    return (header.rank, header.started_unix_s, header.pid) if header else (0, 0.0, 0)
