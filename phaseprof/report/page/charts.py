"""The data behind each chart: what the page's script draws, thinned to what a screen can show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from phaseprof.recording.model import ProcessRun
from phaseprof.recording.series import Series
from phaseprof.report.access import GENERATION_END, bounds_text, devices_in, metrics_under, series_of, short_name
from phaseprof.report.counts import CountsReport
from phaseprof.report.page.thinning import thin
from phaseprof.report.rollout import RolloutReport
from phaseprof.report.words import clauses, drawn_words, metric_words, plural, reading

MOST_A_LINE = 300  # readings drawn of one line
MAX_LINES = 12
_POOLS = (
    "reserved_bytes", "allocated_bytes", "active_bytes", "large_pool_active_bytes", "small_pool_active_bytes",
    "inactive_split_bytes",
)  # fmt: skip


@dataclass(frozen=True)
class Chart:
    """One chart: ``caption`` says in words what it shows, ``views`` what the reader can choose between.

    ``title`` is empty where the section says it already.

    A view is JSON-ready: ``name``, ``kind`` (path, lines or heat), ``unit`` (bytes, count or rate) and its data.
    """

    key: str
    title: str
    caption: str
    views: tuple[Mapping[str, object], ...]
    size: str = "tall"


def line(name: str, series: Iterable[tuple[int, float]], *, color: int = 0) -> dict[str, object] | None:
    """Return one line of readings by generation, ``None`` where none was taken in a generation."""
    pairs = [(g, v) for g, v in series if g >= 0]
    if not pairs:
        return None
    kept = [pairs[at] for at in thin([v for _, v in pairs], MOST_A_LINE)]
    return {"name": name, "g": [g for g, _ in kept], "v": [v for _, v in kept], "color": color, "n": len(pairs)}


def lines(named: Iterable[tuple[str, Series | None]], *, start: int = 0) -> list[dict[str, object]]:
    """Return lines for the series that hold readings, each in the next colour."""
    found: list[dict[str, object]] = []
    for name, series in named:
        one = line(name, series, color=start + len(found)) if series is not None else None
        if one is not None:
            found.append(one)
    return found


def change_words(metric: str, values: Sequence[float]) -> str:
    """Say in words how a series went.

    >>> change_words("rss_bytes", [1024, 2048])
    'from 1.00 KiB to 2.00 KiB'
    """
    first, last = reading(metric, values[0]), reading(metric, values[-1])
    return f"{last} throughout" if min(values) == max(values) else f"from {first} to {last}"


def count_charts(process: ProcessRun, counts: CountsReport) -> list[Chart]:
    """Return a small chart for each watched class that was counted, broken expectations first."""
    charts = []
    for at, row in enumerate(sorted(counts.rows, key=lambda r: not r.is_broken)):
        metric = f"watched/{row.name}"
        series = series_of(process, metric) or _longest(process, metric)
        drawn = line(row.name, series, color=0) if series else None
        if drawn is None or series is None:
            continue
        view = {
            "name": row.name, "kind": "lines", "unit": "count", "lines": [drawn],
            "band": [row.low, row.high], "expected": bounds_text(row.low, row.high), "broken": row.is_broken,
        }  # fmt: skip
        said = bounds_text(row.low, row.high) or "no number is expected"
        caption = f"{change_words(metric, series.values)}; {said}"
        charts.append(Chart(f"count{at}", short_name(row.name), caption, (view,), "small"))
    return charts


def _longest(process: ProcessRun, metric: str) -> Series | None:
    found = [series for (_, name), series in process.series.items() if name == metric and len(series)]
    return max(found, key=len, default=None)


def tracked_chart(process: ProcessRun) -> Chart | None:
    """Return the sizes of the tracked names, the largest few."""
    found = metrics_under(process, "tracked/")
    largest = sorted(found.items(), key=lambda item: (-item[1].last, item[0]))[:MAX_LINES]
    drawn = lines(largest)
    if not drawn:
        return None
    few = len(drawn) < len(found)
    said = f"Deep size of {'the largest tracked names' if few else 'each tracked name'} at the end of each generation"
    caption = clauses(said, drawn_words(len(drawn), len(found), "tracked name"))
    return Chart("tracked", "", caption, ({"kind": "lines", "unit": "bytes", "lines": drawn},))


def device_charts(process: ProcessRun) -> list[Chart]:
    """Return for each accelerator its pools in bytes, and its blocks, retries and failures as counts."""
    metrics = [metric for point, metric in process.series if point == GENERATION_END]
    charts = []
    for at, device in enumerate(devices_in(metrics)):
        pools = lines((metric_words(f"{device}/{m}"), series_of(process, f"{device}/{m}")) for m in _POOLS)
        counts = lines(
            (metric_words(f"{device}/{m}"), series_of(process, f"{device}/{m}"))
            for m in ("active_blocks", "alloc_retries", "ooms")
        )
        views = [{"name": "Pools", "kind": "lines", "unit": "bytes", "lines": pools}] if pools else []
        views += [{"name": "Blocks, retries and failures", "kind": "lines", "unit": "count", "lines": counts}] * bool(
            counts
        )
        allocated = series_of(process, f"{device}/allocated_bytes")
        words = f"allocated {change_words('_bytes', allocated.values)}" if allocated else "its allocator's counters"
        if views:
            charts.append(Chart(f"device{at}", device, f"{device}, at the end of each generation: {words}", (*views,)))
    return charts


def snapshots_chart(process: ProcessRun) -> Chart | None:
    """Return memory at each snapshot in their order: of a program that marks no generation, all there is to draw."""
    taken = [(s.label, s.v.get("rss_bytes", s.v.get("anonymous_bytes"))) for s in process.snapshots]
    known = [(label, ram) for label, ram in taken if ram is not None]
    drawn = line("memory", enumerate(ram for _, ram in known))
    if drawn is None or len(known) < 2:
        return None
    view = {"kind": "lines", "unit": "bytes", "lines": [drawn], "labels": [label for label, _ in known]}
    words = change_words("rss_bytes", [ram for _, ram in known])
    return Chart(
        "snapshots", "", f"Memory at {plural(len(known), 'snapshot')}, in their order: {words}", (view,), "short"
    )


def throughput_chart(rollout: RolloutReport) -> Chart | None:
    """Return items per second, generation by generation, where the program said how many it did."""
    drawn = line("items per second", [(r.generation, r.items_per_s) for r in rollout.rows if r.items_per_s is not None])
    if drawn is None:
        return None
    change = rollout.throughput_change
    words = "" if change is None else f"; the newest quarter against the first: {change:+.0%}"
    view = {"kind": "lines", "unit": "rate", "lines": [drawn]}
    return Chart("throughput", "", f"Items per second in each generation{words}", (view,), "short")
