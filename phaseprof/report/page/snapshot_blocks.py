"""Blocks of CUDA memory by who allocated them: flame graphs of what is alive, blocks over time, stacks in full."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from phaseprof.analysis.snapshots.frames import innermost_own, site
from phaseprof.analysis.snapshots.model import Frame, Stack, Timeline
from phaseprof.analysis.snapshots.series import DeviceSeries
from phaseprof.report.flames import Flame, tree_of
from phaseprof.report.page.charts import Chart
from phaseprof.report.page.flame import flame_view
from phaseprof.report.page.markup import Html, element, join
from phaseprof.report.page.source import Site, editor_link
from phaseprof.report.words import capital, plural
from phaseprof.units import format_bytes, format_signed_bytes

_STACKS = 6  # written out in full
_FRAMES = 60  # of each
_NO_STACK = "no stack recorded"


def blocks_flame(series: DeviceSeries) -> Chart | None:
    """Return what is alive by stack: what the recorded events did not free, and every block of the last snapshot."""
    survivors = Counter[Stack]()
    for one in series.events.survivors:
        survivors[one.stack] += one.requested_bytes
    alive = Counter({stack: totals.active_bytes for stack, totals in series.stacks.items()})
    if series.stackless:
        alive[()] += series.stackless[1]
    named = (("Survivors of the recorded events", survivors), ("Live blocks of the last snapshot", alive))
    flames = [flame for title, sizes in named if any(sizes) and (flame := _flame(title, sizes)) is not None]
    if not flames:
        return None
    said = f"{flames[0].title} by stack, {format_bytes(flames[0].n_bytes)}; the outermost function on top"
    return Chart("flame", "", f"{said}. A click makes a part as wide as the whole.",
                 tuple(map(flame_view, flames)), "flames")  # fmt: skip


def _flame(title: str, sizes: Mapping[Stack, int]) -> Flame | None:
    own: dict[tuple[str, ...], int] = Counter()
    for stack, size in sizes.items():
        own[("blocks", *(map(_name, reversed(stack)) if stack else (_NO_STACK,)))] += size
    flame = tree_of(title, title, own)
    return flame if flame.n_bytes > 0 else None


def _name(frame: Frame) -> str:
    return f"{frame.name} ({site(frame)})" if frame.line else frame.name


def timeline_chart(timeline: Timeline | None) -> Chart | None:
    """Return the largest blocks over the recorded events, one on the other, and the sum of all."""
    if timeline is None or timeline.n_events < 2:
        return None
    labels: dict[str, int] = {}
    rows = [
        [block.start, block.end, block.size_bytes, labels.setdefault(_allocator(block.stack), len(labels))]
        for block in timeline.blocks
    ]
    view = {
        "kind": "blocks", "unit": "bytes", "n": timeline.n_events, "blocks": rows, "labels": list(labels),
        "at": list(timeline.at), "level": list(timeline.level_bytes), "before": timeline.before_bytes,
    }  # fmt: skip
    few = f"the {len(rows)} largest of " if len(rows) < timeline.n_blocks else ""
    said = f"{few}{plural(timeline.n_blocks, 'block')} over {plural(timeline.n_events, 'event')} of the last snapshot"
    return Chart("timeline", "", f"{capital(said)}; the line is the sum of all that the events report", (view,))


def _allocator(stack: Stack) -> str:
    frame = innermost_own(stack)
    return _NO_STACK if frame is None else _name(frame)


def full_stacks(series: DeviceSeries) -> Html:
    """Return the stacks behind the lines that grow most, each in a part of its own that opens at a click."""
    found = [one for one in series.growing_sites if one.example][:_STACKS]
    parts = [
        element(
            "details",
            element("summary", f"{site(one.frame)} {one.frame.name}: {format_signed_bytes(one.growth)}, "
                               f"{plural(one.n_stacks, 'stack')}, the one with most blocks"),
            element("ol", *_frames(one.example), class_="stack"),
        )
        for one in found
    ]  # fmt: skip
    return join(element("h3", "Stacks"), *parts) if parts else Html("")


def _frames(stack: Sequence[Frame]) -> Iterable[Html]:
    for frame in stack[:_FRAMES]:
        yield element("li", element("code", frame.name), " ", editor_link(Site(frame.filename, frame.line)))
