"""WATCHED OBJECTS: what must be there how many times, and since when it is not."""

from __future__ import annotations

from dataclasses import dataclass

from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.report.access import (
    GENERATION_END,
    Generations,
    bounds_text,
    count_generations,
    is_within,
    watched_count,
)
from phaseprof.report.text import Column, Report, Style, columns, section


@dataclass(frozen=True)
class WatchedCount:
    """One watched class over the run.

    Attributes:
        name: the class.
        low: least count allowed, -1 for no bound.
        high: largest count allowed, -1 for no bound.
        now: newest count, ``None`` where it was never counted.
        lowest: least count seen at any point.
        highest: largest count seen at any point.
        is_broken: whether the newest count is out of bounds.
        broken_since: the generation, by the user's number, in which the expectation was first broken.
        phase: the phase at whose end that was seen.
        counted_in: the generation of the newest count where that is not the run's last; ``None`` if it is.
        missing: why the class was never found; empty if it was.
    """

    name: str
    low: int
    high: int
    now: int | None
    lowest: int | None
    highest: int | None
    is_broken: bool = False
    broken_since: str | None = None
    phase: str = ""
    counted_in: str | None = None
    missing: str = ""


@dataclass(frozen=True)
class CountsReport(Report):
    """Watched classes beside what is expected of them."""

    derived = ("n_broken",)

    rows: tuple[WatchedCount, ...]

    @property
    def n_broken(self) -> int:
        """Number of expectations that do not hold now."""
        return sum(row.is_broken for row in self.rows)

    def render(self, style: Style) -> str:
        """Lay the counts out as text."""
        return section("WATCHED OBJECT COUNTS", "counts", self._body(style), style)

    def _body(self, style: Style) -> list[str]:
        if not self.rows:
            return ["No class is watched; watch(cls, expected=n) says how many there must be."]
        layout = (Column("Class", 18), Column("Now", 6), Column("Expected", 8), Column("Seen", 6))
        cells = [
            (r.name, "-" if r.now is None else f"{r.now:,}", _bounds_cell(r), _seen_cell(r)) for r in self.rows
        ]  # fmt: skip
        return columns(layout, cells, style, notes=[_count_note(r, style) for r in self.rows])


def _bounds_cell(row: WatchedCount) -> str:
    text = bounds_text(row.low, row.high)
    return text.removeprefix("should be exactly ").removeprefix("expected ") or "-"


def _seen_cell(row: WatchedCount) -> str:
    if row.lowest is None or row.highest is None:
        return "-"
    return str(row.lowest) if row.lowest == row.highest else f"{row.lowest}-{row.highest}"


def _count_note(row: WatchedCount, style: Style) -> str:
    if row.missing:
        return f"{style.icon('bad')}never found: {row.missing}"
    if row.now is None:
        return "never counted"
    return ", ".join(filter(None, (_when(row), _state(row, style))))


def _when(row: WatchedCount) -> str:
    return "" if row.counted_in is None else f"counted at generation {row.counted_in}"


def _state(row: WatchedCount, style: Style) -> str:
    if row.broken_since is None:
        return f"{style.icon('bad')}out of bounds" if row.is_broken else ""
    where = f" in {row.phase}" if row.phase else ""
    if row.is_broken:
        return f"{style.icon('bad')}broken since generation {row.broken_since}{where}"
    return f"was broken in generation {row.broken_since}{where}, holds again"


def build_counts(process: ProcessRun) -> CountsReport:
    """Report every watched class: now, expected, least and most seen, and since when it is broken."""
    process.fold()
    names = Generations(process)
    return CountsReport(tuple(_watched(process, watch, names) for watch in process.watches.values()))


def _watched(process: ProcessRun, watch: fmt.Watch, names: Generations) -> WatchedCount:
    low, high, latest, newest = _readings(process, watch)
    broken = [v for v in process.violations if v.name == watch.name]
    now = latest
    if now is None and broken:
        now = broken[-1].found
    seen = [n for n in (low, high, *(v.found for v in broken)) if n is not None]
    is_broken = now is not None and not is_within(now, watch.low, watch.high)
    # One that held again in between is broken since it broke anew.
    first = next((v for v in broken if not is_broken or v.since == broken[-1].since), None)
    return WatchedCount(
        watch.name, watch.low, watch.high, now, min(seen, default=None), max(seen, default=None),
        is_broken=is_broken,
        broken_since=None if first is None else names.name(first.since if first.since >= 0 else first.g),
        phase="" if first is None else first.phase,
        counted_in=None if newest is None or newest >= count_generations(process) - 1 else names.name(newest),
        missing=watch.missing if latest is None else "",
    )  # fmt: skip


def _readings(process: ProcessRun, watch: fmt.Watch) -> tuple[int | None, int | None, int | None, int | None]:
    """Return the least and largest count at any point, and the newest with its generation: at an end, else anywhere."""
    key = f"watched/{watch.name}"
    found = [(at, s) for (at, metric), s in process.series.items() if metric == key and len(s)]
    taken = (watched_count(process, s.counts, watch.name) for s in process.snapshots)
    seen = [int(n) for n in taken if n is not None]
    seen += [int(n) for _, s in found for n in (min(s.values), max(s.values))]
    if not seen:
        return None, None, None, None
    if not found:
        return min(seen), max(seen), seen[-1], None
    newest = max(found, key=lambda pair: (pair[1].generations[-1], pair[0] == GENERATION_END))[1]
    return min(seen), max(seen), int(newest.last), newest.generations[-1]
