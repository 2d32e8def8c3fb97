"""Throughput beside memory, generation by generation, and the profile of one rollout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from phaseprof.errors import UsageError
from phaseprof.recording.model import Generation, ProcessRun
from phaseprof.recording.series import Series
from phaseprof.report.access import ALLOCATED, GENERATION_END, Generations, devices_in, series_of, value_at
from phaseprof.report.text import (
    Report,
    Style,
    bytes_cell,
    change_cell,
    entry,
    fit,
    heading,
    join,
    pad,
    rule,
    section,
    wrap,
)
from phaseprof.units import MB, format_duration, format_signed_bytes

GROWTH_LIMIT_BYTES = 10 * MB  # growth of a device's allocated memory since the first rollout that earns a mark
SLOWER = 0.05  # loss of throughput that counts as falling
_WIDTH = 60  # of the profile's rules

_Memory = tuple[dict[str, dict[str, float]], dict[str, float], tuple[str, ...]]


@dataclass(frozen=True)
class RolloutRow:
    """One generation: its throughput, and the memory at its end; ``None`` where it was not measured.

    ``memory_bytes`` is what the first device has allocated, or the process's resident memory where there is none;
    ``is_suspect`` marks growth that goes on (see :func:`is_marked`).
    """

    position: int
    generation: int
    name: str
    seconds: float | None
    items_per_s: float | None
    memory_bytes: float | None
    growth_bytes: float | None
    is_suspect: bool = False


@dataclass(frozen=True)
class RolloutProfile(Report):
    """The block printed for one rollout.

    Attributes:
        generation: its number, as the user gave it.
        position: how many generations ended up to this one.
        items: units of work done so far, ``None`` if never said.
        items_per_s: throughput of this rollout.
        seconds: how long it took.
        memory: place (GPU, device or Process) to its named bytes.
        growth_bytes: place to its change since the first rollout.
        suspects: places whose growth goes on (see :func:`is_marked`).
    """

    generation: str
    position: int
    items: float | None
    items_per_s: float | None
    seconds: float | None
    memory: Mapping[str, Mapping[str, float]]
    growth_bytes: Mapping[str, float]
    suspects: tuple[str, ...] = ()

    def render(self, style: Style) -> str:
        """Lay the profile out as text."""
        steps = "" if self.items is None else f"agent_step={self.items:.0f}, "
        lines = heading(f"Rollout Profile ({steps}rollout={self.generation})", "", style, width=_WIDTH)
        if self.items_per_s is not None:
            lines += ["  Throughput:", f"    - Items:        {self.items_per_s:>10.1f} /s"]
        elif self.seconds is not None:
            lines += ["  Duration:", f"    - Rollout:      {self.seconds:>10.1f} s"]
        for place, figures in self.memory.items():
            lines.append(f"  {place} Memory:")
            lines += [f"    - {title + ':':<14}{bytes_cell(value, 10)}" for title, value in figures.items()]
            lines += self._growth_line(place, style)
        if not self.memory:
            lines.append("  Memory: not measured")
        return join([*lines, rule(style, width=_WIDTH)], style)

    def _growth_line(self, place: str, style: Style) -> list[str]:
        growth = self.growth_bytes.get(place)
        if growth is None:
            return []
        if place not in self.suspects:
            return [f"    - {'Growth:':<14}{change_cell(growth, 10)}"]
        title = pad(f"Growth ({style.mark('warning')}):", 14)
        return [f"    - {title}{change_cell(growth, 10)} (potential leak!)"]


@dataclass(frozen=True)
class RolloutReport(Report):
    """Throughput and memory of every generation, ``place`` naming the memory; the text shows 1, 10, 20, 50 ..."""

    derived = ("throughput_change",)

    rows: tuple[RolloutRow, ...]
    place: str
    last: RolloutProfile | None

    @property
    def has_items(self) -> bool:
        """Tell whether any generation said how many items it did."""
        return any(row.items_per_s is not None for row in self.rows)

    def render(self, style: Style) -> str:
        """Lay the table and the newest rollout's profile out as text."""
        parts = [section("THROUGHPUT AND MEMORY", "trend", self._body(style), style)]
        return "\n".join([*parts, *([self.last.render(style)] if self.last else [])])

    def _body(self, style: Style) -> list[str]:
        if not self.rows:
            return ["No generation was recorded."]
        shown = _milestones(self.rows)
        width = max(len(fit(row.name, 20, style)) for row in shown) + 1
        lines = [self._line(row, width, style) for row in shown]
        if not self.has_items:
            lines += entry("Note", "no generation said how many items it did; generation(g, items=n) adds throughput",
                           style, indent=0, name_width=5)  # fmt: skip
        return [*lines, *self._verdict(style)]

    def _line(self, row: RolloutRow, width: int, style: Style) -> str:
        name = pad(fit(row.name, width - 1, style) + ":", width)
        parts = []
        if row.items_per_s is not None:
            parts.append(f"{row.items_per_s:>10,.1f} items/s")
        elif row.seconds is not None:
            parts.append(f"{format_duration(row.seconds):>12}")
        if row.memory_bytes is not None:
            parts.append(f"{self.place}: {bytes_cell(row.memory_bytes, 7)}")
        text = f"Epoch {name} " + (", ".join(parts) or "not measured")
        if row.growth_bytes is None or row.position == 1:
            return text
        warning = f" ({style.mark('warning')})" if row.is_suspect and not style.unicode else ""
        warning = f" {style.mark('warning')}" if row.is_suspect and style.unicode else warning
        return f"{text}  ({format_signed_bytes(row.growth_bytes)}){warning}"

    def _verdict(self, style: Style) -> list[str]:
        last = self.rows[-1]
        if last.growth_bytes is None or not last.is_suspect:
            return []
        grown = format_signed_bytes(last.growth_bytes)
        warned = f"WARNING: Memory growth detected: {grown} {self.place} since the first generation"
        loss = self.throughput_change
        if loss is not None and loss < -SLOWER:
            warned += f", while throughput fell by {-loss:.0%}"
        return ["", *wrap(warned, style.width, style)]

    @property
    def throughput_change(self) -> float | None:
        """Relative change of throughput: the median of the newest quarter against that of the first."""
        rates = [row.items_per_s for row in self.rows if row.items_per_s is not None]
        if len(rates) < 4:
            return None
        quarter = max(1, len(rates) // 4)
        first, last = _median(rates[:quarter]), _median(rates[-quarter:])
        return last / first - 1 if first > 0 else None


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def _milestones(rows: tuple[RolloutRow, ...]) -> list[RolloutRow]:
    """Pick the first row, the 10th, 20th, 50th, 100th and so on, and the last; all of a short list."""
    if len(rows) <= 12:
        return list(rows)
    wanted = {1, len(rows)} | {n * 10**k for k in range(1, 9) for n in (1, 2, 5)}
    return [row for at, row in enumerate(rows, 1) if at in wanted]


def build_rollout(process: ProcessRun, *, leaks: bool | None = None) -> RolloutReport:
    """Report throughput beside memory for every generation that ended.

    Args:
        process: the recording.
        leaks: whether a leak was found, which the marks follow; ``None``: nothing was judged yet.
    """
    process.fold()
    ended = _ended(process)
    places = _places(process)
    metric = next(iter(places.values()), {}).get("growth", "")
    place = next(iter(places), "RAM")
    names, series = Generations(process), series_of(process, metric)
    rows = []
    for position, g in enumerate(ended, 1):
        suspect = series is not None and is_marked(metric, series, g.ordinal, leaks)
        row = _row(series, g, position, names.name(g.ordinal))
        rows.append(replace(row, is_suspect=suspect))
    last = build_rollout_profile(process, ended[-1].ordinal, leaks=leaks) if ended else None
    return RolloutReport(tuple(rows), "RAM" if place == "Process" else place, last)


def _row(series: Series | None, g: Generation, position: int, name: str) -> RolloutRow:
    memory = value_at(series, g.ordinal) if series else None
    growth = None if memory is None or series is None else memory - series.values[0]
    return RolloutRow(position, g.ordinal, name, g.seconds, _rate(g), memory, growth)


def is_marked(metric: str, series: Series, generation: int, leaks: bool | None) -> bool:
    """Tell whether growth up to a generation is marked: by the verdict, and before there is one only of a device.

    What a device has allocated is exact, and a rise that goes on says something by itself. Resident memory also rises
    in a healthy run (imports, the allocator's arenas), so a rise of it is marked only where a leak was found.
    """
    if leaks is None:
        return metric.endswith(ALLOCATED) and goes_on_growing(series, generation)
    return leaks and goes_on_growing(series, generation)


def goes_on_growing(series: Series, generation: int) -> bool:
    """Tell whether memory rose by over 10 MB up to a generation, a quarter of it in the newer half of the time.

    A first allocation, a warm-up or a buffer that was filled rises and then stops; at least four readings are needed
    to tell.
    """
    first, middle = series.generations[0], (series.generations[0] + generation) // 2
    last = value_at(series, generation)
    half = value_at(series, middle)
    if last is None or half is None or generation - first < 3:
        return False
    growth = last - series.values[0]
    return growth > GROWTH_LIMIT_BYTES and last - half >= growth / 4


def build_rollout_profile(
    process: ProcessRun, generation: int | None = None, *, leaks: bool | None = None
) -> RolloutProfile:
    """Report one generation, given by its ordinal, or the newest that ended.

    Raises:
        UsageError: no such generation has ended.
    """
    process.fold()
    ended = _ended(process)
    upto = ended if generation is None else [g for g in ended if g.ordinal <= generation]
    if not upto or (generation is not None and upto[-1].ordinal != generation):
        asked = "no generation" if generation is None else f"no generation with ordinal {generation}"
        raise UsageError(f"{asked} has ended ({len(ended)} did); ask for one that has")
    g = upto[-1]
    items = [e.items for e in upto if e.items is not None]
    items += [n for ordinal, n in process.counted_items if ordinal <= g.ordinal]
    memory, growth, suspects = _memory_at(process, g.ordinal, leaks)
    name = Generations(process).name(g.ordinal)
    return RolloutProfile(name, len(upto), sum(items) if items else None, _rate(g), g.seconds, memory, growth, suspects)


def _ended(process: ProcessRun) -> list[Generation]:
    return [g for g in process.generations if g.seconds is not None]


def _rate(generation: Generation) -> float | None:
    if generation.items is None or not generation.seconds:
        return None
    return generation.items / generation.seconds


def _places(process: ProcessRun) -> dict[str, dict[str, str]]:
    """Map each place to its figures' metrics; ``growth`` names the metric whose growth counts."""
    metrics = [metric for point, metric in process.series if point == GENERATION_END]
    devices = devices_in(metrics)
    places: dict[str, dict[str, str]] = {}
    for device in devices:
        keys = {"Allocated": f"{device}/allocated_bytes", "Reserved": f"{device}/reserved_bytes"}
        places["GPU" if len(devices) == 1 else device] = {**keys, "growth": keys["Allocated"]}
    if "rss_bytes" in metrics:
        places["Process"] = {"RSS": "rss_bytes", "growth": "rss_bytes"}
    return places


def _memory_at(process: ProcessRun, generation: int, leaks: bool | None) -> _Memory:
    memory: dict[str, dict[str, float]] = {}
    growth: dict[str, float] = {}
    suspects: list[str] = []
    for place, metrics in _places(process).items():
        for title, metric in metrics.items():
            series = series_of(process, metric)
            value = value_at(series, generation) if series else None
            if series is None or value is None:
                continue
            if title == "growth":
                growth[place] = value - series.values[0]
                suspects += [place] if is_marked(metric, series, generation, leaks) else []
            else:
                memory.setdefault(place, {})[title] = value
    return memory, growth, tuple(suspects)
