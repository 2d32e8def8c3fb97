"""Turns boundaries into records: the hot path of every phase and checkpoint.

A boundary is read, written to the file in one ``write``, and kept for the model, which takes in what waits at the end
of a generation.  Nothing here may raise into the training program, and nothing holds a user's object.
"""

from __future__ import annotations

import os
import platform
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from phaseprof._version import __version__
from phaseprof.errors import ProbeUnavailable
from phaseprof.live.settings import Settings
from phaseprof.probes.process import StatmProbe, open_process_probe
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.writer import RecordWriter

MAX_LABELS = 2000
OVERFLOW = "(more labels)"
_MAX_PENDING = 8192
_POINT_LINE = b'{"k":"p","t":%d,"a":%d,"e":%d,"g":%d,"m":"%b"}\n'
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


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
        self.n_points = 0
        self._settings = settings
        self._clock = clock
        self._warn = warn
        self._labels: dict[tuple[str, str], int] = {}
        self._lock = threading.Lock()
        self._pending: list[tuple[int, int, int, int, bytes, int, Mapping[str, list[int]] | None, float]] = []
        self._lanes = {threading.get_ident(): 0}
        self.read_devices: DeviceReader | None = None
        self._read_raw = self._open_process()
        self._writer: RecordWriter | None = None
        self._open(settings, lazy)

    def _open(self, settings: Settings, lazy: bool) -> None:
        header = make_header(settings, self._clock())
        self._header_line = fmt.encode(header) + b"\n"
        self.model.add(header)
        if settings.run is not None:
            limit = None if settings.max_file_mb is None else int(settings.max_file_mb * 1e6)
            name = f"rank{header.rank}-pid{header.pid}"
            self._writer = RecordWriter(Path(settings.run), name, self._preamble, max_file_bytes=limit, lazy=lazy)

    def _preamble(self) -> bytes:
        labels = b"".join(fmt.encode(label) + b"\n" for label in self.model.labels.values())
        watches = b"".join(fmt.encode(watch) + b"\n" for watch in self.model.watches.values())
        return self._header_line + labels + watches

    def _open_process(self) -> Callable[[], bytes]:
        try:
            probe = open_process_probe()
        except ProbeUnavailable as error:
            self._warn(f"process memory is not measured: {error}")
            return lambda: b""
        if isinstance(probe, StatmProbe):
            return probe.read_raw

        def read_through_psutil() -> bytes:
            figures = probe.read()
            shared = figures.get("file_and_shm_bytes")
            text = f"{figures['vms_bytes'] // _PAGE_BYTES} {figures['rss_bytes'] // _PAGE_BYTES}"
            return (text if shared is None else f"{text} {shared // _PAGE_BYTES}").encode() + b"\n"

        return read_through_psutil

    @property
    def folder(self) -> Path | None:
        """The run's folder, if it is written to one."""
        return self._writer.folder if self._writer else None

    def label(self, name: str, role: str) -> int:
        """Return the number of a label, declaring it at first sight; at most ``MAX_LABELS`` different ones are kept."""
        key = (name, role)
        found = self._labels.get(key)
        if found is not None:
            return found
        with self._lock:
            if key in self._labels:
                return self._labels[key]
            if len(self._labels) >= MAX_LABELS and name != OVERFLOW:
                overflow = (OVERFLOW, role)
                if overflow in self._labels:
                    return self._labels[overflow]
                self._warn(
                    f"more than {MAX_LABELS} different labels were used; the rest are recorded as {OVERFLOW!r}: "
                    "put what changes (a step number) into generation(), not into labels"
                )
                key = overflow
            number = len(self._labels)
            self._labels[key] = number
        self.add(fmt.Label(number, key[0], role))
        return number

    def point(self, label: int, edge: int, items: float = -1.0) -> None:
        """Record one boundary now.

        Cost: 3.5 µs written to a file, without an accelerator (two shared EPYC cores, Python 3.11).
        """
        now = self._clock()
        try:
            raw = self._read_raw()
        except ProbeUnavailable as error:
            raw = b""
            self._read_raw = lambda: b""
            self._warn(f"process memory is not measured any more: {error}")
        devices = self.read_devices() if self.read_devices is not None else None
        ident = threading.get_ident()
        lane = self._lanes.get(ident)
        if lane is None:
            lane = self._lanes[ident] = len(self._lanes)
        generation = self.generation
        self.n_points += 1
        pending = self._pending
        pending.append((now, label, edge, generation, raw, lane, devices, items))
        writer = self._writer
        if writer is not None:
            if devices or lane or items >= 0:
                writer.write(fmt.encode(_as_point(pending[-1])) + b"\n")
            else:
                writer.write(_POINT_LINE % (now, label, edge, generation, raw[:-1]))
        if len(pending) > _MAX_PENDING:
            self.fold()

    def add(self, record: fmt.Record) -> None:
        """Write a record that is not a point, and take it into the model."""
        with self._lock:
            self.model.add(record)
        if self._writer is not None:
            self._writer.write(fmt.encode(record) + b"\n")

    def note(self, text: str) -> None:
        """Record a sentence that a reader of the recording must know."""
        self.add(fmt.Note(self._clock(), text))

    def fold(self) -> None:
        """Let the model take in the points that wait."""
        with self._lock:
            waiting, self._pending = self._pending, []
            for entry in waiting:
                self.model.add(_as_point(entry))
            self.model.fold()

    def check_file(self) -> None:
        """Between generations: tell of lost records, and open a new file if the old one was removed."""
        writer = self._writer
        if writer is None:
            return
        if writer.is_gone():
            if not writer.reopen():
                return
            self.note("the recording's file was removed or closed; what was written before may be missing")
        losses = writer.take_losses()
        if losses:
            self.note(losses)

    def close(self, reason: str) -> None:
        """Write the end of the recording and close its file."""
        self.fold()
        self.check_file()
        self.add(fmt.End(self._clock(), reason))
        if self._writer is not None:
            self._writer.close()


def _as_point(entry: tuple[int, int, int, int, bytes, int, Mapping[str, list[int]] | None, float]) -> fmt.Point:
    now, label, edge, generation, raw, lane, devices, items = entry
    text = raw[:-1].decode("ascii", "replace")
    return fmt.Point(now, label, edge, generation, text, dict(devices or {}), items, lane)


def make_header(settings: Settings, now_ns: int) -> fmt.Header:
    """Describe this process: rank from the launcher's environment, versions without importing anything."""
    torch = sys.modules.get("torch")
    shown = {name: str(getattr(settings, name)) for name in ("budget", "leak_threshold_mb", "track_every")}
    return fmt.Header(
        format=fmt.FORMAT_VERSION, phaseprof=__version__, pid=os.getpid(), parent_pid=os.getppid(),
        started_unix_s=time.time(), started_ns=now_ns, page_bytes=_PAGE_BYTES,
        rank=_whole("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"), local_rank=_whole("LOCAL_RANK", "SLURM_LOCALID"),
        world_size=_whole("WORLD_SIZE", "SLURM_NTASKS", default=1), host=socket.gethostname(), argv=list(sys.argv),
        python=platform.python_version(), torch=str(getattr(torch, "__version__", "")), platform=platform.platform(),
        git_commit=_git_commit() if settings.run is not None else "", settings=shown,
    )  # fmt: skip


def _whole(*names: str, default: int = 0) -> int:
    for name in names:
        text = os.environ.get(name, "")
        if text.isdigit():
            return int(text)
    return default


def _git_commit() -> str:
    """The commit the program runs from, read once at the start of a recording; empty where git cannot say."""
    try:
        command = ["git", "rev-parse", "--short=12", "HEAD"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=2, check=False)  # noqa: S603 - a fixed command
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
