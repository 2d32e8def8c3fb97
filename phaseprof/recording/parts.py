"""The files of one recording, each the continuation of the one before: made, followed when moved, missed when gone."""

from __future__ import annotations

import contextlib
import errno
import os
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from phaseprof.interrupts import raise_the_programs
from phaseprof.recording.descriptors import create_private_file, find_open_file, identity_of, make_private_folder

Waiting = deque[tuple[bytes, int]]


class AnyFile(Protocol):
    """The file that is being written, and the lines that wait for it; the writer does everything else.

    Attributes:
        fd: descriptor; -1 if none is open.
        size, n_records: what was written to it, the head's bytes included.
        is_smooth: nothing but writing the next line is to be done.
        is_busy: somebody is writing.
        look_at_ns: on the monotonic clock, when something else is to be done.
        tried: the head of what may have been written of the first lines that wait; ``None``: nothing was tried.
    """

    fd: int
    size: int
    n_records: int
    look_at_ns: int
    is_smooth: bool
    is_busy: bool
    tried: bytes | None

    def write(self, lines: bytes, n_records: int, /) -> bool:
        """Append whole lines, or let them wait; return whether the writer has something to do."""


class OpenFile:
    """One that lets every line wait for the writer; ``_points.c`` has one that writes most of them itself."""

    def __init__(self, waiting: Waiting) -> None:
        self._waiting = waiting
        self.fd = -1
        self.size = self.n_records = self.look_at_ns = 0
        self.is_smooth = self.is_busy = False
        self.tried: bytes | None = None

    def write(self, lines: bytes, n_records: int, /) -> bool:
        """Let whole lines wait."""
        self._waiting.append((lines, n_records))
        return True


class PartFiles:
    """Holds the file that is being written, and knows the ones before.

    Args:
        folder: the run's folder; made, for this user alone, when the first file is opened.
        name: file name without its ending; later parts are ``name.1.jsonl`` and so on.
        preamble: gives the lines that open every file.
        file: the open one.

    Attributes:
        early: lines that wait for the next file, to stand after its preamble.
    """

    def __init__(self, folder: Path, name: str, preamble: Callable[[], bytes], file: AnyFile) -> None:
        self.file = file
        self.early: list[bytes] = []
        self.folder = folder
        self._name = name
        self._preamble = preamble
        self._part = 0
        self._head_size = 0
        self._identity = (0, 0)
        self._n_before: dict[int, int] = {}

    @property
    def path(self) -> Path:
        """The file that is being written, or that would be."""
        return self._path_of(self._part)

    def _path_of(self, part: int) -> Path:
        suffix = f".{part}" if part else ""
        return self.folder / f"{self._name}{suffix}.jsonl"

    @property
    def n_body_bytes(self) -> int:
        """Bytes after the head, which does not count: one longer than a bound would begin a file for each record."""
        return self.file.size - self._head_size

    def open_next(self) -> None:
        """Leave the file for the next one.

        Raises:
            OSError: none can be made, or its head not be written whole; the present one stays.
        """
        self._open(self._part + (self.file.fd >= 0))

    def _open(self, part: int) -> None:
        make_private_folder(self.folder)
        fd, part = self._create(part)
        try:
            early = self.early[:]
            head = self._preamble() + b"".join(early)
            if os.write(fd, head) < len(head):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            identity = identity_of(fd)
        except BaseException:
            os.close(fd)
            with contextlib.suppress(OSError):
                self._path_of(part).unlink()
            raise
        file = self.file
        left, identity_left = file.fd, self._identity
        self._n_before[self._part] = file.n_records
        file.fd, self._identity, self._part, file.n_records = fd, identity, part, 0
        file.size = self._head_size = len(head)
        del self.early[: len(early)]
        _close(left, identity_left)

    def _create(self, part: int) -> tuple[int, int]:
        while True:
            try:
                return create_private_file(self._path_of(part)), part
            except FileExistsError:  # a recycled pid or an earlier run in the same folder: keep what is there
                part += 1

    def see_state(self) -> str:
        """Look where the file is: ``"here"``, ``"moved"`` (it is followed), ``"removed"``, ``"cut"``, or ``"closed"``.

        Of a closed one, the descriptor is given up: its number may be another file's by now.
        """
        try:
            is_ours = identity_of(self.file.fd) == self._identity
            place = find_open_file(self.file.fd, self.path) if is_ours else None
        except OSError as error:
            raise_the_programs(error)
            is_ours = False
        if not is_ours:
            self.file.fd = -1
            return "closed"
        if place is None:
            return "removed"
        if os.fstat(self.file.fd).st_size < self.file.size:  # as tools do that rotate logs: its header went, too
            return "cut"
        if place.name != self.path.name or place.parent == self.folder:
            return "here"
        self.folder = place.parent
        return "moved"

    def drop(self) -> int:
        """Leave a file that was removed or cut; return how many records went with it and with missing parts."""
        self.close()
        missing = [part for part in self._n_before if not self._path_of(part).exists()]
        n_gone = self.file.n_records + sum(self._n_before.pop(part) for part in missing)
        self.file.n_records = 0
        return n_gone

    def close(self) -> None:
        """Close the file, unless its number has become somebody else's."""
        fd, self.file.fd = self.file.fd, -1
        _close(fd, self._identity)


def _close(fd: int, identity: tuple[int, int]) -> None:
    with contextlib.suppress(OSError):
        if fd >= 0 and identity_of(fd) == identity:
            os.close(fd)
