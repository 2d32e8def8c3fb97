"""From one device's series to findings: what grows, where, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence

from phaseprof.analysis.snapshots.frames import site
from phaseprof.analysis.snapshots.lines import GrowthLine
from phaseprof.analysis.snapshots.model import Frame
from phaseprof.analysis.snapshots.series import DeviceSeries
from phaseprof.analysis.snapshots.sites import CommonCaller, SiteGrowth
from phaseprof.records import Certainty, Evidence, Finding, Source, Verdict
from phaseprof.units import format_bytes, format_signed_bytes

# A pool, or new streams and private pools, are named as the place of growth if they bear this share of it.
_MOST = 0.9
# Lines of code that a summary names; the tables have them all.
_MOST_SITES = 3
# A tensor with one element: what a kept loss or metric looks like.
_SCALAR_BYTES = 8
# Reserved memory moves in whole segments: below this share of itself its growth is rounding.
_GAP_SHARE = 0.05

_VERDICT_ORDER: tuple[Verdict, ...] = (
    "leak",
    "too short",
    "growing",
    "filling",
    "step",
    "sawtooth",
    "plateau",
    "stable",
)


def device_verdict(series: DeviceSeries) -> Verdict:
    """Return the verdict on one device: a leak if a counter that votes leaks, else what active memory does."""
    voting = {line.verdict for line in series.lines if line.votes}
    if "leak" in voting:
        return "leak"
    active = series.line("active_bytes")
    return active.verdict if active else "too short"


def worst_verdict(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict that decides over several devices; *too short* when there is none."""
    return min(verdicts, key=_VERDICT_ORDER.index, default="too short")


def device_findings(series: DeviceSeries) -> tuple[Finding, ...]:
    """Build the findings on one device: at most one on what is occupied and one on fragmentation."""
    verdict = device_verdict(series)
    found = []
    if verdict in ("leak", "growing", "filling") or (series.is_doubtful and verdict == "too short"):
        found.append(_occupied(series, verdict))
    elif series.events.ooms:
        found.append(_out_of_memory(series))
    fragmentation = _fragmentation(series, verdict)
    if fragmentation:
        found.append(fragmentation)
    return tuple(found)


def leading_line(series: DeviceSeries) -> GrowthLine:
    """Return the counter that tells the growth best: the one pool that bears it, else all active bytes."""
    active = series.line("active_bytes")
    assert active is not None
    if series.is_grown_by_new_pools:
        return active
    for metric in ("small_pool_bytes", "large_pool_bytes"):
        line = series.line(metric)
        if line and active.growth > 0 and line.growth >= _MOST * active.growth and line.verdict == active.verdict:
            return line
    leaking = [
        line for line in series.lines if line.votes and line.verdict == "leak" and line.metric.endswith("_bytes")
    ]
    return active if active.verdict == "leak" or not leaking else leaking[0]


def growth_words(series: DeviceSeries, line: GrowthLine) -> str:
    """Say how one counter grows: a step, how evenly, and as what share in which span.

    Example: ``the small pool grows 86.00 KiB a step (12 blocks, the same in every interval), 12.2 % in 100 steps``.
    """
    blocks = series.line("active_blocks")
    details = [f"{blocks.slope:.4g} blocks"] if blocks and blocks.slope > 0 else []
    if line.is_exact:
        details.append("the same in every interval")
    elif line.slope_high > line.slope_low:
        details.append(f"{format_bytes(line.slope_low)} to {format_bytes(line.slope_high)}")
    inside = f" ({', '.join(details)})" if details else ""
    first = series.rows[line.judged_from].active_bytes
    share = f", {percent(line.judged_growth / first)}" if first else ""
    span = series.steps[-1] - series.steps[line.judged_from]
    return f"{label(line.metric)} grows {format_bytes(line.slope)} a step{inside}{share} in {span} steps"


def percent(share: float) -> str:
    """Write a share as a percentage, with the digits that mean something.

    >>> percent(0.1223), percent(0.00498), percent(0.000456), percent(1.48), percent(1)
    ('12.2 %', '0.5 %', '0.05 %', '148 %', '100 %')
    """
    size = abs(share) * 100
    digits = 0 if size >= 99.95 or size == 0 else 1 if size >= 0.1 else 2 if size >= 0.01 else 3
    return f"{share * 100:.{digits}f} %"


def label(metric: str) -> str:
    """Return the words for a counter."""
    return {
        "active_bytes": "active memory", "small_pool_bytes": "the small pool", "large_pool_bytes": "the large pool",
        "active_blocks": "active blocks", "reserved_bytes": "reserved memory",
        "inactive_split_bytes": "inactive split", "segments": "segments",
    }[metric]  # fmt: skip


def _occupied(series: DeviceSeries, verdict: Verdict) -> Finding:
    line = leading_line(series)
    grown = series.growing_sites
    caller = series.caller
    first_site = grown[0] if grown else None
    confidence = line.confidence
    if series.has_few_classes:
        confidence *= 0.8  # a buffer that fills would add blocks of as few sizes
    return Finding(
        verdict=verdict,
        kind="gpu",
        phase=_phase(grown),
        subject=_subject(series),
        holder=(f"allocated under {caller_words(caller)}",) if caller else (),
        site=site(first_site.frame) if first_site else None,
        metric=line.metric,
        slope=line.slope,
        slope_unit="bytes/step",
        slope_low=line.slope_low,
        slope_high=line.slope_high,
        since_generation=series.steps[line.judged_from],
        confidence=round(confidence, 3),
        summary=_summary(series, line, verdict),
        advice=_advice(series, verdict),
        evidence=tuple(
            Evidence("snapshot", found.metric, series.steps, tuple(map(float, found.values)))
            for found in series.lines
            if found.votes
        ),
        certainty=_certainty(_phase(grown), caller),
    )


def _certainty(phase: str | None, caller: CommonCaller | None) -> Certainty:
    """Snapshots measure all that their stacks tell."""
    known: tuple[Source, Source] = ("not known", "measured")
    return Certainty("measured", known[phase is not None], "measured", known[caller is not None])


def _where(series: DeviceSeries) -> str:
    rank = "" if series.rank is None else f"rank {series.rank}, "
    return f"{rank}device {series.device}"


def _summary(series: DeviceSeries, line: GrowthLine, verdict: Verdict) -> str:
    words = growth_words(series, line)
    if verdict == "growing":
        words += ", no plateau yet; below the floor"
    elif verdict == "filling":
        words += ", ever slower: a buffer that fills"
    parts = [words]
    if series.is_grown_by_new_pools:
        parts.append(_pools_words(series))
    elif line.metric == "small_pool_bytes":
        large = series.line("large_pool_bytes")
        parts.append("the large pool is flat" if large and large.growth == 0 else "the large pool grows less")
    if series.growing_sites:
        parts.append(_sites_words(series))
    if verdict == "too short":
        parts.append(
            f"{len(series.rows)} snapshots and {len(series.growing_classes)} sizes do not tell a leak from a filling "
            "buffer"
        )
    return f"{_where(series)}: {'; '.join(parts)}"


def _sites_words(series: DeviceSeries) -> str:
    total = sum(found.growth for found in series.growing_sites)
    top = [
        f"{site(found.frame)} in {found.frame.name} ({percent(found.growth / total)})"
        for found in series.growing_sites[:_MOST_SITES]
    ]
    caller = series.caller
    if caller is None:
        return f"allocated at {', '.join(top)}"
    return f"{percent(caller.share)} of it allocated under {caller_words(caller)}: {', '.join(top)}"


def caller_words(caller: CommonCaller) -> str:
    """Write a caller with the line through which most growth passes: ``collect (train.py:62)``."""
    line = next(iter(caller.lines), 0)
    return f"{caller.name} ({site(Frame(caller.name, caller.filename, line))})"


def _pools_words(series: DeviceSeries) -> str:
    pools = series.new_pools
    parts = []
    if pools.streams:
        parts.append(f"{pools.streams} new streams ({format_bytes(pools.stream_bytes)})")
    if pools.private_pools:
        parts.append(f"{pools.private_pools} new private pools ({format_bytes(pools.private_bytes)})")
    each = ", more at each snapshot," if pools.come_with_steps else ""
    return f"{' and '.join(parts)}{each} hold it"


def _subject(series: DeviceSeries) -> str:
    if series.is_grown_by_new_pools:
        pools = series.new_pools
        names = [("streams", pools.streams), ("private pools of CUDA graphs or MemPool", pools.private_pools)]
        return " and ".join(name for name, number in names if number)
    grown = series.growing_classes
    return f"blocks of {len(grown)} size{'s' if len(grown) != 1 else ''}"


def _phase(grown: Sequence[SiteGrowth]) -> str | None:
    """Return the phase that allocated the blocks at the lines that grow, if one did most of it."""
    votes: dict[str, float] = {}
    for found in grown:
        total = sum(found.phases.values())
        for phase, number in found.phases.items():
            votes[phase] = votes.get(phase, 0.0) + found.growth * number / total
    if not votes:
        return None
    best = max(votes, key=lambda phase: votes[phase])
    return best if votes[best] >= 0.5 * sum(found.growth for found in grown) else None


def kept_scalars(series: DeviceSeries) -> tuple[SiteGrowth, ...]:
    """Return lines that keep a value of one element a step: what a loss or metric kept as a tensor looks like."""
    return tuple(
        found
        for found in series.growing_sites
        if found.blocks_per_step >= 1 and max(found.sizes, default=0) <= _SCALAR_BYTES
    )


def _advice(series: DeviceSeries, verdict: Verdict) -> str:
    if series.is_grown_by_new_pools:
        return (
            "A stream or a CUDA graph is made anew as the loop goes on: each stream gets its own library "
            "workspaces, each graph its own pool, and neither is given back while it lives. Make them once."
        )
    scalars = kept_scalars(series)
    hint = ""
    if scalars:
        names = ", ".join(site(found.frame) for found in scalars)
        hint = (
            f" {names} keeps a tensor of one element at each step: if it is a loss or a metric, keep .item() instead."
        )
    if verdict != "leak":
        return (
            "A buffer that still fills and a small leak look the same here: take two more snapshots once the largest "
            f"buffer is full; flat then means no leak.{hint}"
        )
    same = "A buffer with a capacity above these steps would look the same."
    if series.caller:
        return (
            f"Look at what {series.caller.name} keeps from one step to the next: compute it under torch.no_grad() or "
            f"detach it. {same}{hint}"
        )
    if series.growing_sites:
        return f"Look at what keeps the results of the lines named from one step to the next. {same}{hint}"
    return (
        "Record stacks for a few steps (torch.cuda.memory._record_memory_history(stacks='python')) and dump again: "
        f"blocks then name the lines. {same}"
    )


def _out_of_memory(series: DeviceSeries) -> Finding:
    """Say who holds the memory at an allocation that failed: one moment, so no claim about growth."""
    oom, row = series.events.ooms[-1], series.rows[-1]
    parts = [
        f"{_where(series)}: out of memory with {format_bytes(row.active_bytes)} of {format_bytes(row.reserved_bytes)} "
        "occupied"
    ]
    top = series.sites[0] if series.sites else None
    if top and row.active_bytes:
        size, number = max(top.sizes.items(), key=lambda item: item[1])
        parts.append(
            f"{percent(top.active_bytes[-1] / row.active_bytes)} of that was allocated at {site(top.frame)} in "
            f"{top.frame.name}: {top.blocks[-1]:,} blocks, {number:,} of them of {size:,} bytes"
        )
    return Finding(
        verdict="too short",
        kind="gpu",
        phase=oom.phase,
        site=site(top.frame) if top else None,
        metric="active_bytes",
        summary="; ".join(parts),
        advice=(
            "Lines with hundreds of live blocks of one size keep what each call made; weights and optimizer state are "
            "a few dozen. Snapshots every few steps would show which of them grow."
        ),
    )


def _fragmentation(series: DeviceSeries, verdict: Verdict) -> Finding | None:
    """Report reserved memory that grows while what is occupied does not."""
    reserved = series.line("reserved_bytes")
    active = series.line("active_bytes")
    if reserved is None or active is None or len(series.rows) < 3 or verdict == "leak":
        return None
    gap_growth = reserved.growth - max(0, active.growth)
    if gap_growth < _GAP_SHARE * series.rows[0].reserved_bytes or reserved.growth <= 0:
        return None
    return Finding(
        verdict="growing",
        kind="fragmentation",
        metric="reserved_bytes",
        slope=reserved.slope,
        slope_unit="bytes/step",
        slope_low=reserved.slope_low,
        slope_high=reserved.slope_high,
        confidence=0.5,
        summary=(
            f"{_where(series)}: reserved memory grew {format_signed_bytes(reserved.growth)}, active memory "
            f"{format_signed_bytes(active.growth)}: free pieces inside segments, not a leak"
        ),
        advice="Try PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or fewer different tensor sizes.",
        evidence=(
            Evidence("snapshot", "reserved_bytes", series.steps, tuple(map(float, reserved.values))),
            Evidence("snapshot", "active_bytes", series.steps, tuple(map(float, active.values))),
        ),
    )
