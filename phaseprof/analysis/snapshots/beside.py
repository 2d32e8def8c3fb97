"""TensorBoard scalars laid beside the snapshots: matched by step, compared in level, slope and correlation."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import correlation, median

from phaseprof.analysis.event_files import ScalarSeries
from phaseprof.analysis.snapshots.series import DeviceSeries
from phaseprof.analysis.snapshots.sites import per_step
from phaseprof.units import GB, GIB, KB, KIB, MB, MIB

# A tag speaks of device memory if it names it or what the allocator counts.
_MEMORY_TAG = re.compile(r"gpu|cuda|vram|alloc|reserved|mem(?!bership)", re.IGNORECASE)
_UNITS = {"B": 1, "KB": KB, "KiB": KIB, "MB": MB, "MiB": MIB, "GB": GB, "GiB": GIB}
_NAMED_UNITS = (
    (re.compile(r"(?<![a-z])gi?b(?![a-z])", re.IGNORECASE), ("GiB", "GB")),
    (re.compile(r"(?<![a-z])mi?b(?![a-z])", re.IGNORECASE), ("MiB", "MB")),
    (re.compile(r"(?<![a-z])ki?b(?![a-z])", re.IGNORECASE), ("KiB", "KB")),
    (re.compile(r"bytes", re.IGNORECASE), ("B",)),
)
# Levels of one program's memory differ by less than this between two places of one iteration.
_SAME_LEVEL = 4.0


@dataclass(frozen=True)
class ScalarMatch:
    """One memory scalar beside one counter of the snapshots.

    Attributes:
        tag: the scalar; ``run`` the folder it came from.
        metric: the counter it is compared with: ``active_bytes`` or ``reserved_bytes``.
        matched_steps: steps that both have, in order.
        unit: "GiB", "GB" and so on; ``None`` if no unit brings the levels together.
        unit_reason: how the unit was found, in words.
        offset_bytes: median of scalar less counter.
        scalar_slope: bytes per step of the scalar at the matched steps; ``snapshot_slope`` that of the counter.
        all_steps_slope: bytes per step of the scalar between the first and the last snapshot, all its points.
        r: Pearson correlation; ``None`` if undefined, and ``r_reason`` says why.
        scalar_bytes: the scalar at the matched steps, in bytes; empty without a unit.
    """

    tag: str
    run: str
    metric: str
    matched_steps: tuple[int, ...]
    unit: str | None
    unit_reason: str
    offset_bytes: float | None = None
    scalar_slope: float | None = None
    snapshot_slope: float | None = None
    all_steps_slope: float | None = None
    r: float | None = None
    r_reason: str = ""
    scalar_bytes: tuple[float, ...] = ()


def match_scalars(scalars: Sequence[ScalarSeries], series: DeviceSeries) -> tuple[ScalarMatch, ...]:
    """Compare every scalar that speaks of device memory with the snapshots of one device."""
    return tuple(_match(scalar, series) for scalar in scalars if _MEMORY_TAG.search(scalar.tag))


def _match(scalar: ScalarSeries, series: DeviceSeries) -> ScalarMatch:
    metric = "reserved_bytes" if "reserved" in scalar.tag.lower() else "active_bytes"
    at = dict(zip(scalar.steps, scalar.values, strict=True))
    pairs = [(row.step, at[row.step], getattr(row, metric)) for row in series.rows if row.step in at]
    steps = tuple(step for step, _, _ in pairs)
    if not pairs or series.step_source != "name":
        why = "no step is in both" if series.step_source == "name" else "the snapshots' names give no steps"
        return ScalarMatch(scalar.tag, scalar.run, metric, (), None, why)
    theirs, ours = [value for _, value, _ in pairs], [value for _, _, value in pairs]
    unit, reason = _guess_unit(scalar.tag, theirs, ours)
    if unit is None:
        return ScalarMatch(scalar.tag, scalar.run, metric, steps, None, reason)
    factor = _UNITS[unit]
    scaled = [value * factor for value in theirs]
    r, why_not = _pearson(scaled, ours)
    return ScalarMatch(
        tag=scalar.tag,
        run=scalar.run,
        metric=metric,
        matched_steps=steps,
        unit=unit,
        unit_reason=reason,
        offset_bytes=median(mine - yours for mine, yours in zip(scaled, ours, strict=True)),
        scalar_slope=_slope(scaled, steps),
        snapshot_slope=_slope(ours, steps),
        all_steps_slope=_all_steps_slope(scalar, factor, steps),
        r=r,
        r_reason=why_not,
        scalar_bytes=tuple(scaled),
    )


def _guess_unit(tag: str, theirs: Sequence[float], ours: Sequence[int]) -> tuple[str | None, str]:
    """Take the unit whose levels lie nearest to the snapshots', among those that the tag allows."""
    named = next((units for pattern, units in _NAMED_UNITS if pattern.search(tag.replace("_", " "))), None)
    levels = [(mine, yours) for mine, yours in zip(theirs, ours, strict=True) if mine > 0 and yours > 0]
    if not levels:
        return None, "a level is zero throughout"
    distance = {
        unit: median(abs(math.log(mine * _UNITS[unit] / yours)) for mine, yours in levels) for unit in named or _UNITS
    }
    best = min(distance, key=lambda unit: distance[unit])
    if distance[best] > math.log(_SAME_LEVEL):
        return None, "in no unit does it lie near the snapshots' level: it counts something else"
    off = f"{_off(distance[best])} off the snapshots"
    others = [f"{unit} {_off(distance[unit])}" for unit in distance if unit != best and named]
    source = "named in the tag" if named and len(named) == 1 else "guessed from the levels"
    return best, f"{source}: {off}" + (f", {' and '.join(others)}" if others else "")


def _off(log_ratio: float) -> str:
    return f"{math.expm1(log_ratio):.1%}".replace("%", " %")


def _slope(values: Sequence[float], steps: Sequence[int]) -> float | None:
    return per_step(values, steps) if len(steps) > 1 else None


def _all_steps_slope(scalar: ScalarSeries, factor: int, steps: Sequence[int]) -> float | None:
    if len(steps) < 2:
        return None
    points = [(s, v * factor) for s, v in zip(scalar.steps, scalar.values, strict=True) if steps[0] <= s <= steps[-1]]
    xs, ys = [step for step, _ in points], [value for _, value in points]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - mean_x) ** 2 for x in xs)
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / spread


def _pearson(theirs: Sequence[float], ours: Sequence[int]) -> tuple[float | None, str]:
    if len(ours) < 3:
        return None, "fewer than three matched steps"
    for values, whose in ((ours, "the snapshots are"), (theirs, "the scalar is")):
        if min(values) == max(values):
            return None, f"{whose} constant"
    return correlation(theirs, ours), ""
