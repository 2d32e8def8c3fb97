"""One file of ``/proc`` or ``/sys`` kept open, so that reading it again costs one system call."""

from __future__ import annotations

import errno
import os
import weakref
from pathlib import Path

from phaseprof.errors import ProbeUnavailable
from phaseprof.interrupts import raise_the_programs

_CLOSED = -1
_per_process: weakref.WeakSet[KeptFile] = weakref.WeakSet()
_fork_hook_installed = False


class KeptFile:
    """An open descriptor on a small file that the kernel writes anew for each read.

    ``/proc/self`` is resolved when a file is opened, so a forked child that reads its parent's descriptor sees the
    parent's figures. Files opened with ``per_process=True`` are opened again in the child, by one hook at fork.

    Programs that turn themselves into daemons close every descriptor, and the number may then be a file of theirs:
    ``close`` closes only what is still the file that was opened. Reading uses ``pread``, which moves no offset.

    Args:
        path: the file.
        per_process: the path leads through ``/proc/self``.

    Raises:
        ProbeUnavailable: the file cannot be opened.
    """

    def __init__(self, path: str | Path, *, per_process: bool = False) -> None:
        self.path = path
        self.fd = _CLOSED
        self._identity = (0, 0)
        self._open()
        if per_process:
            _register(self)

    def read(self, size: int = 8192) -> bytes:
        """Read up to ``size`` bytes from the start of the file.

        Raises:
            ProbeUnavailable: the file was closed, or the kernel no longer answers.

        Cost: 0.9-1.1 us for a file of one number (two shared AMD EPYC cores, Python 3.11).
        """
        try:
            return os.pread(self.fd, size, 0)
        except OSError as error:
            raise_the_programs(error)
            raise ProbeUnavailable(self._explain(error)) from error

    def reopen(self) -> None:
        """Open the file again, as a forked child must.

        Raises:
            ProbeUnavailable: the file cannot be opened; it then counts as closed.
        """
        self.close()
        self._open()

    def close(self) -> None:
        """Close the descriptor, unless its number has become somebody else's file; may be called twice."""
        fd, self.fd = self.fd, _CLOSED
        if fd == _CLOSED:
            return
        try:
            if _identity_of(fd) == self._identity:
                os.close(fd)
        except OSError:
            # Already closed by the program: nothing is left to give back.
            pass

    def _open(self) -> None:
        try:
            self.fd = os.open(self.path, os.O_RDONLY)
            self._identity = _identity_of(self.fd)
        except OSError as error:
            raise_the_programs(error)
            raise ProbeUnavailable(self._explain(error)) from error

    def _explain(self, error: OSError) -> str:
        reason = "it was closed" if self.fd == _CLOSED and error.errno == errno.EBADF else error.strerror
        return f"cannot read {self.path}: {reason}"


def _identity_of(fd: int) -> tuple[int, int]:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


def _register(file: KeptFile) -> None:
    global _fork_hook_installed
    _per_process.add(file)
    if not _fork_hook_installed and hasattr(os, "register_at_fork"):
        # One hook for all files, because a hook at fork can never be taken back.
        os.register_at_fork(after_in_child=_reopen_all)
        _fork_hook_installed = True


def _reopen_all() -> None:
    for file in tuple(_per_process):
        if file.fd != _CLOSED:
            try:
                file.reopen()
            except ProbeUnavailable:
                # The child has no descriptor left: the file stays closed, and reading it says so.
                pass
