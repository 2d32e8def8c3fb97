"""MEMORY GROWTH ANALYSIS: a baseline beside the present, in bytes and in objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from phaseprof.recording.model import ProcessRun
from phaseprof.report.access import (
    bounds_text,
    devices_in,
    is_within,
    metrics_under,
)
from phaseprof.report.moments import Moment, find_moment, list_moments
from phaseprof.report.snapshot import counts_at, verdict_mark, watched_lines
from phaseprof.report.text import Report, Style, bytes_cell, change_cell, fit, pad, section, text_width

MAX_UNWATCHED = 10  # types without expectation that are listed, by growth


@dataclass(frozen=True)
class MemoryGrowth:
    """Bytes at the baseline and now; ``name`` is RAM or the device."""

    name: str
    baseline_bytes: float
    current_bytes: float

    @property
    def growth_bytes(self) -> float:
        """Change since the baseline."""
        return self.current_bytes - self.baseline_bytes


@dataclass(frozen=True)
class CountChange:
    """Live instances of a type at the baseline and now; bounds are -1 where nothing is expected.

    ``point`` says between when they were counted, if not at the moments themselves.
    """

    name: str
    baseline: int
    current: int
    low: int = -1
    high: int = -1
    is_watched: bool = False
    point: str = ""


@dataclass(frozen=True)
class GrowthReport(Report):
    """What grew between two moments of a run.

    Attributes:
        baseline: label of the moment compared with, ``None`` where nothing was recorded.
        current: label of the newest moment.
        memory: RAM first, then each device's allocated bytes.
        counts: watched classes, then the types that grew most; those counted at the moments before others.
    """

    baseline: str | None
    current: str | None
    memory: tuple[MemoryGrowth, ...]
    counts: tuple[CountChange, ...]

    def render(self, style: Style) -> str:
        """Lay the comparison out as text."""
        return section("MEMORY GROWTH ANALYSIS", "growth", self._body(style), style)

    def _body(self, style: Style) -> list[str]:
        if self.baseline is None or self.current is None:
            return ["No memory reading was recorded."]
        lines = [f"Baseline: {fit(self.baseline, style.width - 10, style)}"]
        lines.append(f"Current:  {fit(self.current, style.width - 10, style)}")
        if self.baseline == self.current:
            lines.append("(one moment only: nothing to compare it with yet)")
        for memory in self.memory:
            lines += ["", f"{memory.name} Usage:", *_memory_lines(memory)]
        points = dict.fromkeys(change.point for change in self.counts) or {"": None}
        for point in points:
            where = f" ({fit(point, 60, style)})" if point else ""
            lines += ["", f"Object Count Changes{where}:", *self._count_lines(point, style)]
        return lines

    def _count_lines(self, point: str, style: Style) -> list[str]:
        if not self.counts:
            return ["   not counted"]
        name_width = max([18, *(min(36, text_width(c.name)) for c in self.counts)])
        width = max([6, *(len(str(n)) for c in self.counts for n in (c.baseline, c.current))])
        lines = []
        for c in (change for change in self.counts if change.point == point):
            numbers = f"{c.baseline:>{width}} {style.mark('arrow')} {c.current:>{width}} ({c.current - c.baseline:+d})"
            lines.append(f"   {pad(fit(c.name, name_width, style), name_width)} : {numbers}{_verdict(c, style)}")
        return lines


def _verdict(change: CountChange, style: Style) -> str:
    expected = bounds_text(change.low, change.high)
    if not expected:
        return ""
    if is_within(change.current, change.low, change.high):
        return "  <- GOOD!"
    return verdict_mark(expected, is_broken=True, style=style)


def _memory_lines(memory: MemoryGrowth) -> list[str]:
    percent = f" ({memory.growth_bytes / memory.baseline_bytes:+.1%})" if memory.baseline_bytes > 0 else ""
    return [
        f"   Baseline:  {bytes_cell(memory.baseline_bytes)}",
        f"   Current:   {bytes_cell(memory.current_bytes)}",
        f"   Growth:    {change_cell(memory.growth_bytes)}{percent}",
    ]


def build_growth(process: ProcessRun, baseline: str | None = None) -> GrowthReport:
    """Compare the newest moment with a baseline: the first moment, or the first with the given label.

    Raises:
        UsageError: no moment has that label; the message names the nearest.
    """
    moments = list_moments(process)
    first = find_moment(process, baseline, newest=False) if baseline is not None else next(iter(moments), None)
    if first is None or not moments:
        return GrowthReport(None, None, (), ())
    last = moments[-1]
    changes = _count_changes(process, first, last)
    return GrowthReport(first.label, last.label, _memory_changes(first, last), changes)


def _memory_changes(first: Moment, last: Moment) -> tuple[MemoryGrowth, ...]:
    pairs = [("RAM", first.ram_bytes, last.ram_bytes)]
    devices = devices_in(last.values)
    for device in devices:
        key = f"{device}/allocated_bytes"
        name = "GPU" if len(devices) == 1 else f"GPU ({device})"
        pairs.append((name, first.values.get(key), last.values[key]))
    return tuple(MemoryGrowth(name, a, b) for name, a, b in pairs if a is not None and b is not None)


def _count_changes(process: ProcessRun, first: Moment, last: Moment) -> tuple[CountChange, ...]:
    """Compare counts taken at both moments; types that were not, by the counts at the ends of generations."""
    before, after = _counts(process, first), _counts(process, last)
    both = before.keys() & after.keys()
    direct = _changes(process, {n: before[n] for n in both}, {n: after[n] for n in both}, "")
    start = max(first.generation, _first_counted(process))
    earlier, later = counts_at(process, start), counts_at(process, max(last.generation, start))
    groups: dict[str, list[str]] = {}
    for name in later.keys() - both:
        end = process.number_of(later[name][1])
        if name in before:
            groups.setdefault(f"now: the end of generation {end}", []).append(name)
        elif name in earlier:
            begin = process.number_of(earlier[name][1])
            groups.setdefault(f"the ends of generations {begin} and {end}", []).append(name)
    found = list(direct)
    for point, names in sorted(groups.items()):
        then = {n: before[n] if n in before else earlier[n][0] for n in names}
        found += _changes(process, then, {n: later[n][0] for n in names}, point)
    return tuple(found)


def _first_counted(process: ProcessRun) -> int:
    counted = (*metrics_under(process, "watched/").values(), *metrics_under(process, "count/").values())
    return min((series.generations[0] for series in counted), default=0)


def _counts(process: ProcessRun, moment: Moment) -> dict[str, int]:
    return {**moment.counts, **{line.name: line.count for line in watched_lines(process, moment)}}


def _changes(
    process: ProcessRun, before: Mapping[str, int], after: Mapping[str, int], point: str
) -> tuple[CountChange, ...]:
    watched, others = [], []
    for name in after.keys() & before.keys():
        watch = process.watches.get(name)
        if watch is not None:
            watched.append(
                CountChange(name, before[name], after[name], watch.low, watch.high, is_watched=True, point=point)
            )
        elif after[name] != before[name]:
            others.append(CountChange(name, before[name], after[name], point=point))
    order = list(process.watches)
    watched.sort(key=lambda c: order.index(c.name))
    others.sort(key=lambda c: (c.baseline - c.current, c.name))
    return (*watched, *others[:MAX_UNWATCHED])
