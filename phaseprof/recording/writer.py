"""Appends records to one process's file, and never raises into the training program.

What cannot be written is counted, told at once, and noted in the recording as soon as something can be written again.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from phaseprof.errors import UsageError
from phaseprof.interrupts import raise_the_programs
from phaseprof.recording.parts import AnyFile, OpenFile, PartFiles, Waiting

_LOOK_EVERY_S = 0.05  # a look costs 3 µs; so often, it takes no time to speak of, however many records there are
_MAX_EARLY = 64
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class Listener(Protocol):
    """Who is told what becomes of the records."""

    def encode_note(self, text: str) -> bytes:
        """Return a sentence as a line of the recording.  Called while writing: it takes no lock and writes nothing."""

    def warn_of_file(self, text: str) -> None:
        """Hear, once each time it begins, that records are lost or go elsewhere.  Called after writing."""

    def take_note(self, text: str) -> None:
        """Hear that a sentence was written into the recording.  Called after writing."""


class RecordWriter:
    """Writes lines to ``folder/name.jsonl``.

    Args:
        folder: the run's folder, made for this user alone if it is not there; a relative one is fixed at the start.
        name: file name without its ending, for example ``rank0-pid123``.
        preamble: gives the lines that open every file (header, labels); called for each new or rotated file.
        max_file_bytes: a file that grows beyond it is followed by ``name.1.jsonl`` and so on; ``None``: no bound.
        lazy: open the file at the first record, as in a forked child that may never record anything.
        listener: who is told of losses; ``None``: nobody, but ``lost`` and ``why_lost`` say it.
        make_file: makes the open file, of the lines that wait for it; ``None``: it has none of its own.

    Raises:
        UsageError: the folder cannot be made or written at the start.  Later failures never raise.

    Attributes:
        lost: records that could not be written, and that no note in the recording counts yet.
        why_lost: why the first of them could not be.
        is_unopened: whether the file waits for the first record.
        is_closing: whether it is closed, or about to be.
        file: the open file.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        preamble: Callable[[], bytes],
        *,
        max_file_bytes: int | None = None,
        lazy: bool = False,
        listener: Listener | None = None,
        make_file: Callable[[Waiting], AnyFile | None] = OpenFile,
    ) -> None:
        self.lost = 0
        self.why_lost = ""
        self.is_unopened = lazy
        self._why_closed = ""
        self._max_bytes = max_file_bytes or 0
        self._listener = listener
        self._is_cut = self._is_failing = self._is_told = False
        self._look_at_s = self._rotate_at_s = 0.0
        self._noting = ""
        self._news: deque[tuple[bool, str]] = deque()
        # Re-entrant, because a signal handler or a finalizer may record while a record is being written; what it
        # records waits until that one is written.
        self._lock = threading.RLock()
        self._waiting: Waiting = deque()
        self.file = make_file(self._waiting) or OpenFile(self._waiting)
        self.is_closing = self._is_abandoned = False
        try:
            self._files = PartFiles(Path(folder).absolute(), name, preamble, self.file)
            if not lazy:
                self._files.open_next()
        except OSError as error:
            raise UsageError(
                f"run must name a folder that can be written (got {str(folder)!r}: {error.strerror}); "
                "give another folder, or run=None to keep the recording in memory"
            ) from error

    @property
    def path(self) -> Path:
        """The file that is being written."""
        return self._files.path

    # --- writing ----------------------------------------------------------------------------------------------------

    def write(self, lines: bytes, n_records: int = 1) -> None:
        """Append whole lines, each with its newline, in one ``write`` of the system.

        It may be called by any thread, and by a signal handler or a finalizer in the middle of another call: nothing
        is lost by that, and the lines of each call stand together.

        Args:
            lines: the bytes.
            n_records: how many records they are.  That many are lost if the lines cannot be written; if they can in
                part, those without a whole line are.

        Cost: 1 µs on two shared EPYC cores, 0.8 of it the system's; 1.5 µs without the extension in C.
        """
        if self.file.write(lines, n_records):
            self.go_on()

    def go_on(self) -> None:
        """Do what a call of ``file`` has left to do."""
        while self._waiting and self._write_what_waits():
            pass
        if self.is_closing and not self.file.is_busy:  # a signal handler or another thread closed it meanwhile
            self._files.close()
        if self._news:
            self._tell()

    def write_later(self, line: bytes) -> None:
        """Keep a line for the head of the file, which is not opened for it; of very many, the first ones."""
        if len(self._files.early) < _MAX_EARLY:
            self._files.early.append(line)

    def check(self) -> None:
        """Look now whether the file is still there, as is done from time to time while writing; open it anew if not."""
        if not self.is_unopened:
            self._look_at_s = 0.0
            self._write_what_waits()
            self._tell()

    def _write_what_waits(self) -> bool:
        """Return whether it was done; where a call further out is writing, that one does it."""
        if self._is_abandoned:  # the lock may never be free again
            self._waiting.clear()
            return True
        with self._lock:
            self.file.is_smooth = False  # from here on nobody begins to write the quick way
            if self.file.is_busy:
                return False
            try:
                self.file.is_busy = True
                if time.monotonic() >= self._look_at_s or (self.is_unopened and self._waiting):
                    self._look()
                self._append_all()
            finally:
                self.file.is_busy = False
            if self.is_closing:
                self._files.close()
            return True

    def _append_all(self) -> None:
        # A function of its own: from Python 3.12 on, what a signal handler raises at a loop's jump back passes by the
        # ``finally`` and the lock that enclose the loop in the same function.
        while self._waiting:
            self._append(*self._waiting[0])

    def _append(self, lines: bytes, n_records: int) -> None:
        """Write what waits first, and take it away.

        A signal handler may raise after any call that is made here.  So a line is taken away only when it is known what
        became of it, and together with that.
        """
        file = self.file
        head = file.tried
        if head is not None and self._finish(head, lines, n_records):
            return
        if file.fd < 0:
            self._lose(n_records, self._why_closed or "the file is closed")
            self._waiting.popleft()
            return
        head = self._head() if self._is_cut or self.lost else b""
        file.tried = head
        try:
            n_written = os.write(file.fd, head + lines)
        except OSError as error:
            raise_the_programs(error)
            self._fail(error, n_records)
            return
        if head or n_written != len(lines):
            self._account(head, lines, n_records, n_written)
            return
        file.size += n_written
        file.n_records += n_records
        file.tried = None
        self._waiting.popleft()
        self._is_failing = False
        if self._is_told:
            self._is_told = self._rotate_at_s > 0
        if self._max_bytes:
            self._rotate_if_due()
        else:
            file.look_at_ns = int(self._look_at_s * 1e9)
            file.is_smooth = not (self._is_told or self.is_closing)

    def _head(self) -> bytes:
        """What is due before the next line: the end of a cut one, and the note of those that were lost."""
        self._noting = note = self.describe_losses() if self._listener is not None else ""
        encoded = self._listener.encode_note(note) if note and self._listener is not None else b""
        return b"\n" + encoded if self._is_cut else encoded

    def _fail(self, error: OSError, n_records: int) -> None:
        """Where no room can come back to the file, another is tried at the next look; at once if it is not open."""
        self.file.tried = None
        self._is_failing = error.errno not in _NO_ROOM
        if error.errno == errno.EBADF:
            self._look_at_s = 0.0
        self._lose(n_records, error.strerror or str(error))
        self._waiting.popleft()

    def _finish(self, head: bytes, lines: bytes, n_records: int) -> bool:
        """A signal handler raised before the result of a ``write`` was seen: count what was written, if it was."""
        try:
            n_written = os.fstat(self.file.fd).st_size - self.file.size
        except OSError as error:
            raise_the_programs(error)
            n_written = 0
        if n_written > 0:
            self._account(head, lines, n_records, n_written)
        self.file.tried = None
        return n_written > 0

    def _account(self, head: bytes, lines: bytes, n_records: int, n_written: int) -> None:
        """Count what was written of a head and its lines, not all of them perhaps."""
        file, written = self.file, (head + lines)[:n_written]
        is_whole = n_written >= len(head) + len(lines)
        is_cut = not written.endswith(b"\n") if written else self._is_cut
        n_whole = n_records if is_whole else min(n_records, written[len(head) :].count(b"\n"))
        noted = self._noting if head and n_written >= len(head) else ""
        file.size += n_written
        file.n_records += n_whole
        self._is_cut, self._is_failing, file.tried = is_cut, False, None
        self._waiting.popleft()
        if noted:
            self.lost, self.why_lost = 0, ""
            self._news.append((False, noted))
        if is_whole:
            self._is_told = self._is_told and self._rotate_at_s > 0
        else:
            self._lose(n_records - n_whole, os.strerror(errno.ENOSPC))
        self._rotate_if_due()

    # --- losses -----------------------------------------------------------------------------------------------------

    def describe_losses(self) -> str:
        """Return a sentence about the records that are lost and that no note counts yet, or an empty text."""
        if not self.lost:
            return ""
        what, are = ("1 record", "is") if self.lost == 1 else (f"{self.lost} records", "are")
        return f"{what} could not be written and {are} missing ({self.why_lost})"

    def _lose(self, n_records: int, why: str) -> None:
        if not n_records or self._is_abandoned:
            return
        self.why_lost = self.why_lost or why
        self.lost += n_records
        self._warn(
            f"records are lost from {self.path} ({self.why_lost}); the program goes on, and the recording will say how "
            "many as soon as it can be written again"
        )

    def _warn(self, text: str) -> None:
        """Once, whatever follows from it, until a line can be written again."""
        if not self._is_told:
            self._is_told = True
            self._news.append((True, text))

    def _tell(self) -> None:
        """Outside of the lock, since what is called may do anything, record for example."""
        while self._news:
            try:
                is_warning, text = self._news.popleft()
            except IndexError:  # another thread was faster
                return
            if self._listener is not None:
                (self._listener.warn_of_file if is_warning else self._listener.take_note)(text)

    # --- the file ---------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """See where the file is, and begin another if it is nowhere or cannot be written."""
        self._look_at_s = time.monotonic() + _LOOK_EVERY_S
        if self.is_closing:
            return
        files = self._files
        state = files.see_state() if self.file.fd >= 0 else "closed"
        if state == "moved":
            self._news.append((True, f"the folder of the recording was moved; the recording goes on in {files.folder}"))
        elif state in ("removed", "cut"):
            n_gone = files.drop()
            self._open_again()
            self._lose(n_gone, f"the file was {state}" + (f": {self._why_closed}" if self._why_closed else ""))
        elif state == "closed" or self._is_failing:
            self._open_again()

    def _open_again(self) -> None:
        self.is_unopened = False
        try:
            self._files.open_next()
        except OSError as error:
            raise_the_programs(error)
            self._why_closed = error.strerror or str(error)
            return
        self._why_closed = ""
        self._is_cut = self._is_failing = False

    def _rotate_if_due(self) -> None:
        """Begin the next file; where none can be made, the present one goes on beyond its bound."""
        if not 0 < self._max_bytes < self._files.n_body_bytes or time.monotonic() < self._rotate_at_s:
            return
        present = self.file.fd
        self._look()
        if self.file.fd != present:  # it was removed: there is another already
            return
        try:
            self._files.open_next()
            self._rotate_at_s = 0.0
        except OSError as error:
            raise_the_programs(error)
            self._rotate_at_s = time.monotonic() + _LOOK_EVERY_S
            self._warn(
                f"{self.path} cannot be followed by another file ({error.strerror or error}); it goes on beyond "
                "max_file_mb, as long as it can be written"
            )

    def close(self) -> None:
        """Close the file, unless its number has become somebody else's; later writes are counted as lost."""
        while self._waiting and self._write_what_waits():
            pass
        with self._lock:
            self.is_closing = self._is_told = True
            self.file.is_smooth = False
            if not self.file.is_busy:  # else it is closed by the call further out that is writing
                self._files.close()

    def abandon(self) -> None:
        """In a forked child: let go of the parent's file, whose lock another thread may have held at the fork."""
        self.is_closing = self._is_abandoned = True
        self.file.is_smooth = False
        self._files.close()

    def __del__(self) -> None:
        if hasattr(self, "_files"):
            self._files.close()
