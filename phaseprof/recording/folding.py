"""Points to series and charges, many at a time: the arithmetic of the model.

The same rows give the same series and charges however they are cut into batches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar, Union

import numpy as np
import numpy.typing as npt

from phaseprof.recording import format as fmt
from phaseprof.recording.nesting import (
    MOST_STOOD_FOR,
    OUTSIDE_ID,
    TAKEN_OVER,
    Floats,
    Ints,
    OpenVisit,
    Rows,
    Times,
    Walk,
    numbered,
    walk_nested,
)
from phaseprof.recording.series import Series, Sums

OUTSIDE = "(outside phases)"
PROCESS_METRICS = ("vms_bytes", "rss_bytes", "file_and_shm_bytes", "anonymous_bytes")
# The counters whose deltas are charged to phases.
CHARGED = ("anonymous_bytes", "allocated_bytes", "active_bytes", "active_blocks")
BUSY = "busy_ns"  # under which charges hold the time in a phase, what is nested in it included
STATM_FIELDS = 7
_MOST_PAGES = 10**13  # times the largest page, bytes that still fit into 64 bits
ANY_STATM = "0 0 0 0 0 0 0"  # a text like those beside it, so that all are parsed in one go

# Place of a row, weight, and the label of the visit around it.
Scaled = tuple[int, int, int]

AnySeries = TypeVar("AnySeries", bound=Series)
Flags = npt.NDArray[np.bool_]
# The fields of ``fmt.Point`` in their order: t, a, e, g, m (text as read, bytes or str), d, n, th.
Row = tuple[
    int, int, int, int, Union[bytes, str], Union[Mapping[str, list[int]], None], float, int  # noqa: UP007 - for 3.10
]  # fmt: skip


N_FIELDS = 8
# The same fields for many rows.
Fields = tuple[
    Sequence[int],
    Sequence[int],
    Sequence[int],
    Sequence[int],
    Sequence[Union[bytes, str]],  # noqa: UP007 - evaluated at run time on Python 3.10
    Sequence[Union[Mapping[str, list[int]], None]],  # noqa: UP007
    Sequence[float],
    Sequence[int],
]


class Column(NamedTuple):
    """One metric of a batch: ``values`` (n_rows,) int64, ``known`` (n_rows,) where it was read."""

    metric: str
    values: Ints
    known: Flags


@dataclass
class PhaseTotals:
    """Visits of one phase and the time spent in it, in whole nanoseconds so that sums do not depend on their order.

    Attributes:
        visits: all of them, those included that were only counted.
        timed: those that were recorded with beginning and end.
        ns: time spent in these.
        inside: the phases directly around it, ``OUTSIDE`` where there was none.
    """

    visits: int = 0
    timed: int = 0
    ns: int = 0
    inside: set[str] = field(default_factory=set)

    @property
    def seconds(self) -> float:
        """The time spent in it; where visits were only counted, they are taken to be as long as the recorded ones."""
        return self.ns / 1e9 * (self.visits / self.timed) if self.timed else 0.0


@dataclass
class Lane:
    """Where one thread stands.

    Attributes:
        stack: open phases.
        strays: of those, the ones whose outer phase ended first: tasks that run side by side in one thread, or exits
            that were lost.  They are dropped when the next generation begins, so that a lost one costs little.
        last: the newest reading of each charged metric.
        bare: after a checkpoint outside phases, its label, generation and what was charged to it: if it turns out to
            be the head of a block, what happened before it is not the block's.
    """

    stack: list[OpenVisit] = field(default_factory=list)
    strays: set[OpenVisit] = field(default_factory=set)
    generation: int = -1
    last: dict[str, int] = field(default_factory=dict)
    bare: tuple[int, int, dict[str, float]] | None = None


@dataclass
class _Sums:
    """What one batch charges: owners by number, and for each metric (owner, generation, delta) of every thread."""

    names: dict[str, int] = field(default_factory=dict)
    parts: dict[str, list[tuple[Ints, Ints, Ints]]] = field(default_factory=dict)

    def number_of(self, name: str) -> int:
        return self.names.setdefault(name, len(self.names))


class Batch(NamedTuple):
    """Rows that were read and wait to be taken in; ``ids`` and ``lanes`` are those of each."""

    rows: Rows
    columns: list[Column]
    ids: Sequence[int]
    lanes: Sequence[int]


class PointFolder:
    """Reduces rows to series by point, charges by phase, and totals by phase, all in the caller's own dicts.

    Attributes:
        passed: label number of a checkpoint to how often it was recorded.
        last_begin: label number to when its newest visit began.
    """

    def __init__(
        self,
        labels: Mapping[int, fmt.Label],
        series: dict[tuple[str, str], Series],
        charges: dict[tuple[str, str], Sums],
        phases: dict[str, PhaseTotals],
    ) -> None:
        self._labels = labels
        self._series = series
        self._charges = charges
        self._phases = phases
        self._lanes: dict[int, Lane] = {}
        self.passed: dict[int, int] = {}
        self.last_begin: dict[int, int] = {}

    def fold_columns(self, fields: Fields, page_bytes: int) -> None:
        """Read and take in the fields of many rows."""
        self.take(read_batch(fields, page_bytes))

    def take(self, batch: Batch) -> None:
        """Take in rows in the order they were recorded.

        Cost: with reading them, under 1 µs a row in batches of a thousand or more.
        """
        rows, columns, ids, lanes = batch
        is_begin = rows.edges == fmt.ENTER
        self.last_begin.update(zip(rows.ids[is_begin].tolist(), rows.times[is_begin].tolist(), strict=True))
        self._fold_series(rows, columns)
        charged = [c for c in columns if c.metric.rpartition("/")[2] in CHARGED]
        sampled = {number for number in set(ids) if self._role(number) == "sample"}
        numbers = dict.fromkeys(lanes)
        sums = _Sums()
        if len(numbers) == 1 and not sampled:
            self._fold_lane(self._lane(lanes[0]), rows, charged, sums)
        else:
            places: dict[int, list[int]] = {number: [] for number in numbers}
            for at, lane in enumerate(lanes):
                places[lane].append(at)
            for number, own in places.items():
                kept = [at for at in own if ids[at] not in sampled] if sampled else own
                if kept:
                    taken = [_take(column, kept) for column in charged]
                    self._fold_lane(self._lane(number), rows.take(kept), taken, sums)
        for metric in sums.parts:
            self._charge(metric, sums)

    def open_phase(self) -> str | None:
        """The innermost phase that the main thread has not left."""
        lane = self._lanes.get(0)
        return self._name(lane.stack[-1][0]) if lane is not None and lane.stack else None

    def forget_open(self) -> None:
        """Begin anew in every lane."""
        self._lanes.clear()

    def _lane(self, number: int) -> Lane:
        found = self._lanes.get(number)
        if found is None:
            found = self._lanes[number] = Lane()
        return found

    def _role(self, number: int) -> str:
        label = self._labels.get(number)
        return label.role if label else "checkpoint"

    def _name(self, number: int) -> str:
        if number == OUTSIDE_ID:
            return OUTSIDE
        label = self._labels.get(number)
        return label.name if label else f"label {number}"

    # --- series -----------------------------------------------------------------------------------------------------

    def _fold_series(self, rows: Rows, columns: Sequence[Column]) -> None:
        """Keep the last reading of each point in each generation."""
        sides = rows.edges.copy()
        sides[(sides != fmt.ENTER) & (sides != fmt.EXIT)] = fmt.POINT
        codes, code_of = numbered(rows.ids * 4 + sides)
        for code, n in zip(codes.tolist(), np.bincount(code_of).tolist(), strict=True):
            if code % 4 == fmt.POINT:
                self.passed[code // 4] = self.passed.get(code // 4, 0) + n
        # Series stand in the order in which the loop passes their points, not in that of labels.
        places: dict[str, int] = {}
        numbers: list[int] = []
        for code in codes.tolist():
            name = point_name(self._name(code // 4), code % 4, self._role(code // 4))
            numbers.append(places.setdefault(name, len(places)))
        place = np.array(numbers, np.int64)[code_of]
        # Few bits are sorted by counting.
        order = np.argsort(place.astype(np.uint16) if len(places) < 1 << 16 else place, kind="stable")
        # The readings of all points at once, since there may be as many points as rows; most metrics are read together.
        masks = {id(column.known): column.known for column in columns}
        newest = {at: _newest(known, order, place, rows.generations, len(places)) for at, known in masks.items()}
        tables = []
        for metric, values, known in columns:
            kept, bounds, read_at, rises = newest[id(known)]
            tables.append((metric, bounds, read_at, values[kept].tolist(), rises))
        for at, name in enumerate(places):
            for metric, bounds, read_at, values, rises in tables:
                begin, end = bounds[at], bounds[at + 1]
                if end - begin == 1:
                    series_of(self._series, name, metric, Series).put(read_at[begin], values[begin])
                elif end > begin:
                    series_of(self._series, name, metric, Series).extend(read_at[begin:end], values[begin:end], rises)

    # --- charges ----------------------------------------------------------------------------------------------------

    def _fold_lane(self, lane: Lane, rows: Rows, columns: Sequence[Column], sums: _Sums) -> None:
        """Charge what changed between one thread's boundaries to the phase that was innermost in between."""
        walk = self._walk(lane, rows)
        self._add_times(walk.times)
        self._add_outer(walk.around)
        labels, label_of = numbered(np.concatenate((walk.owners, walk.outer)))
        numbers = np.array([sums.number_of(self._name(label)) for label in labels.tolist()], np.int64)
        every, n_rows = numbers[label_of], len(walk.owners)
        owned, around = every[:n_rows], every[n_rows:]
        ordinals, at, weights = rows.generations, walk.at, walk.weights
        last = lane.last
        lane.last = {}
        charged_last: dict[str, float] = {}
        for metric, values, known in columns:
            before = np.concatenate(([last.get(metric, 0)], values[:-1]))
            was_known = np.concatenate(([metric in last], known[:-1]))
            delta, valid = values - before, known & was_known
            parts = sums.parts.setdefault(metric, [])
            parts.append((owned[valid], ordinals[valid], delta[valid]))
            if at.size:
                # A visit stands for those that were only counted: what they changed is charged to the phase around.
                known_at = valid[at]
                stretches, more = at[known_at], (delta[at] * (weights - 1))[known_at]
                parts.append((owned[stretches], ordinals[stretches], more))
                parts.append((around[known_at], ordinals[stretches], -more))
            if known[-1]:
                lane.last[metric] = int(values[-1])
            if valid[-1]:
                charged_last[metric] = float(delta[-1])
        if lane.bare is not None:
            lane.bare = (lane.bare[0], lane.bare[1], charged_last)

    def _charge(self, metric: str, sums: _Sums) -> None:
        """Add up the deltas of all threads by owner and generation, and then to the series, generations rising."""
        owned, ordinals, delta = (np.concatenate(parts) for parts in zip(*sums.parts[metric], strict=True))
        if not owned.size:
            return
        first, span = int(ordinals.min()), int(ordinals.max() - ordinals.min()) + 1
        # Sums of whole bytes in float64 are exact below 8 PiB, so their order does not matter.
        keys, totals = _sums_by(owned * span + (ordinals - first), delta)
        bounds = np.searchsorted(keys, np.arange(len(sums.names) + 1) * span).tolist()
        at = (first + keys % span).tolist()
        for name, begin, end in zip(sums.names, bounds, bounds[1:], strict=False):
            if end > begin:
                series_of(self._charges, name, metric, Sums).extend(at[begin:end], totals[begin:end].tolist())

    def _walk(self, lane: Lane, rows: Rows) -> Walk:
        """Follow the phases that open and close, all at once where each ends before the one around it does."""
        turns = self._turns()
        if not lane.strays and lane.bare is None:
            walk = walk_nested(lane.stack, rows, turns)
            if walk is not None:
                lane.generation = int(rows.generations[-1])
                return walk
        return self._walk_each(lane, rows, turns)

    def _walk_each(self, lane: Lane, rows: Rows, turns: set[int]) -> Walk:
        owners: list[int] = []
        scaled: list[Scaled] = []
        stack, strays, bare = lane.stack, lane.strays, lane.bare
        visits: defaultdict[tuple[int, int, int], list[int]] = defaultdict(list)
        weighs = _weighs(stack)
        around: dict[tuple[int, int], None] = {}
        point, enter, leave, none = fmt.POINT, fmt.ENTER, fmt.EXIT, OUTSIDE_ID
        generation = lane.generation
        top = stack[-1][0] if stack else none
        for number, edge, now, generation, items in zip(*(column.tolist() for column in rows), strict=True):
            if strays and generation != lane.generation:
                _drop_strays(lane)
                top = stack[-1][0] if stack else none
            if weighs and edge != TAKEN_OVER:
                _note_scaled(scaled, stack, len(owners))
            if edge == point:
                is_bare = top == none
                owners.append(number if is_bare else top)
                bare = (number, generation, {}) if is_bare else None
                continue
            if edge == TAKEN_OVER:
                _take_over(lane)
                top, bare = none, None
                owners.append(top)
                continue
            if bare is not None and edge == enter and self._is_block_of(number, bare[0]):
                self._give_back(owners, bare)
            bare = None
            owners.append(top)
            if edge == enter and number not in turns:
                weight = 1 if items <= 1 else _weight(items)
                weighs = weighs or weight > 1
                stack.append((number, now, weight))
                top = number
            elif edge == leave and stack:
                lane.generation = generation
                visit = stack.pop() if top == number else _leave(lane, number)
                if visit is not None:
                    visits[number, generation, visit[2]].append(now - visit[1])
                    top = stack[-1][0] if stack else none
                    around[number, top] = None
        lane.bare, lane.generation = bare, generation
        at, weights, outer = np.array(scaled, np.int64).reshape(-1, 3).T
        return Walk(np.array(owners, np.int64), at, weights, outer, _times(visits), around)

    def _turns(self) -> set[int]:
        """Labels of generations, which are no phases."""
        return {number for number, label in self._labels.items() if label.role == "generation"}

    def _add_times(self, times: Mapping[int, Times]) -> None:
        """Add up visits and time of phases, in all and by the generation of their end."""
        for number, spent in times.items():
            name = self._name(number)
            totals = self._phases.setdefault(name, PhaseTotals())
            totals.visits += spent.timed
            totals.timed += spent.timed
            totals.ns += spent.ns
            series_of(self._charges, name, BUSY, Sums).extend(spent.generations, spent.added)

    def _add_outer(self, around: Iterable[tuple[int, int]]) -> None:
        """Take in pairs of a phase and the one directly around it."""
        for number, outer in around:
            self._phases[self._name(number)].inside.add(self._name(outer))

    def _is_block_of(self, block: int, point: int) -> bool:
        """``with checkpoint(x)`` records the point x, then the block x."""
        return self._role(block) == "block" and self._name(block) == self._name(point)

    def _give_back(self, owners: list[int], bare: tuple[int, int, dict[str, float]]) -> None:
        """What happened before a block belongs to what was open before it, which was nothing."""
        if owners:
            owners[-1] = OUTSIDE_ID
            return
        number, generation, charged = bare
        for metric, value in charged.items():
            series_of(self._charges, self._name(number), metric, Sums).put(generation, -value)
            series_of(self._charges, OUTSIDE, metric, Sums).put(generation, value)


def _times(visits: Mapping[tuple[int, int, int], Sequence[int]]) -> dict[int, Times]:
    """Add up the times of visits (ns), which stand by label, generation of their end and for how many each stands."""
    found: dict[int, Times] = {}
    for (number, generation, weight), times in visits.items():
        ns, before = sum(times), found.get(number, Times(0, 0, [], []))
        before.generations.append(generation)
        before.added.append(float(ns * weight))
        found[number] = before._replace(timed=before.timed + len(times), ns=before.ns + ns)
    return found


def _sums_by(keys: Ints, delta: Ints) -> tuple[Ints, Floats]:
    """Return the keys that occur, rising, and the sum of what belongs to each."""
    if int(keys.max()) < 4 * keys.size:
        table = np.asarray(np.bincount(keys, weights=delta), np.float64)
        found: Ints = np.flatnonzero(np.bincount(keys))
        return found, table[found]
    found, inverse = np.unique(keys, return_inverse=True)
    return found, np.asarray(np.bincount(inverse, weights=delta), np.float64)


def _newest(
    known: Flags, order: Ints, place: Ints, ordinals: Ints, n_places: int
) -> tuple[Ints, list[int], list[int], bool]:
    """Find the last reading at each point in each generation.

    Args:
        known: (n_rows,) which rows were read.
        order: (n_rows,) rows by point, each point's in the order in which they were recorded.
        place: (n_rows,) number of each row's point.
        ordinals: (n_rows,) generation of each row.
        n_places: how many points there are.

    Returns:
        The rows; where those of each point begin, and their end; generations; whether those of each point rise.
    """
    rows = order[known[order]]
    at, where = ordinals[rows], place[rows]
    is_other = where[1:] != where[:-1]
    is_newest = np.ones(rows.size, np.bool_)
    is_newest[:-1] = (at[1:] != at[:-1]) | is_other
    rises = bool((is_other | (at[1:] >= at[:-1])).all())
    rows = rows[is_newest]
    bounds = np.searchsorted(place[rows], np.arange(n_places + 1))
    return rows, bounds.tolist(), ordinals[rows].tolist(), rises


def _weighs(stack: Sequence[OpenVisit]) -> bool:
    """Whether a visit that is open stands for others as well."""
    return any(visit[2] > 1 for visit in stack)


def _note_scaled(scaled: list[Scaled], stack: Sequence[OpenVisit], at: int) -> None:
    """Note that the time before step ``at`` belongs to a visit that stands for others, and which visit is around it."""
    if stack and stack[-1][2] > 1:
        scaled.append((at, stack[-1][2], stack[-2][0] if len(stack) > 1 else OUTSIDE_ID))


def _weight(items: float) -> int:
    """For how many visits an entry stands; a file may say anything."""
    return int(items) if 1 < items < MOST_STOOD_FOR else 1


def _take_over(lane: Lane) -> None:
    """Another thread has the lane's number from here on: nothing is open."""
    lane.stack.clear()
    lane.strays.clear()


def _leave(lane: Lane, number: int) -> OpenVisit | None:
    """Close a visit that is not the innermost and return it; ``None`` if it is not open."""
    for depth in range(len(lane.stack) - 1, -1, -1):
        if lane.stack[depth][0] == number:
            visit = lane.stack.pop(depth)
            lane.strays.discard(visit)
            lane.strays.update(lane.stack[depth:])
            return visit
    return None


def _drop_strays(lane: Lane) -> None:
    lane.stack[:] = [visit for visit in lane.stack if visit not in lane.strays]
    lane.strays.clear()


def _take(column: Column, at: Sequence[int]) -> Column:
    return Column(column.metric, column.values[at], column.known[at])


def series_of(table: dict[tuple[str, str], AnySeries], first: str, metric: str, made: type[AnySeries]) -> AnySeries:
    """Return the series under a key, made if it is not there."""
    key = (first, metric)
    found = table.get(key)
    if found is None:
        found = table[key] = made()
    return found


def point_name(label: str, edge: int, role: str) -> str:
    """Name the point of a boundary: ``after train`` at a phase's exit, ``train: start`` at its entry."""
    if role == "generation":
        return "generation start" if edge == fmt.ENTER else "generation end"
    if edge == fmt.ENTER:
        return f"{label}: start"
    return f"after {label}" if edge == fmt.EXIT else label


def columns_of(fields: Sequence[Any]) -> Fields:
    """Return columns of rows, of which the fields of each stand after those of the one before."""
    times, ids, edges, generations, texts, devices, items, lanes = (fields[at::N_FIELDS] for at in range(N_FIELDS))
    return times, ids, edges, generations, texts, devices, items, lanes


def read_batch(fields: Fields, page_bytes: int) -> Batch:
    """Read the fields of many rows; no object is made for each, which the collector would follow."""
    times, ids, edges, generations, texts, devices, items, lanes = fields
    rows = Rows(
        np.array(ids, np.int64), np.array(edges, np.int64), np.array(times, np.int64),
        np.array(generations, np.int64), np.array(items, np.float64),
    )  # fmt: skip
    columns = read_columns(texts, devices, page_bytes)
    if TAKEN_OVER in rows.edges:
        is_boundary = rows.edges != TAKEN_OVER
        columns = [column._replace(known=column.known & is_boundary) for column in columns]
    return Batch(rows, columns, ids, lanes)


# --- readings -------------------------------------------------------------------------------------------------------


def read_columns(
    texts: Sequence[bytes | str], devices: Sequence[Mapping[str, list[int]] | None], page_bytes: int
) -> list[Column]:
    """Turn raw readings into columns: process memory first, then each device's counters (-1: not measured)."""
    pages, known = parse_statm(texts)
    columns = []
    if known.any():
        pages *= page_bytes
        parts = (pages[:, 0], pages[:, 1], pages[:, 2], pages[:, 1] - pages[:, 2])
        is_shared_known = pages[:, 2] >= 0
        shared = known if is_shared_known.all() else known & is_shared_known
        masks = (known, known, shared, shared)
        columns = [Column(*part) for part in zip(PROCESS_METRICS, parts, masks, strict=True)]
    for device in dict.fromkeys(name for counters in devices if counters for name in counters):
        columns += _device_columns(device, devices)
    return columns


def _device_columns(device: str, devices: Sequence[Mapping[str, list[int]] | None]) -> list[Column]:
    width = len(fmt.DEVICE_COUNTERS)
    missing = [-1] * width
    rows = [(counters.get(device) if counters else None) or missing for counters in devices]
    table = np.array([row if len(row) == width else [*row, *missing][:width] for row in rows], np.int64)
    names = [f"{device}/{name}" for name in fmt.DEVICE_COUNTERS]
    columns = [Column(name, table[:, at], table[:, at] >= 0) for at, name in enumerate(names)]
    return [column for column in columns if column.known.any()]


def parse_statm(texts: Sequence[bytes | str]) -> tuple[Ints, Flags]:
    """Parse the texts of ``/proc/self/statm``, or the first two or three of their numbers.

    Returns:
        (n_texts, 3) pages, size, resident and shared (shared is negative where it was not given); and (n_texts,) which
        texts could be read.

    Cost: 0.12 µs for a whole text, since all are converted in one go; 1 µs for others; half of it where most are alike,
    as those of short visits are.
    """
    different = dict.fromkeys(texts)
    if 2 * len(different) > len(texts):
        return _parse_all(texts)
    pages, known = _parse_all(list(different))
    place_of = dict(zip(different, range(len(different)), strict=True))
    places = np.fromiter(map(place_of.__getitem__, texts), np.intp, len(texts))
    return pages[places], known[places]


def _parse_all(texts: Sequence[bytes | str]) -> tuple[Ints, Flags]:
    # A negative number between two texts shows whether each had its seven fields, and nothing else.
    joined = _joined(texts)
    if texts and not joined.translate(None, b"0123456789 -\n") and joined.count(b"-") == len(texts) - 1:
        numbers = np.fromstring(joined + b" -1", dtype=np.int64, sep=" ")
        if numbers.size == len(texts) * (STATM_FIELDS + 1):
            table = numbers.reshape(len(texts), STATM_FIELDS + 1)
            if (table[:, -1] == -1).all() and (table[:, :-1] >= 0).all() and (table[:, :3] < _MOST_PAGES).all():
                return table[:, :3].copy(), np.ones(len(texts), np.bool_)
    return _parse_one_by_one([_as_bytes(text) for text in texts])


def _joined(texts: Sequence[bytes | str]) -> bytes:
    """All texts, ``-1`` between two; those of a file are text, those of this process bytes."""
    try:
        return " -1 ".join(texts).encode("ascii", "replace")  # type: ignore[arg-type]  # that is what is tried
    except TypeError:
        return b" -1 ".join(map(_as_bytes, texts))


def _as_bytes(text: bytes | str) -> bytes:
    return text.encode("ascii", "replace") if isinstance(text, str) else text


def _parse_one_by_one(rows: Sequence[bytes]) -> tuple[Ints, Flags]:
    pages, known = np.full((len(rows), 3), -1, np.int64), np.zeros(len(rows), np.bool_)
    for at, row in enumerate(rows):
        fields = row.split(None, 3)[:3]
        if len(fields) >= 2 and all(part.isdigit() and len(part) <= 13 for part in fields):
            pages[at, : len(fields)] = [int(part) for part in fields]
            known[at] = True
    return pages, known
