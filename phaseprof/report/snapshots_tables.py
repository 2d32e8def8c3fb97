"""What a report on CUDA memory snapshots says, table by table and sentence by sentence, whatever it is written in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phaseprof.analysis.snapshots.beside import ScalarMatch
from phaseprof.analysis.snapshots.findings import label, percent
from phaseprof.analysis.snapshots.frames import innermost_own, site
from phaseprof.analysis.snapshots.lines import LEAST_SHARE, SEGMENT_BYTES, GrowthLine
from phaseprof.analysis.snapshots.model import OutOfMemory
from phaseprof.analysis.snapshots.series import ClassGrowth, DeviceSeries
from phaseprof.analysis.snapshots.sites import SiteGrowth
from phaseprof.units import format_bytes, format_signed_bytes

MOST_PLACES = 6  # lines of code without a free
FLOOR_WORDS = (
    f"Floor: growth below {format_bytes(SEGMENT_BYTES)} (one allocator segment) or {percent(LEAST_SHARE)} of "
    "active memory over these steps is no leak."
)
ONE_WORDS = "One snapshot says what is there, not what grows: dump one every few steps and pass the folder."
R_WORDS = "r says that two logs agree, not that there is a leak: a filling buffer correlates as well."

Cells = list[list[str]]


@dataclass(frozen=True)
class Table:
    """One table of a report: what it is of, its header, and one row of cells for each thing."""

    title: str
    header: list[str]
    cells: Cells


def span_words(series: DeviceSeries) -> str:
    """Say how many snapshots there are and which steps they span: ``6 snapshots, step 0 to 100``."""
    n = len(series.rows)
    named = series.step_source == "name"
    first = f"step {series.steps[0]}" if named or n > 1 else "step unknown"
    span = first + (f" to {series.steps[-1]}" if n > 1 else "")
    source = "" if named or n == 1 else " (in order of time)"
    return f"{n} snapshot{'s' * (n > 1)}, {span}{source}"


def history_words(series: DeviceSeries) -> str:
    """Say what was recorded beside the blocks."""
    return {
        "none": "no history recorded",
        "state": "stacks of live blocks, no events",
        "events": "stacks and events recorded",
    }[series.history]


def place_words(series: DeviceSeries) -> str:
    """Name the device, and the rank where there is one: ``Rank 0, device 1``."""
    rank = "" if series.rank is None else f"Rank {series.rank}, "
    place = f"{rank}device {series.device}"
    return f"{place[0].upper()}{place[1:]}"


def growth_table(series: DeviceSeries) -> tuple[list[str], Cells]:
    """Return header and cells of the growth table."""
    header = ["step", "active", "small pool", "large pool", "blocks", "reserved", "inactive split", "segments"]
    cells = [
        [
            str(row.step),
            format_bytes(row.active_bytes),
            format_bytes(row.small_pool_bytes),
            format_bytes(row.large_pool_bytes),
            f"{row.active_blocks:,}",
            format_bytes(row.reserved_bytes),
            format_bytes(row.inactive_split_bytes),
            str(row.segments),
        ]
        for row in series.rows
    ]
    return header, cells


def slope_table(series: DeviceSeries) -> tuple[list[str], Cells]:
    """Return header and cells of the slopes, one judged counter a line."""
    header = ["counter", "a step", "per 1,000 steps", "interval a step", "growth", "verdict"]
    return header, [_slope_cells(line) for line in series.lines]


def counter_name(line: GrowthLine) -> str:
    """Name a counter as the tables do."""
    return label(line.metric).removeprefix("the ")


def signed(line: GrowthLine, value: float) -> str:
    """Write a change of a counter in its unit."""
    return format_signed_bytes(value) if line.metric.endswith("_bytes") else _signed_count(value)


def _slope_cells(line: GrowthLine) -> list[str]:
    if len(line.values) < 3:
        interval = "-"
    elif line.is_exact:
        interval = "exact"
    else:
        interval = f"{signed(line, line.slope_low)} to {signed(line, line.slope_high)}"
    verdict = line.verdict if line.votes else f"{line.verdict} (no vote)"
    rates = [signed(line, line.slope), signed(line, line.slope * 1000)]
    return [counter_name(line), *rates, interval, signed(line, line.growth), verdict]


def pool_facts(series: DeviceSeries) -> list[str]:
    """Say how memory is spread over pools, streams and pieces in the last snapshot, and what pools came."""
    last = series.rows[-1]
    facts = []
    if last.streams > 1:
        facts.append(f"{last.streams} streams have memory of their own")
    if last.private_pools:
        facts.append(f"{last.private_pools} private pools (a CUDA graph or a MemPool each)")
    if series.expandable_segments:
        facts.append(f"{series.expandable_segments} of {last.segments} segments are expandable")
    if last.pending_bytes:
        facts.append(f"{format_bytes(last.pending_bytes)} freed but waiting for a stream, counted as active")
    if last.active_bytes:
        rounding = last.active_bytes - last.requested_bytes
        facts.append(f"rounding takes {format_bytes(rounding)} ({percent(rounding / last.active_bytes)} of active)")
    if last.reserved_bytes:
        facts.append(
            f"inactive split is {percent(last.inactive_split_bytes / last.reserved_bytes)} of reserved, largest free "
            f"piece {format_bytes(last.largest_free_bytes)}"
        )
    new = series.new_pools
    if new.streams or new.private_pools:
        facts.append(
            f"new since the first snapshot: {new.streams} streams with {format_bytes(new.stream_bytes)} and "
            f"{new.private_pools} private pools with {format_bytes(new.private_bytes)} active, "
            f"{format_bytes(new.reserved_bytes)} reserved"
        )
    return facts


def class_table(series: DeviceSeries) -> Table | None:
    """Return block sizes: those there are in one snapshot, that changed in two, that grow in more."""
    if len(series.rows) == 1:
        shown, title = series.classes, "Live blocks by size"
        header, cells = ["pool", "block", "asked for", "blocks", "bytes"], _one_class
    else:
        changed = tuple(found for found in series.classes if found.growth != 0)
        shown = changed if len(series.rows) == 2 else series.growing_classes
        title = "Block sizes that changed" if len(series.rows) == 2 else "Block sizes that grow"
        header, cells = ["pool", "block", "asked for", "blocks", "blocks a step", "a step", "growth"], _class_cells
    return Table(title, header, [cells(found) for found in shown]) if shown else None


def _name_of(found: ClassGrowth) -> list[str]:
    return [found.kind, format_bytes(found.size_bytes), f"{found.requested_bytes:,} B"]


def _class_cells(found: ClassGrowth) -> list[str]:
    return [
        *_name_of(found),
        f"{found.blocks[0]:,} -> {found.blocks[-1]:,}",
        _signed_count(found.blocks_per_step),
        format_signed_bytes(found.bytes_per_step),
        format_signed_bytes(found.growth),
    ]


def _one_class(found: ClassGrowth) -> list[str]:
    return [*_name_of(found), f"{found.blocks[0]:,}", format_bytes(found.blocks[0] * found.size_bytes)]


def site_table(series: DeviceSeries) -> Table | None:
    """Return lines of the user's code by growth, or by bytes where one snapshot has stacks; ``None`` without stacks."""
    if not series.sites:
        return None
    if len(series.site_steps) == 1:
        header = ["line", "function", "blocks", "bytes", "most of one size", "phase"]
        return Table("Live blocks by line of your code", header, [_one_site(found) for found in series.sites])
    header = ["line", "function", "called by", "blocks a step", "a step", "growth", "phase"]
    cells = [_site_cells(found) for found in series.growing_sites]
    return Table("Lines of your code whose blocks grow", header, cells)


def site_notes(series: DeviceSeries) -> list[str]:
    """Say which caller bears the growth, and what has no stack."""
    notes = []
    if series.caller and series.growing_sites:
        lines = ", ".join(
            f"line {line} ({percent(growth / sum(series.caller.lines.values()))})"
            for line, growth in list(series.caller.lines.items())[:4]
        )
        notes.append(f"{percent(series.caller.share)} of this growth passes through {series.caller.name}: {lines}")
    if series.stackless:
        blocks, size = series.stackless
        notes.append(
            f"{blocks:,} live blocks ({format_bytes(size)}) have no stack: from the backward thread or before recording"
        )
    return notes


def _site_cells(found: SiteGrowth) -> list[str]:
    return [
        site(found.frame),
        found.frame.name,
        " < ".join(found.callers[:3]) or "-",
        _signed_count(found.blocks_per_step),
        format_signed_bytes(found.bytes_per_step),
        format_signed_bytes(found.growth),
        _phases(found),
    ]


def _one_site(found: SiteGrowth) -> list[str]:
    size, number = max(found.sizes.items(), key=lambda item: item[1])
    return [
        site(found.frame),
        found.frame.name,
        f"{found.blocks[0]:,}",
        format_bytes(found.active_bytes[0]),
        f"{number:,} x {size:,} B",
        _phases(found),
    ]


def _phases(found: SiteGrowth) -> str:
    return ", ".join(list(found.phases)[:2]) or "-"


def event_words(series: DeviceSeries) -> str:
    """Say how many recorded allocations have no free, and that this alone proves nothing."""
    events = series.events
    blocks = sum(found.blocks for found in events.survivors)
    size = sum(found.requested_bytes for found in events.survivors)
    return (
        f"{blocks:,} of {events.allocations:,} recorded allocations have no free ({format_bytes(size)} asked for); "
        "those of the last iteration are still in use, so this alone proves nothing"
    )


def event_table(series: DeviceSeries) -> Table | None:
    """Return allocations without a free by line and phase, largest first; ``None`` where none was recorded."""
    events = series.events
    if not events.allocations:
        return None
    groups: dict[tuple[str, str], list[int]] = {}
    for found in events.survivors:
        frame = innermost_own(found.stack)
        where = f"{site(frame)} in {frame.name}" if frame else "no stack (backward thread)"
        pair = groups.setdefault((where, found.phase or "-"), [0, 0])
        pair[0] += found.blocks
        pair[1] += found.requested_bytes
    ranked = sorted(groups.items(), key=lambda item: -item[1][1])
    title = f"Recorded events of the last snapshot: {events.events:,} over {events.span_s * 1000:.1f} ms"
    header = ["allocated at", "phase", "without a free", "asked for"]
    return Table(
        title, header, [[where, phase, f"{n:,}", format_bytes(asked)] for (where, phase), (n, asked) in ranked]
    )


def oom_words(series: DeviceSeries, oom: OutOfMemory) -> list[str]:
    """Say what was asked for when memory ran out, what was there, and what it was not for want of."""
    frame = innermost_own(oom.stack)
    words = [
        f"{format_bytes(oom.requested_bytes)} asked for"
        + (f" at {site(frame)} in {frame.name}" if frame else "")
        + (f" in phase {oom.phase}" if oom.phase else "")
    ]
    row = series.rows[-1]
    free_inside = row.reserved_bytes - row.active_bytes
    words.append(
        f"{format_bytes(row.active_bytes)} of {format_bytes(row.reserved_bytes)} reserved were occupied; the largest "
        f"free piece was {format_bytes(row.largest_free_bytes)}, all free pieces together {format_bytes(free_inside)}"
    )
    if oom.device_free_bytes > max(row.reserved_bytes, oom.requested_bytes):
        words.append(
            f"the device had {format_bytes(oom.device_free_bytes)} free: it was not full, but this process had reached "
            "its limit (set_per_process_memory_fraction)"
        )
    elif oom.device_free_bytes >= 0:
        words.append(f"the device had {format_bytes(oom.device_free_bytes)} free")
    if free_inside > max(oom.requested_bytes, row.reserved_bytes // 5):
        words.append("much of what is reserved was free in pieces: fragmentation contributed")
    else:
        words.append("nearly all of it was occupied: fragmentation is not the cause")
    return words


def scalar_table(scalars: Sequence[ScalarMatch]) -> tuple[list[str], Cells]:
    """Return header and cells of the comparison with TensorBoard."""
    header = ["tag", "beside", "matched", "unit", "offset", "slope a step", "snapshots' slope", "r"]
    return header, [_scalar_cells(match) for match in scalars]


def unit_words(match: ScalarMatch) -> str:
    """Say in which unit a scalar was read, and why."""
    return f"{match.tag}: unit {match.unit or 'unknown'}, {match.unit_reason}"


def _scalar_cells(match: ScalarMatch) -> list[str]:
    if match.r is not None:
        r = f"{match.r:.5f}"
    else:
        r = f"undefined ({match.r_reason})" if match.r_reason else "undefined"
    return [
        match.tag if match.run == "." else f"{match.run}: {match.tag}",
        match.metric.removesuffix("_bytes"),
        str(len(match.matched_steps)),
        match.unit or "?",
        format_signed_bytes(match.offset_bytes),
        format_signed_bytes(match.scalar_slope),
        format_signed_bytes(match.snapshot_slope),
        r,
    ]


def _signed_count(number: float) -> str:
    return f"{number:+,.4g}" if abs(number) < 1000 else f"{number:+,.0f}"
