"""Everything the page of CUDA memory snapshots shows of one device, and the data of its charts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from phaseprof.analysis.snapshots.beside import ScalarMatch
from phaseprof.analysis.snapshots.findings import device_findings, device_verdict
from phaseprof.analysis.snapshots.lines import GrowthLine
from phaseprof.analysis.snapshots.series import DeviceSeries
from phaseprof.records import Finding, Verdict
from phaseprof.report.findings import FindingEntry, FindingsReport
from phaseprof.report.page import snapshot_charts as charts
from phaseprof.report.page.findings import findings_list
from phaseprof.report.page.layout import bullet_list, section
from phaseprof.report.page.markup import Html, element, join, table
from phaseprof.report.page.part import Part
from phaseprof.report.page.snapshot_blocks import blocks_flame, full_stacks, timeline_chart
from phaseprof.report.page.tables import bars, cut_table
from phaseprof.report.snapshots_tables import (
    FLOOR_WORDS,
    ONE_WORDS,
    R_WORDS,
    Table,
    class_table,
    event_table,
    event_words,
    growth_table,
    oom_words,
    pool_facts,
    scalar_table,
    site_notes,
    site_table,
    slope_table,
    span_words,
    unit_words,
)
from phaseprof.report.words import capital, plural
from phaseprof.units import format_bytes

MAX_ROWS = 24
MAX_STEPS = 400  # rows of the growth table
_TONE = {"leak": "bad", "growing": "warn", "filling": "warn", "too short": "warn"}


@dataclass
class SnapshotPart(Part):
    """Builds the markup of one device section by section, and collects its charts on the way.

    Attributes:
        series: the device's series.
        prefix: leads every identifier, so that several devices share one page.
        scalars: TensorBoard scalars that were compared with it.
        is_alone: whether no other device is shown, so that the page's banner has said the verdict.
        charts: the charts' views by the identifier of their place.
    """

    series: DeviceSeries
    prefix: str
    scalars: Sequence[ScalarMatch] = ()
    is_alone: bool = True
    charts: dict[str, Sequence[Mapping[str, object]]] = field(default_factory=dict)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is claimed of the device."""
        return device_findings(self.series)

    @property
    def n_leaks(self) -> int:
        """Number of leaks among them."""
        return sum(finding.verdict == "leak" for finding in self.findings)

    def _sections(self) -> Iterator[Html]:
        series = self.series
        yield self._findings()
        for number, oom in enumerate(series.events.ooms):
            yield self._section(f"oom{number}", "Out of memory", bullet_list(oom_words(series, oom)))
        yield self._growth()
        yield self._section("flame", "Who holds live blocks", self._figure(blocks_flame(series)))
        yield self._section("timeline", "Blocks over time", self._figure(timeline_chart(series.events.timeline)))
        yield self._section("sites", "Lines of code", self._figure(charts.site_chart(series)),
                            _table(site_table(series), "line"), *map(_paragraph, site_notes(series)),
                            full_stacks(series))  # fmt: skip
        yield self._section("classes", "Block sizes", self._figure(charts.class_chart(series)),
                            _table(class_table(series), "block size"))  # fmt: skip
        yield self._events()
        yield self._pools()
        yield self._scalars()
        yield self._section("limits", "What was not looked at", bullet_list(list(_not_looked_at(series))))

    def _findings(self) -> Html:
        words = element("p", f"{verdict_words(self.series)}.", class_=f"verdict {tone_of(device_verdict(self.series))}")
        report = FindingsReport(tuple(map(_entry, self.findings)))
        nothing = element("p", "No finding: what follows is what the snapshots hold.", class_="looked")
        found = findings_list(report, prefix=self.prefix) or nothing
        return section(self.prefix, "findings", "Findings", "" if self.is_alone else words, found)

    def _growth(self) -> Html:
        series = self.series
        small = [self._figure(chart) for chart in charts.counter_charts(series)]
        header, cells = growth_table(series)
        newest = cells[-MAX_STEPS:]
        rows = cut_table(_titles(header), newest, of=len(cells), noun="snapshot", caption="Growth, step by step")
        slopes = Html("")
        if len(series.rows) > 1:
            slopes = join(
                element("h3", "Slopes"),
                _slopes(series),
                _paragraph(FLOOR_WORDS),
            )
        title = "Memory over the steps" if len(series.rows) > 1 else "Memory in the snapshot"
        return self._section(
            "growth", title, self._figure(charts.memory_chart(series)), slopes,
            element("div", *small, class_="grid") if small else Html(""),
            element("h3", "Step by step") if len(series.rows) > 1 else Html(""), rows,
        )  # fmt: skip

    def _events(self) -> Html:
        events = event_table(self.series)
        if events is None:
            return Html("")
        said = element("p", f"{events.title}. {event_words(self.series)}.")
        rows = cut_table(
            _titles(events.header), events.cells[:MAX_ROWS], of=len(events.cells), noun="place",
            caption="Allocations without a free",
        )  # fmt: skip
        return self._section("events", "Allocations without a free", said, rows)

    def _pools(self) -> Html:
        row = self.series.rows[-1]
        pools = (("small pool, active", row.small_pool_bytes), ("large pool, active", row.large_pool_bytes))
        used = pools if row.small_pool_bytes is not None else (("active", row.active_bytes),)
        cached = row.reserved_bytes - row.active_bytes - row.inactive_split_bytes
        parts = [*used, ("inactive split", row.inactive_split_bytes), ("whole free segments", cached)]
        at = "in the snapshot" if len(self.series.rows) == 1 else f"at step {row.step}"
        said = element("p", f"{format_bytes(row.reserved_bytes)} reserved {at}; the parts add up to it.")
        return self._section(
            "pools", "Pools and fragmentation", said, bars([(name, n or 0, format_bytes(n or 0)) for name, n in parts]),
            bullet_list(pool_facts(self.series)),
        )  # fmt: skip

    def _scalars(self) -> Html:
        if not self.scalars:
            return Html("")
        header, cells = scalar_table(self.scalars)
        units = bullet_list([unit_words(match) for match in self.scalars])
        return self._section(
            "scalars", "TensorBoard beside the snapshots", self._figure(charts.scalar_chart(self.scalars, self.series)),
            table(_titles(header), cells, caption="Scalars beside the snapshots"), units, _paragraph(R_WORDS),
        )  # fmt: skip


def _entry(finding: Finding) -> FindingEntry:
    """A finding for the page: who allocated it is in the summary, and is nobody who holds it."""
    since = finding.since_generation
    return FindingEntry(replace(finding, holder=()), None if since is None else str(since))


def _titles(header: Sequence[str]) -> list[str]:
    return [capital(title) for title in header]


def _paragraph(words: str) -> Html:
    return element("p", words, class_="fine")


def _table(whole: Table | None, noun: str) -> Html:
    if whole is None:
        return Html("")
    rows = cut_table(_titles(whole.header), whole.cells[:MAX_ROWS], of=len(whole.cells), noun=noun, caption=whole.title)
    return rows or _paragraph(f"{whole.title}: none.")


def _slopes(series: DeviceSeries) -> Html:
    """Return the table of slopes, the verdict first so that a narrow window shows it."""
    (counter, *figures, verdict), cells = slope_table(series)
    rows = [
        (row[0], element("span", row[-1], class_=f"tag {_tag_of(line)}"), *row[1:-1])
        for line, row in zip(series.lines, cells, strict=True)
    ]
    return table(_titles((counter, verdict, *figures)), rows, caption="Slope and verdict of each counter")


def _tag_of(line: GrowthLine) -> str:
    return tone_of(line.verdict) if line.votes and line.verdict != "too short" else "calm"


def tone_of(verdict: Verdict) -> str:
    """Return the class that colours a verdict."""
    return _TONE.get(verdict, "good")


def verdict_words(series: DeviceSeries) -> str:
    """Say in one line what was found on a device, and on what grounds."""
    n, verdict = len(series.rows), device_verdict(series)
    inside = f" in {span_words(series)}"
    if verdict == "leak":
        return f"{plural(sum(f.verdict == 'leak' for f in device_findings(series)), 'leak')} found{inside}"
    if verdict != "too short":
        more = {"growing": ", but memory grows and no plateau is in sight", "filling": ": what grows is slowing down"}
        return f"No leak found{inside}{more.get(verdict, '')}"
    if series.events.ooms:
        return f"Out of memory: what {'one snapshot holds' if n == 1 else f'{n} snapshots hold'}, and not what grows"
    if n == 1:
        return "One snapshot: what is there, and not what grows"
    if n == 2:
        return "Two snapshots: what changed, and not whether it goes on"
    return f"Too few snapshots to say whether memory leaks{inside}"


def _not_looked_at(series: DeviceSeries) -> Iterator[str]:
    yield (
        "What torch's CUDA allocator does not hold: memory of the host, and of libraries that ask the driver "
        "themselves."
    )
    if series.history == "none":
        yield (
            "Lines of code: no stack was recorded. Call torch.cuda.memory._record_memory_history(stacks='python') some "
            "steps before the next snapshot, and its blocks name their lines."
        )
    if series.history != "events":
        yield "Allocations without a free: no event was recorded."
    if len(series.rows) == 1:
        yield ONE_WORDS
    if series.step_source != "name" and len(series.rows) > 1:
        yield "Steps: the file names give none, so the snapshots are in the order of their time, one step each."
