"""The block to paste into a bug report: what leaks, where, how fast, since when, and on what system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phaseprof.recording.model import ProcessRun
from phaseprof.records import Evidence, Finding
from phaseprof.report.access import count_generations, memory_point, series_of, short_name, value_at
from phaseprof.report.findings import holder_lines, sites_text, slope_text
from phaseprof.report.moments import Moment, list_moments
from phaseprof.report.snapshot import SnapshotReport, report_moment
from phaseprof.report.text import Report, Style, clean, count_text, entry, join, wrap
from phaseprof.units import format_bytes, format_estimate, format_signed_bytes

_STYLE = Style(unicode=True)


@dataclass(frozen=True)
class LeakLines:
    """One leak as it is pasted.

    Attributes:
        phase: where it occurs, ``None`` if unknown.
        growth: growth per generation as text.
        count: the count's change as (name, first, newest, per generation), ``None`` where nothing was counted.
        since: the generation it started in, by the user's number.
        finding: all that is known.
    """

    phase: str | None
    growth: str
    count: tuple[str, float, float, float] | None
    since: str | None
    finding: Finding


@dataclass(frozen=True)
class WhatToReport(Report):
    """What a maintainer needs to know of a leak; ``leaks`` is empty for a clean run."""

    leaks: tuple[LeakLines, ...]
    environment: tuple[tuple[str, str], ...]
    snapshot: SnapshotReport | None

    def render(self, style: Style) -> str:
        """Lay the block out as plain text."""
        lines = [] if self.leaks else ["NO LEAK FOUND"]
        for leak in self.leaks:
            lines += [*([""] if lines else []), "LEAK FOUND:", *_leak_text(leak, style)]
        if self.snapshot is not None:
            lines.append("- Full snapshot attached below:")
        lines += ["", "Environment:"]
        for name, value in self.environment:
            lines += entry(f"- {name}", value, style, indent=0, name_width=15)
        if self.snapshot is not None:
            lines += ["", self.snapshot.render(style)]
        return join(lines, style)

    def to_markdown(self) -> str:
        """Return the block as Markdown: a list, a table of the environment, and the snapshot in a fence."""
        from tabulate import tabulate

        parts = [] if self.leaks else ["**NO LEAK FOUND**"]
        parts += ["**LEAK FOUND:**\n\n" + "\n".join(_leak_markdown(leak)) for leak in self.leaks]
        rows = [(name, code(value)) for name, value in self.environment]
        parts.append(tabulate(rows, headers=("Environment", ""), tablefmt="pipe", disable_numparse=True))
        if self.snapshot is not None:
            parts.append("Full snapshot:\n\n" + fence(self.snapshot.render(_STYLE)))
        return "\n\n".join(parts) + "\n"


def code(text: str) -> str:
    """Show foreign text as Markdown code that cannot break out of its span or table cell."""
    text = clean(text, _STYLE).replace("|", "\\|")
    ticks = "`"
    while ticks in text:
        ticks += "`"
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{space}{text}{space}{ticks}" if text else ""


def fence(text: str) -> str:
    """Put text into a Markdown fence longer than any run of backticks in it."""
    ticks = "```"
    while ticks in text:
        ticks += "`"
    return f"{ticks}text\n{text}\n{ticks}"


def _leak_text(leak: LeakLines, style: Style) -> list[str]:
    lines: list[str] = []
    for name, text in _facts(leak, style):
        first, *rest = wrap(f"- {name}: {text}" if text else f"- {name}", style.width - 2, style)
        lines += [first, *(f"  {line}" for line in rest)]
    holder = holder_lines(leak.finding.holder, style)
    return lines + [f"- {line[3:]}" if at == 0 else line for at, line in enumerate(holder)]


def _facts(leak: LeakLines, style: Style) -> list[tuple[str, str]]:
    facts = [("Phase", leak.phase or "unknown"), ("Growth", leak.growth or "not measured")]
    f = leak.finding
    if leak.count is not None:
        name, first, last, rate = leak.count
        trend = f"increasing by {count_text(round(rate, 2))} each gen" if rate > 0 else "not increasing"
        facts.append((f"{name} count", f"{count_text(first)} {style.mark('arrow')} {count_text(last)} ({trend})"))
    elif f.subject:
        facts.append(("Subject", f.subject))
    facts.append(("Started at " + ("an unknown generation" if leak.since is None else f"generation {leak.since}"), ""))
    facts.append(("Kind", f"{f.kind}, {f.verdict}"))
    if f.eta_s is not None:
        facts.append(("Limit", f"reached in {format_estimate(f.eta_s)} at this rate"))
    return facts + ([("Made at", sites_text(f))] if f.site else [])


def _leak_markdown(leak: LeakLines) -> list[str]:
    facts = [(name if name.replace(" ", "").isalnum() else code(name), text) for name, text in _facts(leak, _STYLE)]
    lines = [f"- {name}: {code(text)}" if text else f"- {name}" for name, text in facts]
    if leak.finding.holder:
        lines.append("- Held by: " + code(" ".join(leak.finding.holder)))
    return lines


def build_what_to_report(process: ProcessRun, findings: Sequence[Finding]) -> WhatToReport:
    """Make the block to paste from the findings whose verdict is a leak."""
    process.fold()
    leaks = [f for f in findings if f.verdict == "leak"]
    return WhatToReport(
        tuple(_leak(process, f) for f in leaks),
        environment(process),
        _snapshot(process, leaks[0].phase if leaks else None),
    )


def _leak(process: ProcessRun, finding: Finding) -> LeakLines:
    named = None if finding.since_generation is None else str(finding.since_generation)
    count = _count(process, finding)
    return LeakLines(finding.phase, _growth(process, finding, is_counted=count is not None), count, named, finding)


def _growth(process: ProcessRun, finding: Finding, *, is_counted: bool) -> str:
    """Say the finding's own slope, unless a line on its count says it; if not in bytes, what the process grew by."""
    text = "" if is_counted and not finding.slope_unit.startswith("bytes") else slope_text(finding)
    if finding.slope_unit.startswith("bytes") and text:
        return text
    at = memory_point(process)
    series = series_of(process, "anonymous_bytes", point=at) or series_of(process, "rss_bytes", point=at)
    if series is None or len(series) < 2:
        return text
    start = max(series.generations[0], finding.since_ordinal or 0)
    before, n = value_at(series, start), series.generations[-1] - start
    if before is None or n < 1:
        return text
    ram = f"{format_signed_bytes((series.last - before) / n)} per generation"
    return f"{text} (whole process: {ram})" if text else f"{ram} (whole process)"


def _count(process: ProcessRun, finding: Finding) -> tuple[str, float, float, float] | None:
    """Find the count behind a finding: among its evidence, else in the recording; counted from a baseline snapshot."""
    for e in finding.evidence:
        if e.metric.partition("/")[0] in ("count", "watched") and len(e.values) > 1:
            return _count_change(process, e)
    if not finding.subject:
        return None
    for prefix in ("watched/", "count/"):
        for name in (finding.subject, short_name(finding.subject)):
            series = series_of(process, prefix + name)
            if series is not None and len(series) > 1:
                e = Evidence("", prefix + name, tuple(series.generations), tuple(series.values))
                return _count_change(process, e)
    return None


def _count_change(process: ProcessRun, e: Evidence) -> tuple[str, float, float, float]:
    name = short_name(e.metric.partition("/")[2])
    n = max(1, e.generations[-1] - e.generations[0])
    earlier = [s.counts[name] for s in process.snapshots if s.g < e.generations[0] and name in s.counts]
    return name, earlier[0] if earlier else e.values[0], e.values[-1], (e.values[-1] - e.values[0]) / n


def _snapshot(process: ProcessRun, phase: str | None) -> SnapshotReport | None:
    """Take the newest moment of the guilty phase, else the newest of all."""
    moments = list_moments(process)
    of_phase: list[Moment] = [m for m in moments if phase and phase in m.label]
    chosen = of_phase or moments
    return report_moment(process, chosen[-1]) if chosen else None


def environment(process: ProcessRun) -> tuple[tuple[str, str], ...]:
    """Return what the recording says of its system: versions, host, ranks, command."""
    h = process.header
    if h is None:
        return (("recording", "without a header"),)
    rows = [
        ("phaseprof", h.phaseprof), ("Python", h.python), ("torch", h.torch), ("platform", h.platform),
        ("host", h.host), ("rank", f"{h.rank} of {h.world_size}"), ("git commit", h.git_commit),
        ("command", " ".join(h.argv)), ("generations", f"{count_generations(process):,}"),
    ]  # fmt: skip
    limit = series_of(process, "limit_bytes")
    if limit is not None:
        rows.append(("memory limit", format_bytes(limit.last)))
    return tuple((name, value) for name, value in rows if value)
