"""Turns boundaries into records: the hot path of every phase and checkpoint.

A boundary is read, written to the file in one ``write``, and kept for the model, which takes in what waits at the end
of a generation.  Nothing here may raise into the training program, and nothing holds a user's object.
"""

from __future__ import annotations

import functools
import itertools
import os
import platform
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import UNSET

from phaseprof._version import __version__
from phaseprof.errors import ProbeUnavailable
from phaseprof.interrupts import raise_the_programs
from phaseprof.live import origin
from phaseprof.live.arguments import not_a_label
from phaseprof.live.settings import Settings
from phaseprof.native.extension import make_open_file
from phaseprof.probes.kept_file import KeptFile
from phaseprof.probes.process import StatmProbe, open_process_probe
from phaseprof.probes.typeinfo import is_a
from phaseprof.recording import format as fmt
from phaseprof.recording.addresses import is_address
from phaseprof.recording.folding import ANY_STATM, N_FIELDS, Row
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.nesting import TAKEN_OVER
from phaseprof.recording.parts import AnyFile, Waiting
from phaseprof.recording.writer import RecordWriter

if TYPE_CHECKING:
    from phaseprof.recording.sending import Staging

MAX_LABELS = 2000
MAX_LABEL_CHARS = 200
MAX_NOTE_CHARS = 2000
OVERFLOW = "(more labels)"
_MAX_PENDING = 4096 * N_FIELDS
_STATM_BYTES = 160  # seven 64-bit numbers in decimal need at most 147
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_LINE_HEAD = b'{"k":"p","a":%d,"e":%d,"g":%d,"t":'
_LINE = b'%b%d,"m":"%b"}\n'


class DeviceReader(Protocol):
    """Reads the counters of every accelerator in use, in the order of ``DEVICE_COUNTERS``."""

    def __call__(self) -> Mapping[str, list[int]]:
        """Return device name to counters; -1 where one is not measured."""


class Recorder:
    """Writes one process's recording and feeds its model.

    Args:
        settings: where to write, and how much.
        clock: nanoseconds, monotonic; also the clock of every record.
        warn: called with a sentence when something is missing from now on.
        lazy: open the file at the first record.
    """

    def __init__(
        self, settings: Settings, clock: Callable[[], int], warn: Callable[[str], None], *, lazy: bool = False
    ) -> None:
        self.model = ProcessRun()
        self.generation = -1
        self._n_folded = self._n_samples = 0
        self._settings = settings
        self._clock = clock
        self._warn = warn
        self._labels: dict[str, dict[str, int]] = {}
        # Re-entrant, because a warning that is given under it records a note.
        self._lock = threading.RLock()
        # The fields of one boundary after those of another: no object for each, which the collector would follow.
        self._pending: list[Any] = []
        self._counted: deque[fmt.Visits] = deque()
        self._lanes = Lanes([], itertools.count())
        self._lanes.take()
        self.is_closed = self.has_threads = self._is_folding = False
        self._is_warning_of_file = False
        self.read_devices: DeviceReader | None = None
        self._statm: KeptFile | None = None
        self._read_raw = self._open_process()
        self._writer: RecordWriter | None = None
        self._quick: Callable[[int, int, int, int, int], bool] | None = None
        self._staging: Staging | None = None
        self._open(settings, lazy)

    def _open(self, settings: Settings, lazy: bool) -> None:
        header = make_header(settings, self._clock())
        self._header_line = fmt.encode(header) + b"\n"
        self.model.add(header)
        if settings.run is None:
            self._make_file(None)
        else:
            limit = None if settings.max_file_mb is None else int(settings.max_file_mb * 1e6)
            name = f"rank{header.rank}-pid{header.pid}"
            folder = Path(settings.run)
            if is_address(settings.run):
                from phaseprof.recording.sending import PART_BYTES, Staging  # its modules are for other processes

                self._staging = Staging(settings.run, self._warn)
                folder, limit = self._staging.folder, min(limit or PART_BYTES, PART_BYTES)
            self._writer = RecordWriter(
                folder, name, self._preamble, max_file_bytes=limit, lazy=lazy, listener=self, make_file=self._make_file
            )

    def _make_file(self, waiting: Waiting | None) -> AnyFile | None:
        """Make the open file; where a boundary can be recorded in one call, it does that."""
        file = None if self._statm is None else make_open_file(waiting, self._pending, self._statm.fd)
        self._quick = None if file is None else file.point
        return file

    def _preamble(self) -> bytes:
        """The head of each file: what readers need to know of the files before."""
        if self._staging is not None:
            self._staging.begin()
        records = [*self.model.labels.copy().values(), *self.model.watches.copy().values()]
        return b"".join([self._header_line, *(fmt.encode(record) + b"\n" for record in records)])

    def _open_process(self) -> Callable[[], bytes]:
        try:
            probe = open_process_probe()
        except ProbeUnavailable as error:
            self._warn(f"process memory is not measured: {error}")
            return lambda: b""
        if isinstance(probe, StatmProbe):
            probe.close()
            # Read right where a boundary is recorded: each call between costs a fiftieth of the whole.
            self._statm = KeptFile("/proc/self/statm", per_process=True)
            return lambda: b""

        return probe.read_raw

    @property
    def n_points(self) -> int:
        """How many boundaries were recorded so far."""
        return self._n_folded + len(self._pending) // N_FIELDS

    @property
    def n_boundaries(self) -> int:
        """How many of them the program passed: samples are none."""
        return self.n_points - self._n_samples

    @property
    def n_waiting(self) -> int:
        """How many boundaries the model has not taken in yet."""
        return len(self._pending) // N_FIELDS

    @property
    def folder(self) -> Path | None:
        """The run's folder, if it is written to one."""
        return None if self._settings.run is None else Path(self._settings.run)

    def label(self, name: str, role: str, site: str = "", parent: int = -1) -> int:
        """Return the number of a label, declaring it at first sight; at most ``MAX_LABELS`` different ones are kept.

        Args:
            name: the label.
            role: phase, block, checkpoint, generation or sample.
            site: file and line of the program that it is written in.
            parent: number of the phase or block in which it is passed first, -1 for none.

        Raises:
            UsageError: the name is not a text.
        """
        try:
            return self._labels[role][name]
        except KeyError:
            return self._declare(name, role, site, parent)
        except TypeError:  # it has no hash
            raise not_a_label(name) from None

    def _declare(self, name: str, role: str, site: str, parent: int) -> int:
        if not is_a(name, str):
            raise not_a_label(name)
        with self._lock:
            known = self._labels.setdefault(role, {})
            if name not in known and len(self.model.labels) >= MAX_LABELS:
                self._warn(
                    f"more than {MAX_LABELS} different labels were used; the rest are recorded as {OVERFLOW!r}: "
                    "put what changes (a step number) into generation(), not into labels"
                )
                name, site, parent = OVERFLOW, "", -1
            if name not in known:
                number = len(self.model.labels)
                self.add(fmt.Label(number, name, role, parent, clean_text(site, MAX_NOTE_CHARS)))
                known[name] = number
            return known[name]

    def point(self, label: int, edge: int, items: float = -1.0, now: int = 0) -> None:
        """Record one boundary now; ``now`` spares a look at the clock.

        Cost: 3.5 µs written to a file, 5 µs without the extension or with an accelerator (two EPYC cores, Python 3.11).
        """
        now = now or self._clock()
        try:
            lane = self._lanes.number
        except AttributeError:
            lane = self._take_lane(now)
        quick = self._quick
        if quick is None or items >= 0 or self.read_devices is not None:
            self._record((now, label, edge, self.generation, self._read(), self._devices(), items, lane))
            return
        try:
            if quick(now, label, edge, self.generation, lane):
                self._go_on()
        except OSError as error:
            raise_the_programs(error)
            self._record((now, label, edge, self.generation, self._stop_reading(error), None, items, lane))

    def _go_on(self) -> None:
        """Do what recording a boundary in one call has left to do."""
        if self._writer is not None:
            self._writer.go_on()
        if len(self._pending) > _MAX_PENDING:
            self.fold()

    def _read(self) -> bytes:
        try:
            return os.pread(self._statm.fd, _STATM_BYTES, 0) if self._statm is not None else self._read_raw()
        except (OSError, ProbeUnavailable) as error:
            raise_the_programs(error)
            return self._stop_reading(error)

    def _devices(self) -> Mapping[str, list[int]] | None:
        read_devices = self.read_devices
        return read_devices() if read_devices is not None else None

    def _record(self, row: Row) -> None:
        """Record a boundary step by step."""
        writer = self._writer
        line = b"" if writer is None else fmt.encode(_as_point(row)) + b"\n"
        # Next to each other, so that a signal handler that raises takes it from both or from none.
        self._pending += row
        if writer is None or writer.file.write(line, 1):
            self._go_on()

    def samples(self, label: int, readings: Sequence[tuple[int, bytes]]) -> None:
        """Record readings of process memory that were taken beside the program, each with its time, in one ``write``.

        They are no thread's boundaries, and belong to the generation that is open now.
        """
        generation, devices = self.generation, self._devices()
        rows: list[Row] = [(now, label, fmt.POINT, generation, raw, None, -1.0, 0) for now, raw in readings]
        head = _LINE_HEAD % (label, fmt.POINT, generation)
        lines = [_LINE % (head, now, raw[:-1]) for now, raw in readings]
        if devices:
            rows[-1] = (*rows[-1][:5], devices, -1.0, 0)
            lines[-1] = fmt.encode(_as_point(rows[-1])) + b"\n"
        self._pending += itertools.chain.from_iterable(rows)
        self._n_samples += len(rows)
        if self._writer is not None:
            self._writer.write(b"".join(lines), len(lines))
        if len(self._pending) > _MAX_PENDING:
            self.fold()

    def _stop_reading(self, error: Exception) -> bytes:
        self._close_probe()
        self._warn(f"process memory is no longer measured: {error}")
        return b""

    def _take_lane(self, now: int) -> int:
        """Give a new thread its number; one that is used again must not inherit what its last thread left open."""
        number, is_used = self._lanes.take()
        self.has_threads = True
        if is_used:
            self._take_over(now, number)
        return number

    def _take_over(self, now: int, lane: int) -> None:
        """Record that nothing is open in a lane from here on."""
        line = b"" if self._writer is None else fmt.encode(fmt.Thread(now, lane)) + b"\n"
        # In its place among the boundaries: to take those in for each thread would cost what hundreds of them do.
        self._pending += (now, -1, TAKEN_OVER, -1, ANY_STATM.encode(), None, -1.0, lane)
        if self._writer is not None:
            self._writer.write(line)

    def leave_all(self) -> None:
        """Record that the calling thread has left all phases, since ends of some may be missing."""
        self._take_over(self._clock(), getattr(self._lanes, "number", 0))

    def count(self, record: fmt.Visits) -> None:
        """Write how many visits were only counted; the model takes that in together with the points."""
        self._counted.append(record)
        self._write(record, fmt.encode(record))

    def add(self, record: fmt.Record) -> None:
        """Write a record that is not a point, and take it into the model."""
        record, line = fmt.as_line(record)
        with self._lock:
            self.model.add(record)
        self._write(record, line)

    def _write(self, record: fmt.Record, line: bytes) -> None:
        writer = self._writer
        if writer is None:
            return
        if not writer.is_unopened:
            writer.write(line + b"\n")
        elif type(record) not in (fmt.Label, fmt.Watch):
            # A forked child that never passes a boundary leaves no file behind.
            writer.write_later(line + b"\n")

    def now(self) -> int:
        """The clock of records, ns."""
        return self._clock()

    def note(self, text: str) -> None:
        """Record a sentence that a reader of the recording must know."""
        if self._is_warning_of_file:
            self.model.note(text)  # the file gets a note of its own, with the number that was lost
        else:
            self.add(fmt.Note(self._clock(), clean_text(text, MAX_NOTE_CHARS)))

    def fold(self) -> None:
        """Let the model take in the points that wait."""
        with self._lock:
            if self._is_folding:  # in a signal handler that came in between: what it recorded waits
                return
            try:
                self._is_folding = True
                self._fold()
            finally:
                self._is_folding = False

    def _fold(self) -> None:
        pending = self._pending
        # Threads go on appending to this list; a cut and a deletion are one step each.
        waiting = pending[:]
        n = len(waiting)
        try:
            batch = self.model.read(waiting) if n else None
        except Exception as error:
            raise_the_programs(error)  # nothing was changed: they wait for the next time
            del pending[:n]
            raise
        try:
            del pending[:n]
            self._n_folded += n // N_FIELDS
            if batch is not None:
                self.model.take_read(batch)
            self._take_counted()
        except BaseException:
            self.model.forget_open()
            self.model.note(
                f"up to {n // N_FIELDS} boundaries are missing from the figures of this process, since an exception "
                "was raised while they were added up; a recording on disk has them"
            )
            raise

    def _take_counted(self) -> None:
        while self._counted:
            self.model.add(self._counted.popleft())

    # --- what the writer tells ----------------------------------------------------------------------------------------

    def check_file(self) -> None:
        """Between generations: see whether the file is still there, and open a new one if it is not."""
        if self._writer is not None:
            self._writer.check()

    def encode_note(self, text: str) -> bytes:
        """Return a note as a line."""
        return fmt.encode(fmt.Note(self._clock(), clean_text(text, MAX_NOTE_CHARS))) + b"\n"

    def take_note(self, text: str) -> None:
        """The writer noted lost records in the file: whoever reads the model must know too."""
        self.model.note(text)

    def warn_of_file(self, text: str) -> None:
        """Tell the user at once that records are lost."""
        writer = self._writer
        self._is_warning_of_file = writer is not None and writer.lost > 0
        try:
            self._warn(text)
        finally:
            self._is_warning_of_file = False

    def close(self, reason: str) -> None:
        """Write the end of the recording and close its file; what was interrupted is done by another call."""
        writer = self._writer
        if writer is None or not writer.is_closing:
            self.fold()
            self.check_file()
            # A forked child that recorded nothing leaves no file: there, what is added here waits for one in vain.
            self.add(fmt.End(self._clock(), reason))
        if writer is not None:
            writer.close()
            if writer.lost:
                self.model.note(writer.describe_losses())
            self._writer = None
        if self._staging is not None:
            self._staging.end()
        self._close_probe()
        self.is_closed = True

    def abandon(self) -> None:
        """In a forked child: let go of the parent's file."""
        self.is_closed = True
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.abandon()
        self._close_probe()

    def __del__(self) -> None:
        if getattr(self, "_statm", None) is not None:
            self._close_probe()

    def _close_probe(self) -> None:
        self._read_raw, self._quick = lambda: b"", None
        statm, self._statm = self._statm, None
        if statm is not None:
            statm.close()


class Lanes(threading.local):
    """Small numbers for threads, given back when a thread ends; ``number`` is the calling thread's, once taken."""

    number: int

    def __init__(self, free: list[int], fresh: Iterator[int]) -> None:
        """Called by the library once in each thread, with the same arguments."""
        self._free = free
        self._fresh = fresh

    def take(self) -> tuple[int, bool]:
        """Give the calling thread a number; tell whether another thread had it before."""
        try:
            number, is_used = self._free.pop(), True
        except IndexError:
            number, is_used = next(self._fresh), False
        self.number = number
        self._hold = _Given(number, self._free)
        return number, is_used


class _Given:
    """A thread's hold on its number: it lives in the thread's own storage, and dies with the thread."""

    __slots__ = ("_free", "_number")

    def __init__(self, number: int, free: list[int]) -> None:
        self._number, self._free = number, free

    def __del__(self) -> None:
        self._free.append(self._number)


def _as_point(row: Row) -> fmt.Point:
    now, label, edge, generation, raw, devices, items, lane = row
    text = raw[:-1].decode("ascii", "replace") if isinstance(raw, bytes) else raw
    return fmt.Point(now, label, edge, generation, text, dict(devices) if devices else UNSET, items, lane)


def clean_text(text: str, most: int = MAX_LABEL_CHARS) -> str:
    """Cut a text to a bound, and replace what UTF-8 cannot hold, such as a file name of other bytes."""
    return str.__str__(text)[:most].encode("utf-8", "replace").decode("utf-8")


def make_header(settings: Settings, now_ns: int) -> fmt.Header:
    """Describe this process: rank from the launcher's environment, versions without importing anything."""
    shown = {name: str(getattr(settings, name)) for name in ("budget", "leak_threshold_mb", "track_every")}
    return fmt.Header(
        format=fmt.FORMAT_VERSION, phaseprof=__version__, pid=os.getpid(), parent_pid=os.getppid(),
        started_unix_s=time.time(), started_ns=now_ns, page_bytes=_PAGE_BYTES,
        rank=_whole("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"), local_rank=_whole("LOCAL_RANK", "SLURM_LOCALID"),
        world_size=_whole("WORLD_SIZE", "SLURM_NTASKS", default=1), host=clean_text(socket.gethostname()),
        argv=[clean_text(origin.script_name())], python=platform.python_version(),
        torch=clean_text(origin.loaded_version("torch")), platform=origin.platform_name(),
        git_commit=_commit() if settings.run is not None else "", settings=shown,
    )  # fmt: skip


def _whole(*names: str, default: int = 0) -> int:
    for name in names:
        text = os.environ.get(name, "")
        if text.isascii() and text.isdigit() and len(text) < 10:
            return int(text)
    return default


_commit = functools.cache(origin.git_commit)  # read once in a process and its forks
