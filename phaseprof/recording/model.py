"""The model of one process's recording: built record by record, live in memory or offline from a file.

Both sides call :meth:`ProcessRun.add` with the same records, so a report made in the process and one made from its
folder on another machine read the same numbers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from phaseprof.recording import format as fmt
from phaseprof.recording.folding import (
    ANY_STATM,
    BUSY,
    CHARGED,
    OUTSIDE,
    PROCESS_METRICS,
    Batch,
    PhaseTotals,
    PointFolder,
    columns_of,
    point_name,
    read_batch,
    series_of,
)
from phaseprof.recording.nesting import TAKEN_OVER
from phaseprof.recording.series import Series, Sums, is_rising
from phaseprof.records import is_own_name

__all__ = [
    "BUSY", "CHARGED", "COUNTED", "OUTSIDE", "PROCESS_METRICS", "Generation", "PhaseTotals", "ProcessRun", "point_name",
]  # fmt: skip
# What changed while visits of phases were only counted: each may have brought it, or none.
COUNTED = "(visits only counted)"

T = TypeVar("T")
MAX_NOTES = 1000
MAX_GENERATIONS = 20_000
MAX_EVENTS = 5000  # violations, snapshots and the like: the first and the newest are kept
_BATCH = 65_536  # points folded at once: enough that the fixed costs of a thousand threads vanish, and 15 MiB


@dataclass
class Generation:
    """One turn of the outer loop; ``seconds`` and ``items`` are ``None`` until it ends, or if not said."""

    ordinal: int
    index: int | str
    implied: bool
    began_ns: int
    seconds: float | None = None
    items: float | None = None


class ProcessRun:
    """All that one process recorded, reduced to series as it arrives.

    Attributes:
        series: (point name, metric) to its series; points are never mixed.
        first_counts: (point name, metric) to generation and count of types whose count never changed.
        charges: (phase label, metric) to the change in each generation while it was the innermost phase; under
            ``BUSY``, the time in it.
        counted: label number to its visits that were only counted, generations among them.
        counted_items: (generation, items) of work that generations did which were only counted, up to that one.
        looks: the newest look by place at all of the heap (``True``), and without what only libraries hold (``False``);
            of those after which the heap grew, if it ever did.
        packages: those of the program's own types, as far as it is known: no library's, nor Python's.
    """

    def __init__(self) -> None:
        self.header: fmt.Header | None = None
        self.labels: dict[int, fmt.Label] = {}
        self.generations: list[Generation] = []
        self.series: dict[tuple[str, str], Series] = {}
        self.charges: dict[tuple[str, str], Sums] = {}
        self.first_counts: dict[tuple[str, str], tuple[int, float]] = {}
        self.phases: dict[str, PhaseTotals] = {}
        self.counted: dict[int, int] = {}
        self.counted_items: list[tuple[int, float]] = []
        self.watches: dict[str, fmt.Watch] = {}
        self.violations: list[fmt.Violation] = []
        self.births: list[fmt.Births] = []
        self.holders: list[fmt.Holder] = []
        self._looks: dict[bool, fmt.Places] = {}
        self._looks_before: dict[bool, fmt.Places] = {}
        self.sites: list[fmt.Sites] = []
        self.large: fmt.Large | None = None
        self.snapshots: list[fmt.SnapshotTaken] = []
        self.cost: fmt.Cost | None = None
        self.notes: list[str] = []
        self.dying: list[fmt.Dying] = []
        self.packages = {"__main__"}
        self.ended: fmt.End | None = None
        self.n_records = 0
        self.last_ns = 0
        self.last_ordinal = -1
        self._pending: list[fmt.Point] = []
        self._folder = PointFolder(self.labels, self.series, self.charges, self.phases)

    @property
    def looks(self) -> dict[bool, fmt.Places]:
        """The newest look by place of each kind; the one before it where the program is done with what that shows.

        Example: a trainer that a function's local held until the function returned, and the last look is made after it.
        """
        looks = self._looks.copy()
        for libraries, before in self._looks_before.items():
            newest = looks[libraries]
            if newest.g == self.last_ordinal and newest.since <= before.since and newest.bytes < before.bytes / 2:
                looks[libraries] = before
        return looks

    @property
    def places(self) -> fmt.Places | None:
        """The newest look by place at all of the heap; where there is none, at what the program itself reaches."""
        return self.looks.get(True) or self.looks.get(False)

    @property
    def has_generations(self) -> bool:
        """Whether it recorded any generation."""
        return bool(self.generations)

    def add(self, record: fmt.Record) -> None:
        """Take in one record; unknown labels are tolerated, since a file may begin in the middle of a run."""
        self.extend((record,))

    def extend(self, records: Sequence[fmt.Record]) -> None:
        """Take in many records, in order."""
        self.n_records += len(records)
        pending, keep = self._pending, _KEEP
        metrics: list[fmt.Metrics] = []
        for record in records:
            kind = type(record)
            if kind is fmt.Point:
                pending.append(record)  # type: ignore[arg-type]  # the type was compared
            elif kind is fmt.Metrics:
                metrics.append(record)  # type: ignore[arg-type]
            elif kind in keep:
                keep[kind](self, record)
            else:
                self._add_metrics(metrics)
                self._add_plain(record)
        self._add_metrics(metrics)
        if len(pending) >= _BATCH:
            self.fold()

    def take(self, fields: Sequence[Any]) -> None:
        """Take in points that were recorded in this process: the fields of each row after those of the one before."""
        if fields:
            self.take_read(self.read(fields))

    def read(self, fields: Sequence[Any]) -> Batch:
        """Read what ``take`` takes in, and change nothing yet."""
        return read_batch(columns_of(fields), self._page_bytes)

    def take_read(self, batch: Batch) -> None:
        """Take in what was read."""
        self.n_records += len(batch.ids)
        self.last_ns = max(self.last_ns, int(batch.rows.times[-1]))
        self.fold()  # a thread's change may wait
        self._folder.take(batch)

    def _add_plain(self, record: fmt.Record) -> None:
        if isinstance(record, fmt.Violation):
            _append(self.violations, record)
        elif isinstance(record, fmt.Births):
            _append(self.births, record)
        elif isinstance(record, fmt.Holder):
            _append(self.holders, record)
        elif isinstance(record, fmt.Places):
            self._add_look(record)
        elif isinstance(record, fmt.Large):
            self.large = record
        elif isinstance(record, fmt.SnapshotTaken):
            self.fold()
            _append(self.snapshots, record)
        elif isinstance(record, fmt.Watch):
            self.watches[record.name] = record
        elif isinstance(record, fmt.End):
            self.ended = record

    def _add_look(self, record: fmt.Places) -> None:
        """Keep the newest look; where the heap became smaller, the program has dropped what the one before shows."""
        kept = self._looks.get(record.libraries)
        if kept is not None and record.bytes <= 0 < kept.bytes and kept.since < kept.g:
            return
        self._looks[record.libraries] = record
        if kept is not None and kept.since < kept.g < record.g:
            self._looks_before[record.libraries] = kept

    def _add_header(self, record: fmt.Header) -> None:
        if self.header is None:  # a rotated part repeats it
            self.header = record

    def _add_label(self, record: fmt.Label) -> None:
        self.labels[record.id] = record

    def _add_begin(self, record: fmt.GenerationBegin) -> None:
        self.last_ordinal = max(self.last_ordinal, record.g)
        self.generations.append(Generation(record.g, record.index, record.implied, record.t))
        if len(self.generations) > MAX_GENERATIONS:
            # The older a turn, the wider it is apart from its neighbours: bounded, with the newest complete.
            self.generations[:-8] = self.generations[:-8:2]

    def _add_end(self, record: fmt.GenerationEnd) -> None:
        for generation in reversed(self.generations[-8:]):
            if generation.ordinal == record.g:
                generation.seconds = record.seconds
                generation.items = None if record.items < 0 else record.items
                return

    def _add_metrics(self, records: list[fmt.Metrics]) -> None:
        """Take in what was read once a generation and clear the list; many records of the same metrics at once."""
        for alike in _alike(records) if len(records) > 1 else [records]:
            for record in alike[:2]:  # a count has a series from its second reading on
                self._add_figures(record)
            rest = alike[2:]
            if rest:
                at, generations = rest[0].at, [record.g for record in rest]
                columns, rises = zip(*(record.v.values() for record in rest), strict=True), is_rising(generations)
                for metric, values in zip(rest[0].v, columns, strict=True):
                    self.series[at, metric].extend(generations, values, rises)
                self.last_ns = max(self.last_ns, *(record.t for record in rest))
        records.clear()

    def _add_figures(self, record: fmt.Metrics) -> None:
        self.last_ns = max(self.last_ns, record.t)
        known, at, generation = self.series, record.at, record.g
        for metric, value in record.v.items():
            series = known.get((at, metric))
            if series is not None:
                series.put(generation, value)
            elif metric.startswith("count/"):
                self._add_count(at, metric, generation, value)
            else:
                self._series(at, metric).put(generation, value)
                if metric.startswith("watched/"):  # an imported log has counts without saying what was watched
                    name = metric.removeprefix("watched/")
                    self.watches.setdefault(name, fmt.Watch(name))

    def _add_count(self, at: str, metric: str, generation: int, value: float) -> None:
        """Begin a series only of types whose count has changed: a program has thousands, and most stay as they are."""
        key = (at, metric)
        if key not in self.first_counts:
            self.first_counts[key] = (generation, value)
        else:
            series = self._series(at, metric)
            series.put(*self.first_counts.pop(key))
            series.put(generation, value)

    def _add_cost(self, record: fmt.Cost) -> None:
        self.cost = record

    def _add_note(self, record: fmt.Note) -> None:
        self.note(record.text)

    def note(self, text: str) -> None:
        """Keep a sentence for whoever reads the recording."""
        if len(self.notes) < MAX_NOTES:
            self.notes.append(text)

    def _add_dying(self, record: fmt.Dying) -> None:
        _append(self.dying, record)

    def _add_program(self, record: fmt.Program) -> None:
        self.packages.update(record.packages)

    def is_own(self, type_name: str) -> bool:
        """Whether a type, by its qualified name, is one of the program's own: none of a library, nor of Python."""
        return type_name.partition(".")[0] in self.packages and not is_own_name(type_name)

    def _add_sites(self, record: fmt.Sites) -> None:
        _append(self.sites, record)

    def _add_thread(self, record: fmt.Thread) -> None:
        """Let it wait in its place among the points: to fold for each would cost what thousands of points do."""
        self._pending.append(fmt.Point(record.t, -1, TAKEN_OVER, -1, ANY_STATM, th=record.th))

    def number_of(self, ordinal: int) -> int | str:
        """The number or name that the program gave a generation; its ordinal where it gave none.

        One that was only counted has the number that counting on from the one before it gives.
        """
        at = bisect_right(self.generations, ordinal, key=lambda generation: generation.ordinal) - 1
        found = self.generations[at] if at >= 0 else None
        if found is None or found.index == "":
            return ordinal
        if found.ordinal == ordinal:
            return found.index
        return found.index + ordinal - found.ordinal if isinstance(found.index, int) else ordinal

    def _add_visits(self, record: fmt.Visits) -> None:
        self.last_ns = max(self.last_ns, record.t)
        self.last_ordinal = max(self.last_ordinal, record.g)
        for number, n in record.n.items():
            label = self.labels.get(number)
            if label is None or n < 0:
                continue
            self.counted[number] = self.counted.get(number, 0) + n
            if label.role == "generation" and record.items.get(number, -1.0) >= 0:
                self.counted_items.append((record.g, record.items[number]))
            if label.role in ("phase", "block"):
                self.phases.setdefault(label.name, PhaseTotals()).visits += n

        if len(self.counted_items) > MAX_GENERATIONS and len(self.counted_items) % 2 == 0:
            pairs = zip(self.counted_items[::2], self.counted_items[1::2], strict=False)
            self.counted_items = [(later[0], earlier[1] + later[1]) for earlier, later in pairs]

    def n_passed(self, checkpoint: str) -> int:
        """How often a checkpoint was passed, recorded or only counted."""
        numbers = [n for n, label in self.labels.items() if label.role == "checkpoint" and label.name == checkpoint]
        return sum(self._folder.passed.get(n, 0) + self.counted.get(n, 0) for n in numbers)

    def charges_of(self, metric: str) -> dict[str, Sums]:
        """Return by phase what a metric changed by while it was the innermost.

        In generations in which phases were entered and none of their visits recorded, the change lies under
        ``COUNTED``: it may be theirs or nobody's.
        """
        found = {phase: sums for (phase, name), sums in self.charges.items() if name == metric and len(sums)}
        outside = found.get(OUTSIDE)
        if outside is None or not any(self._is_phase(number) for number in self.counted):
            return found
        recorded = {g for phase, sums in found.items() if phase != OUTSIDE for g in sums.generations}
        found |= {name: Sums(outside.stride) for name in (OUTSIDE, COUNTED)}
        for g, change in outside:
            found[OUTSIDE if g in recorded or g < 0 else COUNTED].put(g, change)
        return {phase: sums for phase, sums in found.items() if len(sums)}

    def _is_phase(self, number: int) -> bool:
        return number in self.labels and self.labels[number].role in ("phase", "block")

    def _series(self, point: str, metric: str) -> Series:
        return series_of(self.series, point, metric, Series)

    def fold(self) -> None:
        """Reduce the points that wait: last reading of each point per generation, and charges per phase."""
        points = self._pending
        if points:
            fields = (
                [p.t for p in points],
                [p.a for p in points],
                [p.e for p in points],
                [p.g for p in points],
                [p.m for p in points],
                [p.d or None for p in points],
                [p.n for p in points],
                [p.th for p in points],
            )
            self.last_ns = max(self.last_ns, points[-1].t)
            points.clear()
            self._folder.fold_columns(fields, self._page_bytes)

    def forget_open(self) -> None:
        """Forget which phases are open: what follows begins outside of all."""
        self._folder.forget_open()

    @property
    def _page_bytes(self) -> int:
        return self.header.page_bytes if self.header else 4096

    @property
    def around(self) -> dict[str, str]:
        """For each phase, block or checkpoint, the phase in which it was passed first, if any."""
        pairs = ((label, self.labels.get(label.parent)) for label in self.labels.values())
        return {label.name: outer.name for label, outer in pairs if outer is not None and outer.name != label.name}

    def comes_again(self, phase: str, after_ns: int) -> bool:
        """Whether a phase began later than that."""
        self.fold()
        begins = self._folder.last_begin
        return any(begins.get(n, 0) > after_ns for n, label in self.labels.items() if label.name == phase)

    @property
    def open_phase(self) -> str | None:
        """The innermost recorded phase that the main thread had not left at the last boundary."""
        self.fold()
        return self._folder.open_phase()

    @property
    def phase_names(self) -> list[str]:
        """Labels of phases and blocks in the order of their first use."""
        return [label.name for label in self.labels.values() if label.role in ("phase", "block")]


def _alike(records: Sequence[fmt.Metrics]) -> Iterator[list[fmt.Metrics]]:
    """Cut records into stretches in which each has the same metrics at the same point as the one before."""
    alike: list[fmt.Metrics] = []
    newest: tuple[str, tuple[str, ...]] | None = None
    for record in records:
        key = (record.at, tuple(record.v))
        if key != newest and alike:
            yield alike
            alike = []
        newest = key
        alike.append(record)
    yield alike


# By kind, for those of which there are many; not in each object, which would then wait for the collector.
_KEEP: dict[type, Callable[[ProcessRun, Any], None]] = {
    fmt.Header: ProcessRun._add_header, fmt.Label: ProcessRun._add_label, fmt.GenerationBegin: ProcessRun._add_begin,
    fmt.GenerationEnd: ProcessRun._add_end, fmt.Note: ProcessRun._add_note, fmt.Thread: ProcessRun._add_thread,
    fmt.Visits: ProcessRun._add_visits, fmt.Cost: ProcessRun._add_cost, fmt.Dying: ProcessRun._add_dying,
    fmt.Program: ProcessRun._add_program,
    fmt.Sites: ProcessRun._add_sites,
}  # fmt: skip


def _append(events: list[T], event: T) -> None:
    events.append(event)
    if len(events) > MAX_EVENTS:
        del events[MAX_EVENTS // 4 : MAX_EVENTS // 2]
