"""The printed report on CUDA memory snapshots."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from phaseprof.analysis.snapshots import SnapshotAnalysis
from phaseprof.analysis.snapshots.beside import ScalarMatch
from phaseprof.analysis.snapshots.findings import device_verdict, label, percent
from phaseprof.analysis.snapshots.frames import innermost_own, site
from phaseprof.analysis.snapshots.lines import LEAST_SHARE, SEGMENT_BYTES, GrowthLine
from phaseprof.analysis.snapshots.model import OutOfMemory
from phaseprof.analysis.snapshots.series import ClassGrowth, DeviceSeries
from phaseprof.analysis.snapshots.sites import SiteGrowth
from phaseprof.units import format_bytes, format_signed_bytes

_MOST_LINES = 12
_WIDTH = 110  # of sentences; the growth table is about as wide
_TOO_SHORT = "Three snapshots that grow evenly can tell a leak, one says what is there and two what changed."

Cells = list[list[str]]


def render_text(analysis: SnapshotAnalysis) -> str:
    """Write the whole report; sections without content are left out."""
    lines = [f"CUDA memory snapshots: {analysis.folder}", f"Verdict: {analysis.verdict.upper()}"]
    lines += [f"  {_TOO_SHORT}"] * (analysis.verdict == "too short" and not analysis.findings)
    for finding in analysis.findings:
        lines += ["", *_wrapped(f"{finding.verdict.upper()} ({finding.kind}): {finding.summary}")]
        lines += _wrapped(f"  {finding.advice}")
    for error in analysis.errors:
        lines += ["", f"UNREADABLE: {error}"]
    for series in analysis.series:
        lines += ["", *series_lines(series)]
    lines += tensorboard_lines(analysis.scalars)
    for note in analysis.notes:
        lines += ["", f"Note: {note}"]
    return "\n".join(lines)


def _wrapped(sentence: str) -> list[str]:
    return textwrap.wrap(sentence, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def series_lines(series: DeviceSeries) -> Iterator[str]:
    """Yield the sections on one device."""
    yield _heading(series)
    yield ""
    yield from table(*growth_table(series))
    if len(series.rows) > 1:
        yield from ("", "Slopes")
        yield from table(*slope_table(series))
        yield (
            f"Floor: growth below {format_bytes(SEGMENT_BYTES)} (one allocator segment) or {percent(LEAST_SHARE)} of "
            "active memory over these steps is no leak."
        )
    yield from _pool_lines(series)
    yield from _class_lines(series)
    yield from _site_lines(series)
    yield from _event_lines(series)
    for oom in series.events.ooms:
        yield from _oom_lines(series, oom)
    if len(series.rows) == 1:
        yield ""
        yield "One snapshot says what is there, not what grows: dump one every few steps and pass the folder."


def _heading(series: DeviceSeries) -> str:
    n = len(series.rows)
    rank = "" if series.rank is None else f"Rank {series.rank}, "
    named = series.step_source == "name"
    first = f"step {series.steps[0]}" if named or n > 1 else "step unknown"
    span = first + (f" to {series.steps[-1]}" if n > 1 else "")
    source = "" if named or n == 1 else " (in order of time)"
    history = {
        "none": "no history recorded",
        "state": "stacks of live blocks, no events",
        "events": "stacks and events recorded",
    }[series.history]
    place = f"{rank}device {series.device}"
    grown = "" if n < 3 else f": {device_verdict(series)}"
    return f"== {place[0].upper()}{place[1:]}{grown} == {n} snapshot{'s' * (n > 1)}, {span}{source}, {history}"


def growth_table(series: DeviceSeries) -> tuple[list[str], Cells]:
    """Return header and cells of the growth table."""
    header = ["step", "active", "small pool", "large pool", "blocks", "reserved", "inactive split", "segments"]
    cells = [
        [
            str(row.step),
            format_bytes(row.active_bytes),
            _bytes_or_dash(row.small_pool_bytes),
            _bytes_or_dash(row.large_pool_bytes),
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


def _slope_cells(line: GrowthLine) -> list[str]:
    write = format_signed_bytes if line.metric.endswith("_bytes") else _signed_count
    if len(line.values) < 3:
        interval = "-"
    elif line.is_exact:
        interval = "exact"
    else:
        interval = f"{write(line.slope_low)} to {write(line.slope_high)}"
    verdict = line.verdict if line.votes else f"{line.verdict} (no vote)"
    return [
        label(line.metric).removeprefix("the "),
        write(line.slope),
        write(line.slope * 1000),
        interval,
        write(line.growth),
        verdict,
    ]


def _pool_lines(series: DeviceSeries) -> Iterator[str]:
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
    if facts:
        yield from ("", "Pools and fragmentation")
        yield from (f"  {fact}" for fact in facts)
    new = series.new_pools
    if new.streams or new.private_pools:
        yield (
            f"  new since the first snapshot: {new.streams} streams with {format_bytes(new.stream_bytes)} and "
            f"{new.private_pools} private pools with {format_bytes(new.private_bytes)} active, "
            f"{format_bytes(new.reserved_bytes)} reserved"
        )


def _class_lines(series: DeviceSeries) -> Iterator[str]:
    if len(series.rows) == 1:
        shown, title = series.classes, "Live blocks by size"
        header, cells = ["pool", "block", "asked for", "blocks", "bytes"], _one_class
    else:
        changed = tuple(found for found in series.classes if found.growth != 0)
        shown = changed if len(series.rows) == 2 else series.growing_classes
        title = "Block sizes that changed" if len(series.rows) == 2 else "Block sizes that grow"
        header, cells = ["pool", "block", "asked for", "blocks", "blocks a step", "a step", "growth"], _class_cells
    if not shown:
        return
    yield from ("", f"{title} ({len(shown)})")
    yield from table(header, [cells(found) for found in shown[:_MOST_LINES]])
    yield from _more(len(shown))


def _class_cells(found: ClassGrowth) -> list[str]:
    return [
        found.kind,
        format_bytes(found.size_bytes),
        f"{found.requested_bytes:,} B",
        f"{found.blocks[0]:,} -> {found.blocks[-1]:,}",
        _signed_count(found.blocks_per_step),
        format_signed_bytes(found.bytes_per_step),
        format_signed_bytes(found.growth),
    ]


def _one_class(found: ClassGrowth) -> list[str]:
    return [
        found.kind,
        format_bytes(found.size_bytes),
        f"{found.requested_bytes:,} B",
        f"{found.blocks[0]:,}",
        format_bytes(found.blocks[0] * found.size_bytes),
    ]


def _site_lines(series: DeviceSeries) -> Iterator[str]:
    if not series.sites:
        return
    one = len(series.site_steps) == 1
    shown = series.sites if one else series.growing_sites
    title = "Live blocks by line of your code" if one else "Lines of your code whose blocks grow"
    yield from ("", f"{title} ({len(shown)})")
    if one:
        yield from table(
            ["line", "function", "blocks", "bytes", "most of one size", "phase"],
            [_one_site(found) for found in shown[:_MOST_LINES]],
        )
    elif shown:
        yield from table(
            ["line", "function", "called by", "blocks a step", "a step", "growth", "phase"],
            [_site_cells(found) for found in shown[:_MOST_LINES]],
        )
    yield from _more(len(shown))
    if series.caller and shown:
        lines = ", ".join(
            f"line {line} ({percent(growth / sum(series.caller.lines.values()))})"
            for line, growth in list(series.caller.lines.items())[:4]
        )
        yield f"{percent(series.caller.share)} of this growth passes through {series.caller.name}: {lines}"
    if series.stackless:
        blocks, size = series.stackless
        yield f"{blocks:,} live blocks ({format_bytes(size)}) have no stack: backward thread or before recording"


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


def _event_lines(series: DeviceSeries) -> Iterator[str]:
    events = series.events
    if not events.allocations:
        return
    blocks = sum(found.blocks for found in events.survivors)
    size = sum(found.requested_bytes for found in events.survivors)
    yield ""
    yield f"Recorded events of the last snapshot: {events.events:,} over {events.span_s * 1000:.1f} ms"
    yield (
        f"  {blocks:,} of {events.allocations:,} recorded allocations have no free ({format_bytes(size)} asked for); "
        "those of the last iteration are still in use, so this alone proves nothing"
    )
    groups: dict[tuple[str, str], list[int]] = {}
    for found in events.survivors:
        frame = innermost_own(found.stack)
        where = f"{site(frame)} in {frame.name}" if frame else "no stack (backward thread)"
        pair = groups.setdefault((where, found.phase or "-"), [0, 0])
        pair[0] += found.blocks
        pair[1] += found.requested_bytes
    ranked = sorted(groups.items(), key=lambda item: -item[1][1])
    yield from table(
        ["allocated at", "phase", "without a free", "asked for"],
        [[where, phase, f"{n:,}", format_bytes(asked)] for (where, phase), (n, asked) in ranked[:6]],
    )


def _oom_lines(series: DeviceSeries, oom: OutOfMemory) -> Iterator[str]:
    row = series.rows[-1] if series.rows else None
    frame = innermost_own(oom.stack)
    yield ""
    yield (
        f"Out of memory: {format_bytes(oom.requested_bytes)} asked for"
        + (f" at {site(frame)} in {frame.name}" if frame else "")
        + (f" in phase {oom.phase}" if oom.phase else "")
    )
    if row is None:
        return
    free_inside = row.reserved_bytes - row.active_bytes
    yield (
        f"  {format_bytes(row.active_bytes)} of {format_bytes(row.reserved_bytes)} reserved were occupied; the largest "
        f"free piece had {format_bytes(row.largest_free_bytes)}, all together {format_bytes(free_inside)}"
    )
    if oom.device_free_bytes > max(row.reserved_bytes, oom.requested_bytes):
        yield (
            f"  the device had {format_bytes(oom.device_free_bytes)} free: not the device was full, a limit of this "
            "process was reached (set_per_process_memory_fraction)"
        )
    elif oom.device_free_bytes >= 0:
        yield f"  the device had {format_bytes(oom.device_free_bytes)} free"
    if free_inside > max(oom.requested_bytes, row.reserved_bytes // 5):
        yield "  much of what is reserved was free in pieces: fragmentation took part"
    else:
        yield "  nearly all of it was occupied: fragmentation is not the cause"


def tensorboard_lines(scalars: Sequence[ScalarMatch]) -> Iterator[str]:
    """Yield the comparison with TensorBoard scalars."""
    if not scalars:
        return
    yield from ("", "TensorBoard scalars beside the snapshots")
    yield from table(*scalar_table(scalars))
    for match in scalars:
        yield f"  {match.tag}: unit {match.unit or 'unknown'}, {match.unit_reason}"
    yield "  r says that two logs agree, not that there is a leak: a filling buffer correlates as well."


def scalar_table(scalars: Sequence[ScalarMatch]) -> tuple[list[str], Cells]:
    """Return header and cells of the comparison with TensorBoard."""
    header = ["tag", "beside", "matched", "unit", "offset", "slope a step", "snapshots' slope", "r"]
    return header, [_scalar_cells(match) for match in scalars]


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
        "-" if match.offset_bytes is None else format_signed_bytes(match.offset_bytes),
        "-" if match.scalar_slope is None else format_signed_bytes(match.scalar_slope),
        "-" if match.snapshot_slope is None else format_signed_bytes(match.snapshot_slope),
        r,
    ]


def table(header: list[str], cells: Cells) -> list[str]:
    """Lay cells out in columns, numbers to the right."""
    from tabulate import tabulate

    align = ["left" if _is_words(column) else "right" for column in zip(*cells, strict=True)]
    text: str = tabulate(cells, header, tablefmt="simple", disable_numparse=True, colalign=align)
    return text.split("\n")


def _is_words(column: Sequence[str]) -> bool:
    return not all(cell[:1] in "+-?" or cell[:1].isdigit() for cell in column)


def _more(number: int) -> Iterator[str]:
    if number > _MOST_LINES:
        yield f"... and {number - _MOST_LINES} more (see --json or --out)"


def _signed_count(number: float) -> str:
    return f"{number:+,.4g}" if abs(number) < 1000 else f"{number:+,.0f}"


def _bytes_or_dash(number: int | None) -> str:
    return "-" if number is None else format_bytes(number)
