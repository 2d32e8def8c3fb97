"""The tables of the page: each is empty where there is no data."""

from __future__ import annotations

from collections.abc import Sequence

from phaseprof.analysis.paths import places_of
from phaseprof.analysis.sums import UNSEEN, Part
from phaseprof.recording.model import ProcessRun
from phaseprof.report.access import Generations, bounds_text, metrics_under, short_name
from phaseprof.report.cost import CostReport
from phaseprof.report.counts import CountsReport, WatchedCount
from phaseprof.report.devices import DeviceSum
from phaseprof.report.explained import ExplainedReport
from phaseprof.report.large import LargeObjectsReport
from phaseprof.report.page.markup import Html, element, join, table
from phaseprof.report.page.source import editor_link, sites_of
from phaseprof.report.page.sparkline import sparkline
from phaseprof.report.phases import PhasesReport
from phaseprof.report.sums import NOBODY, SumEntry, title, words
from phaseprof.report.text import count_text
from phaseprof.report.tracked import TrackedReport
from phaseprof.report.words import listed, plural
from phaseprof.units import format_bytes, format_decimal_bytes, format_duration, format_signed_bytes

MAX_ROWS = 40
_TYPES = 12  # with a picture of their course each
_JOBS = 8  # of the costs, shown at once
_PLACES = 8


def phases_table(process: ProcessRun, report: PhasesReport) -> Html:
    """Return what each phase, block and checkpoint took and added, and where it is written."""
    if not report.rows:
        return Html("")
    sites = sites_of(process)
    rows = [
        (row.name, f"{row.visits:,}", row.time,
         _change(row.added_bytes), format_bytes(row.peak_bytes),
         _change(row.climbs_bytes), row.role, editor_link(sites[row.name]) if row.name in sites else "-")
        for row in report.rows[:MAX_ROWS]
    ]  # fmt: skip
    titles = ("Phase", "Visits", "Time/gen", "Added/gen", "Peak", "Climbs/gen", "Kind", "Defined at")
    whole = cut_table(titles, rows, of=len(report.rows), noun="phase", caption="Phases and checkpoints")
    return join(whole, element("p", report.legend, class_="fine"))


def _change(n_bytes: float | None) -> str:
    return "-" if n_bytes is None else format_signed_bytes(round(n_bytes))


def cut_table(titles: Sequence[str], rows: Sequence[Sequence[str]], *, of: int, noun: str, caption: str) -> Html:
    """Return a table, and under it in words how many of how many are shown where it is cut; nothing without rows.

    Args:
        titles: the header.
        rows: those that are shown.
        of: how many there are.
        noun: what one row is of, for these words.
        caption: says what the table is to those who do not see it.
    """
    if not rows:
        return Html("")
    few = f"{len(rows):,} of {plural(of, noun)} shown." if len(rows) < of else ""
    return join(table(titles, rows, caption=caption), element("p", few, class_="fine") if few else "")


def counts_table(report: CountsReport) -> Html:
    """Return every watched class beside what is expected of it."""
    rows = [
        (r.name, "-" if r.now is None else f"{r.now:,}", bounds_text(r.low, r.high) or "any number",
         _seen(r), _state(r))
        for r in report.rows
    ]  # fmt: skip
    return table(("Class", "Now", "Expected", "Seen", "State"), rows, caption="Watched classes") if rows else Html("")


def _seen(row: WatchedCount) -> str:
    if row.lowest is None or row.highest is None:
        return "-"
    return f"{row.lowest:,}" if row.lowest == row.highest else f"{row.lowest:,} to {row.highest:,}"


def _state(row: WatchedCount) -> Html:
    if row.missing:
        return element("span", f"never found: {row.missing}", class_="tag bad")
    if row.now is None:
        return element("span", "never counted", class_="tag calm")
    where = f" in {row.phase}" if row.phase else ""
    if row.is_broken:
        since = "" if row.broken_since is None else f" since generation {row.broken_since}{where}"
        return element("span", f"broken{since}", class_="tag bad")
    if row.broken_since is not None:
        return element("span", f"was broken in generation {row.broken_since}{where}", class_="tag warn")
    return element("span", "holds" if row.low >= 0 or row.high >= 0 else "followed", class_="tag good")


def types_table(process: ProcessRun) -> Html:
    """Return the types whose count grew most between the first and the newest census."""
    grown = [
        (series.last - series.values[0], name, series)
        for name, series in metrics_under(process, "count/").items()
        if len(series) > 1 and series.last > series.values[0]
    ]
    grown.sort(key=lambda item: (-item[0], item[1]))
    rows = [
        (name, f"+{count_text(change)}", count_text(series.values[0]), count_text(series.last),
         sparkline(series.generations, series.values, label=f"{name}: {change:+,.0f}"))
        for change, name, series in grown[:_TYPES]
    ]  # fmt: skip
    titles = ("Type", "Change", "First", "Newest", "Over the run")
    return cut_table(titles, rows, of=len(grown), noun="growing type", caption="Types that grew most")


def tracked_table(process: ProcessRun, report: TrackedReport) -> Html:
    """Return every tracked name with its size, its growth and its course."""
    found = metrics_under(process, "tracked/")
    rows = []
    for size in report.sizes[:MAX_ROWS]:
        series = found[size.name]
        state = element("span", f"gone since {size.epoch}", class_="tag warn") if size.is_gone else Html("")
        state = element("span", "grows", class_="tag bad") if size.is_suspect else state
        course = sparkline(series.generations, series.values, label=f"{size.name} over the run")
        figures = (size.growth_bytes, size.growth_bytes_per_epoch) if size.n_readings > 1 else (None, None)
        grown = ("-" if one is None else format_decimal_bytes(one) for one in figures)
        rows.append((size.name, format_decimal_bytes(size.size_bytes), *grown, course, state))
    titles = ("Name", "Size", "Growth", "A generation", "Over the run", "")
    return cut_table(titles, rows, of=len(report.sizes), noun="tracked name", caption="Tracked names")


def explained_bars(report: ExplainedReport, process: ProcessRun) -> Html:
    """Return the sum that explains the growth, one bar a part, what is unattributed last."""
    parts: list[tuple[str, float | None]] = [(t.name, t.growth_bytes) for t in report.terms]
    parts.append(("unattributed", report.unattributed_bytes))
    largest = max((abs(n) for _, n in parts if n is not None), default=0.0) or 1.0
    rows = [_explained_bar(name, n, largest) for name, n in parts]
    title = (
        f"{report.total_name} changed by {format_signed_bytes(report.total_bytes)} from generation {report.first} "
        f"to {report.last}. The parts add up to it; each byte is counted once."
    )
    notes = []
    if report.malloc_other_bytes is not None:
        notes.append(f"malloc beyond storages and arrays: {format_signed_bytes(report.malloc_other_bytes)}.")
    notes += _seen_by_place(report, process)
    if report.unattributed_bytes < 0:
        notes.append("The parts exceed the growth: some of what they count is not resident, or already was before.")
    return join(
        element("p", title), element("ul", *rows, class_="bars"),
        element("p", " ".join(notes), class_="fine") if notes else "",
    )  # fmt: skip


def sum_bars(item: SumEntry) -> Html:
    """Return what one counter grew by, one bar a part."""
    largest = max((abs(part.growth_bytes) for part in item.sum.parts), default=0) or 1
    rows = [
        _bar(words(part), format_signed_bytes(part.growth_bytes), abs(part.growth_bytes) / largest, _tone(part))
        for part in item.sum.parts
    ]
    said = f"{title(item).capitalize()}: {format_signed_bytes(item.sum.growth_bytes)}. The parts add up to it."
    return join(element("p", said), element("ul", *rows, class_="bars"))


def device_bars(device: DeviceSum) -> Html:
    """Return what the memory of a device holds, one bar a part."""
    largest = max((part.n_bytes for part in device.parts), default=0) or 1
    rows = [_bar(part.name, format_bytes(part.n_bytes), part.n_bytes / largest, "up") for part in device.parts]
    said = f"{device.device}: {format_bytes(device.total_bytes)} {device.total_name}. The parts add up to it."
    return join(element("p", said), element("ul", *rows, class_="bars"))


def _tone(part: Part) -> str:
    return "left" if part.kind == UNSEEN else "down" if part.growth_bytes < 0 else "up"


def _seen_by_place(report: ExplainedReport, process: ProcessRun) -> list[str]:
    """Say of what no counter measured what the looks at the heap saw of it."""
    missing = [term.name for term in report.terms if term.growth_bytes is None]
    places = process.places
    if not missing or places is None or places.bytes <= 0:
        return []
    names = Generations(process)
    return [
        f"{listed(missing)} were not measured and are part of what is unattributed: the heap by place shows "
        f"{format_signed_bytes(places.bytes)} from generation {names.name(places.since)} to {names.name(places.g)}."
    ]


def _explained_bar(name: str, growth: float | None, largest: float) -> Html:
    if growth is None:
        return _bar(name, "not measured", 0.0, "none")
    kind = "left" if name == "unattributed" else "down" if growth < 0 else "up"
    return _bar(name, format_signed_bytes(growth), abs(growth) / largest, kind)


def bars(parts: Sequence[tuple[str, float, str]]) -> Html:
    """Return the parts of a whole as bars.

    Args:
        parts: name, size in any unit, and how the size is written.
    """
    largest = max((size for _, size, _ in parts), default=0.0) or 1.0
    return element("ul", *(_bar(name, text, size / largest, "up") for name, size, text in parts), class_="bars")


def _bar(name: str, value: str, share: float, kind: str) -> Html:
    """Return one bar; ``share`` of the widest, 0 to 1."""
    inside = element("span", style=f"width:{100 * share:.1f}%", class_=kind)
    bar = element("span", inside, class_="track", aria_hidden="true")
    return element("li", element("span", name, class_="name"), bar, element("span", value, class_="value"))


def cost_table(report: CostReport) -> Html:
    """Return what profiling took, job by job, beside its budget."""
    if report.wall_s is None:
        return Html("")
    wall = report.wall_s or 1.0
    rows = [
        (job, f"{seconds:.3f} s", f"{seconds / wall:.2%}", f"{report.skipped.get(job, 0):,}")
        for job, seconds in sorted(report.spent_s.items(), key=lambda item: -item[1])[:MAX_ROWS]
    ]
    rows += [(job, "-", "-", f"{n:,}") for job, n in sorted(report.skipped.items()) if job not in report.spent_s and n]
    head, rest = rows[:_JOBS], rows[_JOBS:]
    share = "" if report.share is None else f", {report.share:.2%} of {format_duration(report.wall_s)}"
    budget = f" The budget was {_budget(report.budget)}." if report.budget else ""
    said = element("p", f"Profiling took {format_duration(report.total_s)}{share}.{budget}")
    titles = ("Job", "Took", "Of wall time", "Put off")
    more = element("details", element("summary", f"{len(rest)} more jobs"), table(titles, rest, caption="Other jobs"))
    return join(said, table(titles, head, caption="Cost by job"), more if rest else "")


def _budget(text: str) -> str:
    try:
        return f"{float(text):.2%} of wall time"
    except ValueError:
        return "unbounded" if text == "None" else text


def places_table(process: ProcessRun) -> Html:
    """Return the places where most came between two looks at the heap: each byte is charged to one of them."""
    places = process.places
    if places is None or not places.rows:
        return Html("")
    names = Generations(process)
    rows = [
        (NOBODY.get("".join(row.steps[:1])) or " ".join(map(str, places_of(row.steps)[-1:])) or row.type,
         format_signed_bytes(row.bytes),
         ", ".join(f"{n:+,} {short_name(name)}" for name, n, _ in row.direct[:2]) or row.type)
        for row in places.rows[:_PLACES]
        if row.bytes
    ]  # fmt: skip
    said = f"Places where most came, generation {names.name(places.since)} to {names.name(places.g)}"
    return join(element("h3", said), table(("Place", "Came", "What"), rows, caption=said))


def large_table(report: LargeObjectsReport) -> Html:
    """Return the large objects of the newest look."""
    found = report.objects or ()
    rows = [(o.type_name, format_bytes(o.size_bytes), o.holder or "-", o.detail or "-") for o in found[:MAX_ROWS]]
    titles = ("Type", "Size", "Held by", "Detail")
    return cut_table(titles, rows, of=len(found), noun="large object", caption="Large objects")


def snapshots_table(process: ProcessRun) -> Html:
    """Return the snapshots that the user took."""
    names = Generations(process)
    rows: list[tuple[str, ...]] = []
    before: float | None = None
    for one in process.snapshots[-MAX_ROWS:]:
        ram = one.v.get("rss_bytes", one.v.get("anonymous_bytes"))
        change = "" if ram is None or before is None else format_signed_bytes(ram - before)
        before = ram
        rows.append((one.label, names.name(one.g) if one.g >= 0 else "-", format_bytes(ram),
                     change))  # fmt: skip
    titles = ("Snapshot", "Generation", "Memory", "Change")
    return cut_table(titles, rows, of=len(process.snapshots), noun="snapshot", caption="Snapshots")
