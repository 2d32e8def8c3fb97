"""The data behind the charts on CUDA memory snapshots: counters, block sizes and lines of code over the steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from phaseprof.analysis.snapshots.beside import ScalarMatch
from phaseprof.analysis.snapshots.frames import site
from phaseprof.analysis.snapshots.lines import GrowthLine
from phaseprof.analysis.snapshots.series import DeviceSeries
from phaseprof.report.page.charts import MAX_LINES, Chart, line
from phaseprof.report.snapshots_tables import counter_name, place_words, signed
from phaseprof.report.words import capital, clauses, drawn_words
from phaseprof.units import format_signed_bytes

MAX_SCALARS = 40  # TensorBoard tags that can be chosen
_OCCUPIED = ("active_bytes", "small_pool_bytes", "large_pool_bytes")
_KEPT = ("active_bytes", "reserved_bytes", "inactive_split_bytes")

# One pool often bears all growth and lies upon the whole: the whole must still be seen.
_WIDE = "active memory"

Curve = tuple[str, Sequence[float]]


def memory_chart(series: DeviceSeries) -> Chart | None:
    """Return the bytes over the steps: as growth and as levels; ``None`` for a single snapshot."""
    if len(series.rows) < 2:
        return None
    known = {one.metric: one for one in series.lines if one.metric.endswith("_bytes")}
    grown = [(counter_name(one), _growth(one.values)) for one in known.values()]
    views = [
        _view("Growth since the first snapshot", grown, series.steps),
        _view("Active memory, by pool", _levels(known, _OCCUPIED), series.steps),
        _view("Active against reserved memory", _levels(known, _KEPT), series.steps),
    ]
    active = known["active_bytes"]
    said = (
        f"{place_words(series)}: active memory {format_signed_bytes(active.growth)} from step {series.steps[0]} to "
        f"{series.steps[-1]}"
    )
    return Chart("memory", "", said, tuple(views))


def _levels(known: Mapping[str, GrowthLine], metrics: Iterable[str]) -> list[Curve]:
    return [(counter_name(known[metric]), known[metric].values) for metric in metrics if metric in known]


def _growth(values: Sequence[float]) -> list[float]:
    return [value - values[0] for value in values]


def _view(name: str, curves: Iterable[Curve], steps: Sequence[int]) -> dict[str, object]:
    drawn = [
        {**(line(label, zip(steps, values, strict=True), color=color) or {}), "wide": label == _WIDE}
        for color, (label, values) in enumerate(curves)
    ]
    return {"name": name, "kind": "lines", "unit": "bytes", "lines": drawn}


def counter_charts(series: DeviceSeries) -> list[Chart]:
    """Return a small chart of each counter on a scale of its own, with its slope and verdict in words."""
    return [_counter_chart(one, series.steps) for one in series.lines] if len(series.rows) > 1 else []


def _counter_chart(one: GrowthLine, steps: Sequence[int]) -> Chart:
    name = counter_name(one)
    is_bytes = one.metric.endswith("_bytes")
    view = {
        "name": name, "kind": "lines", "unit": "bytes" if is_bytes else "count",
        "lines": [line(name, zip(steps, one.values, strict=True))], "broken": one.votes and one.verdict == "leak",
    }  # fmt: skip
    vote = "" if one.votes else ", has no vote"
    return Chart(one.metric, capital(name), f"{signed(one, one.slope)} a step: {one.verdict}{vote}", (view,), "small")


def class_chart(series: DeviceSeries) -> Chart | None:
    """Return the growth of the block sizes that grow most, in bytes since the first snapshot."""
    grown = series.growing_classes
    if len(series.rows) < 2 or not grown:
        return None
    several = len({found.kind for found in grown}) > 1
    curves = [
        (f"{found.size_bytes:,} B" + (f", {found.kind} pool" if several else ""),
         [(number - found.blocks[0]) * found.size_bytes for number in found.blocks])
        for found in grown[:MAX_LINES]
    ]  # fmt: skip
    return _growth_chart("classes", "Growth by block size", curves, series.steps, of=(len(grown), "growing block size"))


def site_chart(series: DeviceSeries) -> Chart | None:
    """Return the growth at the lines of code that grow most, in bytes since the first snapshot with stacks."""
    grown = series.growing_sites
    if len(series.site_steps) < 2 or not grown:
        return None
    curves = [(f"{site(found.frame)} {found.frame.name}", _growth(found.active_bytes)) for found in grown[:MAX_LINES]]
    return _growth_chart("sites", "Growth by line of code", curves, series.site_steps, of=(len(grown), "growing line"))


def _growth_chart(key: str, title: str, curves: Sequence[Curve], steps: Sequence[int], *, of: tuple[int, str]) -> Chart:
    top, values = curves[0]
    few = drawn_words(len(curves), *of)
    said = clauses(f"Live bytes more than at step {steps[0]}; {top} grows most: {format_signed_bytes(values[-1])}", few)
    return Chart(key, title, said, (_view(title, curves, steps),))


def scalar_chart(scalars: Sequence[ScalarMatch], series: DeviceSeries) -> Chart | None:
    """Return each TensorBoard scalar beside the counter it is compared with, at the steps that both have."""
    usable = [match for match in scalars if match.scalar_bytes and len(match.matched_steps) > 1]
    if not usable:
        return None
    views = [_scalar_view(match, series) for match in usable[:MAX_SCALARS]]
    said = clauses("A scalar and the snapshots' own counter at the steps that both have",
                   drawn_words(len(views), len(usable), "scalar"))  # fmt: skip
    return Chart("scalars", "", said, tuple(views), "short")


def _scalar_view(match: ScalarMatch, series: DeviceSeries) -> dict[str, object]:
    at = dict(zip(series.steps, series.rows, strict=True))
    ours = [getattr(at[step], match.metric) for step in match.matched_steps]
    name = match.tag if match.run == "." else f"{match.run}: {match.tag}"
    counter = match.metric.removesuffix("_bytes")
    return _view(name, [(f"snapshots: {counter}", ours), (name, match.scalar_bytes)], match.matched_steps)
