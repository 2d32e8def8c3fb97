"""The model of one process's recording: built record by record, live in memory or offline from a file.

Both sides call :meth:`ProcessRun.add` with the same records, so a report made in the process and one made from its
folder on another machine read the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from phaseprof.recording import format as fmt
from phaseprof.recording.series import Series

PROCESS_METRICS = ("vms_bytes", "rss_bytes", "file_and_shm_bytes", "anonymous_bytes")
OUTSIDE = "(outside phases)"
# The counters whose deltas are charged to phases.
CHARGED = ("anonymous_bytes", "allocated_bytes", "active_bytes", "active_blocks")
MAX_NOTES = 1000


@dataclass
class Generation:
    """One turn of the outer loop; ``seconds`` and ``items`` are ``None`` until it ends, or if not said."""

    ordinal: int
    index: int | str
    implied: bool
    began_ns: int
    seconds: float | None = None
    items: float | None = None


@dataclass
class PhaseTotals:
    """Visits of one phase and the seconds spent in it."""

    visits: int = 0
    seconds: float = 0.0


@dataclass
class _Thread:
    """Where one thread stands: its open phases as (label id, entered ns), and its last reading."""

    stack: list[tuple[int, int]] = field(default_factory=list)
    last: dict[str, float] = field(default_factory=dict)


def point_name(label: str, edge: int, role: str) -> str:
    """Name the point of a boundary: ``after train`` at a phase's exit, ``train: start`` at its entry."""
    if role == "generation":
        return "generation start" if edge == fmt.ENTER else "generation end"
    if edge == fmt.ENTER:
        return f"{label}: start"
    return f"after {label}" if edge == fmt.EXIT else label


class ProcessRun:
    """All that one process recorded, reduced to series as it arrives.

    Attributes:
        series: (point name, metric) to its series; points are never mixed.
        first_counts: (point name, metric) to generation and count of types whose count never changed.
        charges: (phase label, metric) to the change per generation that happened while it was the innermost phase.
    """

    def __init__(self) -> None:
        self.header: fmt.Header | None = None
        self.labels: dict[int, fmt.Label] = {}
        self.generations: list[Generation] = []
        self.series: dict[tuple[str, str], Series] = {}
        self.charges: dict[tuple[str, str], Series] = {}
        self.first_counts: dict[tuple[str, str], tuple[int, float]] = {}
        self.phases: dict[str, PhaseTotals] = {}
        self.watches: dict[str, fmt.Watch] = {}
        self.violations: list[fmt.Violation] = []
        self.births: list[fmt.Births] = []
        self.holders: list[fmt.Holder] = []
        self.collected: list[fmt.Collected] = []
        self.large: fmt.Large | None = None
        self.snapshots: list[fmt.SnapshotTaken] = []
        self.cost: fmt.Cost | None = None
        self.notes: list[str] = []
        self.ended: fmt.End | None = None
        self.n_records = 0
        self.last_ns = 0
        self._pending: list[fmt.Point] = []
        self._threads: dict[int, _Thread] = {}
        self._keep = {
            fmt.Header: self._add_header, fmt.Label: self._add_label, fmt.GenerationBegin: self._add_begin,
            fmt.GenerationEnd: self._add_end, fmt.Metrics: self._add_metrics, fmt.Watch: self._add_watch,
            fmt.Note: self._add_note,
        }  # fmt: skip

    def add(self, record: fmt.Record) -> None:
        """Take in one record; unknown labels are tolerated, since a file may begin in the middle of a run."""
        self.n_records += 1
        kind = type(record)
        if kind is fmt.Point:
            self._pending.append(record)  # type: ignore[arg-type]  # the line above is the check
            if len(self._pending) >= 8192:
                self.fold()
            return
        keep = self._keep.get(kind)
        if keep is not None:
            keep(record)  # type: ignore[operator]  # the table maps each kind to its own method
        else:
            self._add_plain(record)

    def _add_plain(self, record: fmt.Record) -> None:
        if isinstance(record, fmt.Violation):
            self.violations.append(record)
        elif isinstance(record, fmt.Births):
            self.births.append(record)
        elif isinstance(record, fmt.Holder):
            self.holders.append(record)
        elif isinstance(record, fmt.Collected):
            self.collected.append(record)
        elif isinstance(record, fmt.Large):
            self.large = record
        elif isinstance(record, fmt.SnapshotTaken):
            self.fold()
            self.snapshots.append(record)
        elif isinstance(record, fmt.Cost):
            self.cost = record
        elif isinstance(record, fmt.End):
            self.ended = record

    def _add_header(self, record: fmt.Header) -> None:
        if self.header is None:  # a rotated part repeats it
            self.header = record

    def _add_label(self, record: fmt.Label) -> None:
        self.labels[record.id] = record

    def _add_begin(self, record: fmt.GenerationBegin) -> None:
        self.generations.append(Generation(record.g, record.index, record.implied, record.t))

    def _add_end(self, record: fmt.GenerationEnd) -> None:
        for generation in reversed(self.generations[-8:]):
            if generation.ordinal == record.g:
                generation.seconds = record.seconds
                generation.items = None if record.items < 0 else record.items
                return

    def _add_metrics(self, record: fmt.Metrics) -> None:
        self.last_ns = max(self.last_ns, record.t)
        for metric, value in record.v.items():
            if metric.startswith("count/"):
                self._add_count(record.at, metric, record.g, value)
            else:
                self._series(record.at, metric).put(record.g, value)

    def _add_count(self, at: str, metric: str, generation: int, value: float) -> None:
        """Keep a series only of types whose count has changed: a program has thousands, and most stay as they are."""
        key = (at, metric)
        if key in self.series:
            self.series[key].put(generation, value)
        elif key not in self.first_counts:
            self.first_counts[key] = (generation, value)
        else:
            series = self._series(at, metric)
            series.put(*self.first_counts.pop(key))
            series.put(generation, value)

    def _add_watch(self, record: fmt.Watch) -> None:
        self.watches[record.name] = record

    def _add_note(self, record: fmt.Note) -> None:
        if len(self.notes) < MAX_NOTES:
            self.notes.append(record.text)

    def _series(self, point: str, metric: str) -> Series:
        key = (point, metric)
        found = self.series.get(key)
        if found is None:
            found = self.series[key] = Series()
        return found

    def fold(self) -> None:
        """Reduce the points that wait: last reading of each point per generation, and charges per phase."""
        points, self._pending = self._pending, []
        if not points:
            return
        self.last_ns = max(self.last_ns, points[-1].t)
        page = self.header.page_bytes if self.header else 4096
        for point, process in zip(points, parse_statm([p.m for p in points], page), strict=True):
            reading: dict[str, float] = dict(zip(PROCESS_METRICS, process, strict=True)) if process else {}
            for device, counters in point.d.items():
                for name, value in zip(fmt.DEVICE_COUNTERS, counters, strict=False):
                    if value >= 0:
                        reading[f"{device}/{name}"] = value
            self._fold_one(point, reading)

    def _fold_one(self, point: fmt.Point, reading: dict[str, float]) -> None:
        label = self.labels.get(point.a)
        name, role = (label.name, label.role) if label else (f"label {point.a}", "checkpoint")
        thread = self._threads.get(point.th)
        if thread is None:
            thread = self._threads[point.th] = _Thread()
        if role != "sample":
            self._charge(point, name, thread, reading)
        at = point_name(name, point.e, role)
        for metric, value in reading.items():
            self._series(at, metric).put(point.g, value)

    def _charge(self, point: fmt.Point, name: str, thread: _Thread, reading: dict[str, float]) -> None:
        """Charge what changed since this thread's last boundary to the innermost phase that was open, then move on."""
        stack = thread.stack
        if stack:
            open_label = self.labels.get(stack[-1][0])
            owner = open_label.name if open_label else name
        else:
            owner = name if point.e == fmt.POINT else OUTSIDE
        for metric, value in reading.items():
            if metric.rpartition("/")[2] in CHARGED and metric in thread.last:
                key = (owner, metric)
                series = self.charges.get(key)
                if series is None:
                    series = self.charges[key] = Series()
                series.add(point.g, value - thread.last[metric])
        thread.last = reading
        label = self.labels.get(point.a)
        if label is None or label.role == "generation":
            return
        if point.e == fmt.ENTER:
            stack.append((point.a, point.t))
        elif point.e == fmt.EXIT:
            self._leave(point, name, stack)

    def _leave(self, point: fmt.Point, name: str, stack: list[tuple[int, int]]) -> None:
        for depth in range(len(stack) - 1, -1, -1):
            if stack[depth][0] == point.a:
                totals = self.phases.setdefault(name, PhaseTotals())
                totals.visits += 1
                totals.seconds += (point.t - stack[depth][1]) / 1e9
                del stack[depth:]
                return

    @property
    def phase_names(self) -> list[str]:
        """Labels of phases and blocks in the order of their first use."""
        return [label.name for label in self.labels.values() if label.role in ("phase", "block")]


def parse_statm(texts: Sequence[str], page_bytes: int) -> list[tuple[int, int, int, int] | None]:
    """Turn raw ``statm`` texts into (vms, rss, file and shared, anonymous) bytes; ``None`` where nothing was read.

    Cost: about 0.7 µs a text, since numbers are converted in one go.
    """
    rows = [text.split()[:3] for text in texts]
    whole = [len(row) == 3 for row in rows]
    numbers = np.fromiter(map(int, chain.from_iterable(r for r, ok in zip(rows, whole, strict=True) if ok)), np.int64)
    table = (numbers.reshape(-1, 3) * page_bytes).tolist()
    results: list[tuple[int, int, int, int] | None] = []
    at = 0
    for ok in whole:
        if ok:
            vms, rss, shared = table[at]
            results.append((vms, rss, shared, rss - shared))
            at += 1
        else:
            results.append(None)
    return results
