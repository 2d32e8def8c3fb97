"""Appends records to one process's file: one ``write`` a record, and never an exception into the training program."""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

from phaseprof.errors import UsageError

_retired: list[int] = []
_LOWEST_FD = 200  # below the smallest usual limit of 256
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class RecordWriter:
    """Writes lines to ``folder/name.jsonl``; what cannot be written is counted and told when writing works again.

    Args:
        folder: the run's folder; made if it is not there.
        name: file name without its ending, for example ``rank0-pid123``.
        preamble: gives the lines that open every file (header, labels); called for each new or rotated file.
        max_file_bytes: a file that would grow beyond it is followed by ``name.1.jsonl`` and so on; ``None``: no bound.
        lazy: open the file at the first record, as in a forked child that may never record anything.

    Raises:
        UsageError: the folder cannot be made or written at the start.  Later failures never raise.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        preamble: Callable[[], bytes],
        *,
        max_file_bytes: int | None = None,
        lazy: bool = False,
    ) -> None:
        self.folder = folder
        self.lost = 0
        self.why_lost = ""
        self._name = name
        self._preamble = preamble
        self._max_bytes = max_file_bytes or 0
        self._part = 0
        self._written = 0
        self._cut = False
        self._identity = (0, 0)
        # Re-entrant, because a signal handler or a finalizer may record while a record is being written.
        self._lock = threading.RLock()
        self.fd = -1
        # The descriptor, where a line may just be appended to it; -1 where only ``write`` knows what to do.
        self.plain_fd = -1
        self.is_unopened = lazy
        if lazy:
            return
        try:
            self._open()
        except OSError as error:
            raise UsageError(
                f"run must name a folder that can be written (got {str(folder)!r}: {error.strerror}); "
                "give another folder, or run=None to keep the recording in memory"
            ) from error

    @property
    def path(self) -> Path:
        """The file that is being written."""
        suffix = f".{self._part}" if self._part else ""
        return self.folder / f"{self._name}{suffix}.jsonl"

    def _open(self) -> None:
        """Open the next free file and write its head; a file whose head cannot be written whole is taken away again."""
        self.folder.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
        while True:
            try:
                fd = _move_up(os.open(self.path, flags | os.O_EXCL, 0o644))
                break
            except FileExistsError:  # a recycled pid or an earlier run in the same folder: keep what is there
                self._part += 1
        try:
            opening = self._preamble()
            if os.write(fd, opening) < len(opening):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            identity = _identity_of(fd)
        except BaseException:
            os.close(fd)
            with contextlib.suppress(OSError):
                self.path.unlink()
            raise
        self._close()
        self._identity = identity
        self._written = 0  # the head does not count: one longer than the bound would begin a file for each record
        self._cut = False
        self.fd = fd
        self.plain_fd = -1 if self._max_bytes else fd

    def write(self, line: bytes) -> None:
        """Append one record, newline included.

        Threads need no lock, since each record is one ``write``; only where files are rotated, so that no thread writes
        to a file that another has just left.

        Cost: one ``write``, 1.1 µs on two shared EPYC cores.
        """
        if self._max_bytes:
            with self._lock:
                self._append(line)
        else:
            self._append(line)

    def _append(self, line: bytes) -> None:
        if self.is_unopened:
            self.reopen()
        if self._cut:
            line = b"\n" + line
        try:
            n = os.write(self.fd, line)
        except OSError as error:
            self.note_failure(error)
            return
        if n < len(line):
            self.note_cut()
            return
        self._written += n
        self._cut = False
        if not self._max_bytes:
            self.plain_fd = self.fd
        elif self._written > self._max_bytes:
            self._rotate()

    def note_cut(self) -> None:
        """The disk filled in the middle of a line: the next one begins on a line of its own."""
        self._cut = True
        self.plain_fd = -1
        self._lose(os.strerror(errno.ENOSPC))

    def note_failure(self, error: OSError) -> None:
        """A line could not be written; unless room may come back, none will be before the file is opened anew."""
        known = self.why_lost if self.fd < 0 else ""
        self._lose(known or error.strerror or str(error))
        if error.errno not in _NO_ROOM:
            self.close()

    def _lose(self, why: str) -> None:
        self.lost += 1
        self.why_lost = why

    def _rotate(self) -> None:
        with self._lock:
            if self._written > self._max_bytes:  # another thread may have done it
                self._part += 1
                self.reopen()

    def is_gone(self) -> bool:
        """Tell whether the file is closed, was removed, or its number became another file: writes would go nowhere."""
        if self.fd < 0:
            return not self.is_unopened
        try:
            return os.fstat(self.fd).st_nlink == 0 or _identity_of(self.fd) != self._identity
        except OSError:
            return True

    def reopen(self) -> bool:
        """Open a fresh file, for a rotated or removed one; return whether it worked.  Never raises."""
        with self._lock:
            self.is_unopened = False
            try:
                self._open()
            except OSError as error:
                self._close()
                self.why_lost = error.strerror or str(error)
                return False
            return True

    def take_losses(self) -> str:
        """Return one sentence about records lost since the last call, or an empty text."""
        if not self.lost or self.fd < 0:
            return ""
        text = f"{self.lost} records could not be written and are missing ({self.why_lost})"
        self.lost = 0
        return text

    def close(self) -> None:
        """Close the file, unless its number has become somebody else's; later writes are counted as lost."""
        with self._lock:
            self._close()

    def abandon(self) -> None:
        """In a forked child: let go of the parent's file, whose lock another thread may have held at the fork."""
        self._close()

    def _close(self) -> None:
        fd, self.fd, self.plain_fd = self.fd, -1, -1
        if fd < 0:
            return
        with contextlib.suppress(OSError):
            if _identity_of(fd) == self._identity:
                _retire(fd)

    def __del__(self) -> None:
        if getattr(self, "fd", -1) >= 0:
            self._close()


def _retire(fd: int) -> None:
    """Close a descriptor that another thread may be about to write to.

    Its number must not become another file's in between.  So where there are threads it first leads to nowhere, and is
    closed when the next one is retired.
    """
    while _retired:
        os.close(_retired.pop())
    if threading.active_count() > 1:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, fd, inheritable=False)
        os.close(nowhere)
        _retired.append(fd)
    else:
        os.close(fd)


def _identity_of(fd: int) -> tuple[int, int]:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


def _move_up(fd: int) -> int:
    """Move a descriptor out of the low numbers, so that a program that closes all of them does not get ours again.

    What a daemon opens next takes the lowest free number, and our records would go into its file.
    """
    try:
        import fcntl

        high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _LOWEST_FD)
    except (ImportError, OSError):
        return fd
    os.close(fd)
    return high
