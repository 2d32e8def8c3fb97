"""MEMORY SNAPSHOT: one moment's process, device and object figures beside what was expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from phaseprof.recording.model import ProcessRun
from phaseprof.recording.series import Series
from phaseprof.records import DeviceReading
from phaseprof.report.access import (
    GENERATION_END,
    bounds_text,
    devices_in,
    is_within,
    metrics_under,
    short_name,
    value_at,
    watched_count,
)
from phaseprof.report.moments import Moment, find_moment
from phaseprof.report.text import Report, Style, bytes_cell, fit, pad, section, text_width

_COMMON = (("Lists", "list"), ("Dicts", "dict"), ("NumPy arrays", "ndarray"), ("PyTorch Tensors", "Tensor"))
_DEVICE_LINES = (
    ("Allocated", "allocated_bytes"), ("Reserved", "reserved_bytes"), ("Active", "active_bytes"),
    ("Peak allocated", "peak_allocated_bytes"),
)  # fmt: skip
NAME_WIDTH, NUMBER_WIDTH = 19, 8


@dataclass(frozen=True)
class CountLine:
    """Live instances of one type, and the bounds they must keep (-1: none); ``is_broken`` if they do not."""

    name: str
    count: int
    low: int = -1
    high: int = -1

    @property
    def is_broken(self) -> bool:
        """Tell whether the count is outside its bounds."""
        return not is_within(self.count, self.low, self.high)


@dataclass(frozen=True)
class SnapshotReport(Report):
    """One labelled moment of a process.

    Attributes:
        label: what the user called it.
        generation: ordinal, or -1 outside generations.
        process: process metrics, bytes by name.
        devices: counters of each accelerator.
        watched: watched classes beside their expectation.
        common: lists, dicts, arrays and tensors, where they were counted.
        others: every other count that was taken.
        counted_at: when objects were counted, if it was not at this moment itself.
        has_watches: whether there is a watched class that could have been counted.
    """

    label: str
    generation: int
    process: Mapping[str, float]
    devices: tuple[DeviceReading, ...]
    watched: tuple[CountLine, ...]
    common: tuple[CountLine, ...]
    others: Mapping[str, int]
    counted_at: str = ""
    has_watches: bool = False

    def render(self, style: Style) -> str:
        """Lay the snapshot out as text."""
        body = [*self._process_lines(style), *self._device_lines(style), *self._count_lines(style)]
        return section(f"MEMORY SNAPSHOT: {self.label}", "snapshot", body, style)

    def _process_lines(self, style: Style) -> list[str]:
        rows = [("RSS (actual RAM)", "rss_bytes"), ("VMS (virtual)", "vms_bytes"), ("Anonymous", "anonymous_bytes")]
        measured = [(title, self.process[key]) for title, key in rows if key in self.process]
        return [f"{style.icon('process')}Process Memory:", *(_bytes_line(t, v) for t, v in measured)] + (
            [] if measured else ["   not measured"]
        )

    def _device_lines(self, style: Style) -> list[str]:
        lines: list[str] = []
        for device in self.devices:
            where = f" ({device.device})" if len(self.devices) > 1 else ""
            lines.append(f"{style.icon('gpu')}GPU Memory{where}:")
            known = [(title, key) for title, key in _DEVICE_LINES if key in device.counters]
            lines += [_bytes_line(title, device.counters[key]) for title, key in known]
        return lines

    def _count_lines(self, style: Style) -> list[str]:
        counts = [*self.watched, *self.common]
        where = f" (at {fit(self.counted_at, 60, style)})" if self.counted_at else ""
        lines = [f"{style.icon('counts')}Object Counts{where}:"]
        if not counts:
            asks = "no class is watched; show_objects=True counts lists, dicts, arrays and tensors"
            return [*lines, f"   {'not counted at this point' if self.has_watches else asks}"]
        width = max([NAME_WIDTH, *(min(40, text_width(c.name) + 1) for c in counts)])
        return lines + [_count_line(c, width, style) for c in counts]


def _bytes_line(title: str, n_bytes: float) -> str:
    return f"   {title + ':':<{NAME_WIDTH}}{bytes_cell(n_bytes, NUMBER_WIDTH)}"


def _count_line(line: CountLine, width: int, style: Style) -> str:
    name = pad(fit(line.name, width - 1, style) + ":", width)
    text = f"   {name}{line.count:>{NUMBER_WIDTH - 1}}"
    return text + verdict_mark(bounds_text(line.low, line.high), is_broken=line.is_broken, style=style)


def verdict_mark(expected: str, *, is_broken: bool, style: Style) -> str:
    """Return the note behind a count: what it should be, marked where it is not."""
    if not expected:
        return ""
    if not is_broken:
        return f"  <- {expected}" if expected.startswith("should") else f"  <- ({expected})"
    return f"  <- {style.icon('bad')}PROBLEM! {expected.replace('exactly ', '')}"


def build_snapshot(process: ProcessRun, label: str) -> SnapshotReport:
    """Report the newest snapshot with this label; ends of phases have labels too, such as ``Gen 3: After train``.

    Raises:
        UsageError: no such label; the message names the nearest.
    """
    return report_moment(process, find_moment(process, label, newest=True))


def report_moment(process: ProcessRun, moment: Moment) -> SnapshotReport:
    """Make the snapshot report of a moment; where no objects were counted at it, by the counts of its generation."""
    counted_at = ""
    if not moment.counts and not watched_lines(process, moment):
        counts = counts_at(process, moment.generation)
        newest = max((taken for _, taken in counts.values()), default=0)
        counts = {name: pair for name, pair in counts.items() if pair[1] == newest}
        moment = replace(moment, counts={name: count for name, (count, _) in counts.items()})
        counted_at = f"the end of generation {process.number_of(newest)}" if counts else ""
    values = moment.values
    devices = devices_in(values)
    own = {k: v for k, v in values.items() if "/" not in k}
    watched = watched_lines(process, moment)
    common, taken = [], {short_name(line.name) for line in watched}
    for title, name in _COMMON:
        count = _common_count(moment, name)
        if count is not None and name not in taken:
            common.append(CountLine(title, count))
            taken.add(name)
    others = {name: count for name, count in moment.counts.items() if name not in taken}
    readings = tuple(DeviceReading(device, _counters(values, device)) for device in devices)
    return SnapshotReport(
        moment.label, moment.generation, own, readings, watched, tuple(common), others, counted_at,
        bool(process.watches),
    )  # fmt: skip


def _counters(values: Mapping[str, float], device: str) -> dict[str, int]:
    prefix = f"{device}/"
    return {k[len(prefix) :]: int(v) for k, v in values.items() if k.startswith(prefix)}


def _common_count(moment: Moment, name: str) -> int | None:
    if name in moment.counts:
        return moment.counts[name]
    arrays = moment.values.get("arrays_count") if name == "ndarray" else None
    return None if arrays is None else int(arrays)


def counts_at(process: ProcessRun, generation: int) -> dict[str, tuple[int, int]]:
    """Return the newest counts at the end of a generation, watched ones and by type, under their short names.

    Each comes with the ordinal of the generation in which it was taken, which may be an earlier one.
    """
    by_type = metrics_under(process, "count/")
    shared = Counter(map(short_name, by_type))
    series = {short_name(name) if shared[short_name(name)] == 1 else name: s for name, s in by_type.items()}
    census = process.series.get((GENERATION_END, "n_objects"))  # a count is written only where it changed
    censuses = census.generations if census is not None else []
    found = {name: _count_of(readings, generation, censuses) for name, readings in series.items()}
    watched = metrics_under(process, "watched/").items()
    found.update((name, _count_of(readings, generation, ())) for name, readings in watched)
    return {name: count for name, count in found.items() if count is not None}


def _count_of(series: Series, generation: int, censuses: Sequence[int]) -> tuple[int, int] | None:
    value = value_at(series, generation)
    if value is None:
        return None
    taken = max(g for g in (*series.generations, *censuses) if g <= generation)
    return int(value), taken


def watched_lines(process: ProcessRun, moment: Moment) -> tuple[CountLine, ...]:
    """Return the watched classes that were counted at a moment, beside what is expected of them."""
    exact = {k.removeprefix("watched/"): v for k, v in moment.values.items() if k.startswith("watched/")}
    lines = []
    for watch in process.watches.values():
        # A count by type leaves out subclasses, so it serves only where the watch itself was not counted.
        count = exact.get(watch.name, watched_count(process, moment.counts, watch.name))
        if count is not None:
            lines.append(CountLine(watch.name, int(count), watch.low, watch.high))
    return tuple(lines)
