"""Everything the page shows of one process, and the data of its charts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from phaseprof.recording.model import ProcessRun
from phaseprof.report.flames import flames_of
from phaseprof.report.page import charts, tables
from phaseprof.report.page.areas import areas_chart
from phaseprof.report.page.findings import findings_list
from phaseprof.report.page.flame import flame_chart
from phaseprof.report.page.heat import heat_chart, made_and_paid
from phaseprof.report.page.layout import bullet_list, definition_list, section
from phaseprof.report.page.limits import looked_at, not_looked_at
from phaseprof.report.page.markup import Html, element, join
from phaseprof.report.page.part import Part
from phaseprof.report.page.source import site_of, sites_of, source_block
from phaseprof.report.page.trend import trend_chart
from phaseprof.report.phases import build_phases
from phaseprof.report.run import ProcessHeader, ProcessSection
from phaseprof.report.summary import SummaryReport
from phaseprof.report.words import drawn_words, plural
from phaseprof.units import format_duration

MAX_COUNTS = 12  # charts of watched classes


@dataclass
class ProcessPart(Part):
    """Builds the markup of one process section by section, and collects its charts on the way.

    Attributes:
        process: the recording.
        report: its reports.
        prefix: leads every identifier, so that several processes share one page.
        most: readings drawn of each metric, about.
        is_alone: whether no other process is shown, so that the page's banner has said the verdict.
        charts: the charts' views by the identifier of their place.
    """

    process: ProcessRun
    report: ProcessSection
    prefix: str
    most: int
    is_alone: bool = True
    charts: dict[str, Sequence[Mapping[str, object]]] = field(default_factory=dict)

    def names(self) -> dict[str, object]:
        """Return how the user names generations: a number to add to the ordinal, or names by ordinal."""
        named = [(g.ordinal, g.index) for g in self.process.generations if g.index != ""]
        shifts = {index - ordinal if isinstance(index, int) else None for ordinal, index in named}
        if not shifts or shifts == {0}:
            return {"shift": 0}
        shift = shifts.pop()
        if not shifts and shift is not None:
            return {"shift": shift}
        return {"shift": 0, "names": {str(ordinal): str(index) for ordinal, index in named}}

    def _sections(self) -> Iterator[Html]:
        process, summary = self.process, self.report.summary
        yield self._findings(summary)
        trend = trend_chart(process, most=self.most, first=_first_metric(summary))
        found = [entry.finding for entry in summary.findings.entries]
        yield self._section("areas", "Memory over the run, by cause", self._figure(areas_chart(process, found)))
        yield self._section("heap", "The heap by place", self._figure(flame_chart(flames_of(process))),
                            tables.places_table(process))  # fmt: skip
        phases = tables.phases_table(process, build_phases(process))
        yield self._section("phases", "Phases and checkpoints", self._figure(heat_chart(process)),
                            *made_and_paid(process, found), phases)  # fmt: skip
        yield self._section("trend", "Every reading", self._figure(trend) or _no_reading())
        yield self._counts(summary)
        yield self._section(
            "tracked", "Tracked names", self._figure(charts.tracked_chart(process)),
            tables.tracked_table(process, summary.tracked),
        )  # fmt: skip
        yield self._section("devices", "GPU memory", *map(self._figure, charts.device_charts(process)))
        yield self._section("tensors", "Tensors by device", *map(tables.device_bars, summary.devices.devices))
        yield self._section("sums", "Where memory grew", *map(tables.sum_bars, summary.sums.entries))
        if summary.explained.first is not None:
            bars = tables.explained_bars(summary.explained, process)
            yield self._section("explained", "Growth of resident memory, explained", bars)
        yield self._section("throughput", "Throughput", self._figure(charts.throughput_chart(summary.rollout)))
        yield self._section("large", "Large objects", tables.large_table(summary.large_objects))
        yield self._section(
            "snapshots", "Snapshots", self._figure(charts.snapshots_chart(process)), tables.snapshots_table(process)
        )
        yield self._section("cost", "What profiling cost", tables.cost_table(summary.cost))
        yield self._limits(summary)

    def _findings(self, summary: SummaryReport) -> Html:
        looked = (
            Html("") if summary.findings.n_leaks else
            element("div", element("p", "What was looked at:", class_="label"), bullet_list(looked_at(self.process)),
                    class_="looked")
        )  # fmt: skip
        words = f"{verdict_words(summary)}."
        verdict = element("p", words, class_=f"verdict {tone(summary)}") if not self.is_alone else Html("")
        found = findings_list(summary.findings, prefix=self.prefix, sources=self._sources(summary))
        return section(self.prefix, "findings", "Findings", verdict, looked, found)

    def _sources(self, summary: SummaryReport) -> dict[str, Html]:
        """Return where the phases that findings name are written, and what made what grows."""
        header, sites = self.process.header, sites_of(self.process)
        until = header.started_unix_s + self.report.header.duration_s if header else 0.0
        named = {entry.finding.phase for entry in summary.findings.entries}
        found = {name: source_block(site, until_unix_s=until) for name, site in sites.items() if name in named}
        made = {entry.finding.site for entry in summary.findings.entries if entry.finding.sites}
        for text in filter(None, made):
            site = site_of(text)
            if site is not None:
                found[text] = source_block(site, until_unix_s=until, says="Made at")
        return found

    def _counts(self, summary: SummaryReport) -> Html:
        counted = charts.count_charts(self.process, summary.counts)
        drawn = [self._figure(chart) for chart in counted[:MAX_COUNTS]]
        few = drawn_words(len(drawn), len(counted), "counted class")
        note = element("p", f"{few}, broken expectations first; the table has them all.", class_="fine") if few else ""
        grid = join(element("div", *drawn, class_="grid"), note) if drawn else Html("")
        types = tables.types_table(self.process)
        types = join(element("h3", "Types that grew most"), types) if types else types
        return self._section("counts", "Object counts", grid, tables.counts_table(summary.counts), types)

    def _limits(self, summary: SummaryReport) -> Html:
        missing = bullet_list(not_looked_at(self.process, summary))
        notes = self.report.header.notes
        told = join(element("h3", "Notes of the recording"), bullet_list(notes)) if notes else Html("")
        who = join(element("h3", "The recording"), definition_list(_header_facts(self.report.header)))
        return self._section("limits", "What was not looked at", missing, told, who)


def _no_reading() -> Html:
    return element("p", "No memory reading was recorded inside a generation.", class_="empty")


def _first_metric(summary: SummaryReport) -> str:
    """The metric the trend opens with: the one that voted, if it is a device's; private memory otherwise."""
    voted = next((e.finding.metric for e in summary.findings.entries if e.finding.verdict == "leak"), "")
    return voted if voted.endswith("/allocated_bytes") else "anonymous_bytes"


def verdict_words(summary: SummaryReport) -> str:
    """Say in one line what was found, and on what grounds."""
    report, broken = summary.findings, summary.counts.n_broken
    if broken and not report.n_leaks and not report.n_broken:
        return f"{report.conclusion}, but {plural(broken, 'expected count')} {'is' if broken == 1 else 'are'} broken"
    return report.conclusion


def tone(summary: SummaryReport) -> str:
    """Return the class that colours a process's verdict."""
    if summary.findings.n_leaks:
        return "bad"
    is_clean = summary.findings.is_judged and not (summary.counts.n_broken or summary.findings.n_brief)
    return "good" if is_clean else "warn"


def _header_facts(header: ProcessHeader) -> list[tuple[str, str]]:
    where = f"rank {header.rank} of {header.world_size}, pid {header.pid}" + (
        f" on {header.host}" if header.host else ""
    )
    versions = (("phaseprof", header.phaseprof), ("Python", header.python), ("torch", header.torch))
    return [
        ("Process", where), ("Command", " ".join(header.argv)),
        ("Versions", ", ".join(f"{name} {version}" for name, version in versions if version)),
        ("Length", f"{format_duration(header.duration_s)}, {plural(header.n_generations, 'generation')}"),
        ("Records", f"{header.n_records:,}"), ("Died", header.death),
        ("Closed", header.ended or ("no" if header.death else "no: still running")),
    ]  # fmt: skip


def rank_title(header: ProcessHeader) -> str:
    """Name a process in the list of processes."""
    return f"Rank {header.rank} (pid {header.pid})"
