"""FINDINGS: what phaseprof claims, one numbered entry a cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phaseprof.analysis.naming import unit_words
from phaseprof.recording.model import ProcessRun
from phaseprof.records import Evidence, Finding
from phaseprof.report.access import count_generations
from phaseprof.report.text import Report, Style, clean, count_text, entry, fit, section, text_width, wrap
from phaseprof.units import format_bytes, format_duration, format_signed_bytes

# Below this no verdict on a series means anything.
LEAST_READINGS = 6
_FIELD_WIDTH = 9


@dataclass(frozen=True)
class FindingEntry:
    """A finding and how its generation is called by the user; ``None`` where it is not known."""

    finding: Finding
    since: str | None


@dataclass(frozen=True)
class FindingsReport(Report):
    """Numbered findings, in the order given (worst first); ``n_generations`` is ``None`` if not known."""

    derived = ("n_leaks",)

    entries: tuple[FindingEntry, ...]
    n_generations: int | None = None

    @property
    def n_leaks(self) -> int:
        """Number of findings whose verdict is a leak."""
        return sum(entry.finding.verdict == "leak" for entry in self.entries)

    def render(self, style: Style) -> str:
        """Lay the findings out as text."""
        lines = [] if self.n_leaks else [self._clean_line(style)]
        for number, item in enumerate(self.entries, 1):
            lines += [*([""] if lines else []), *_entry_lines(number, item, style)]
        title = f"FINDINGS: {len(self.entries)}" if self.entries else "FINDINGS"
        return section(title, "good" if self._is_clean else "findings", lines, style)

    @property
    def _is_clean(self) -> bool:
        judged = [entry for entry in self.entries if entry.finding.verdict != "too short"]
        return not self.n_leaks and not self.is_short and len(judged) == len(self.entries)

    @property
    def is_short(self) -> bool:
        """Whether there were too few generations for a verdict."""
        return self.n_generations is not None and self.n_generations < LEAST_READINGS

    def _clean_line(self, style: Style) -> str:
        n = self.n_generations
        if n == 0:
            return "No leak found, but no generation was recorded: there is nothing to judge by."
        over = "" if n is None else f" in {n:,} generation{'s' if n != 1 else ''}"
        if not self.entries and not self.is_short:
            return f"No leak found{over}."
        if all(entry.finding.verdict == "too short" for entry in self.entries):
            return f"No leak found{over}, but the run is too short to say there is none."
        return f"No leak found{over}; what follows is good to know."


def _entry_lines(number: int, item: FindingEntry, style: Style) -> list[str]:
    f = item.finding
    what = f"{number}. {f.verdict.upper()} ({f.kind})" + (f" in {f.phase}" if f.phase else "")
    lines = [fit(what + (f": {f.subject}" if f.subject else ""), style.width, style)]
    fields = [("", f.summary), ("Subject", f.subject or ""), ("Phase", f.phase or "")]
    fields = fields[:1] if text_width(clean(what + (f.subject or ""), style)) < style.width - 2 else fields
    for name, text in fields:
        lines += _entry(name, text, style)
    lines += holder_lines(f.holder, style)
    for name, text in _facts(item, style):
        lines += _entry(name, text, style)
    return lines


def _entry(name: str, text: str, style: Style) -> list[str]:
    if not text:
        return []
    if name:
        return entry(name, text, style, name_width=_FIELD_WIDTH)
    return [f"   {line}" for line in wrap(text, style.width - 3, style)]


def _facts(item: FindingEntry, style: Style) -> list[tuple[str, str]]:
    f = item.finding
    eta = f"reached in {format_duration(f.eta_s)} at this rate" if f.eta_s is not None else ""
    since = "" if item.since is None else f"generation {item.since}"
    return [
        ("Growth", slope_text(f)), ("Since", since), ("Limit", eta), ("Site", f.site or ""), ("Advice", f.advice),
        ("Evidence", evidence_text(f.evidence, style)), ("Rule", rule_text(f)),
    ]  # fmt: skip


def holder_lines(holder: Sequence[str], style: Style, *, name: str = "Held by") -> list[str]:
    """Lay out a holder path: on one line where it fits, else one step a line, each step further in."""
    if not holder:
        return []
    first = f"   {name + ':':<{_FIELD_WIDTH}} "
    steps = [clean(step, style) for step in holder]
    whole = first + " ".join(steps)
    if text_width(whole) <= style.width:
        return [whole]
    lines = []
    for depth, step in enumerate(steps):
        lead = first if depth == 0 else " " * (len(first) + 2 * min(depth, 8))
        lines.append(lead + fit(step, style.width - len(lead), style))
    return lines


def slope_text(finding: Finding) -> str:
    """Write a finding's growth with its interval, bytes as bytes."""
    if not finding.slope:
        return ""
    unit, _, per = finding.slope_unit.partition("/")
    per = per or "generation"
    if unit == "bytes":
        text = f"{format_signed_bytes(finding.slope)} per {per}"
        bounds = (format_bytes(finding.slope_low), format_bytes(finding.slope_high))
    else:
        number = f"{'+' if finding.slope > 0 else ''}{count_text(finding.slope)}"
        text = f"{number} {unit_words(unit, number)} per {per}"
        bounds = (count_text(finding.slope_low), count_text(finding.slope_high))
    if finding.slope_low == finding.slope_high:
        return text
    return f"{text} (95 %: {bounds[0]} to {bounds[1]})"


def value_text(metric: str, value: float) -> str:
    """Write a reading in the unit that its metric's name says."""
    return format_bytes(value) if metric.endswith("_bytes") or metric.startswith("tracked/") else count_text(value)


def metric_text(metric: str) -> str:
    """Write a metric's name without the address that tells one container from another."""
    return metric.partition("@")[0] if metric.startswith("container/") else metric


def evidence_text(evidence: Sequence[Evidence], style: Style) -> str:
    """Write the series behind a finding: metric, first and newest reading, point."""
    parts = []
    for e in evidence:
        if e.values:
            ends = (value_text(e.metric, e.values[0]), value_text(e.metric, e.values[-1]))
            parts.append(f"{metric_text(e.metric)} {ends[0]} {style.mark('arrow')} {ends[1]} at {e.point}")
    return "; ".join(parts)


def rule_text(finding: Finding) -> str:
    """Say what the verdict rests on: the metric that voted, how often it was read, and how sure that is."""
    voted = [e for e in finding.evidence if e.metric == finding.metric] or list(finding.evidence[:1])
    if not finding.metric:
        return ""
    n = f" over {len(voted[0].values)} readings" if voted else ""
    sure = f", confidence {finding.confidence:.2f}" if finding.confidence else ""
    return f"{finding.verdict} by {metric_text(finding.metric)}{n}{sure}"


def build_findings(findings: Sequence[Finding], *, process: ProcessRun | None = None) -> FindingsReport:
    """Report findings in the order given; ``process`` tells in how many generations they were found."""
    entries = (FindingEntry(f, None if f.since_generation is None else str(f.since_generation)) for f in findings)
    return FindingsReport(tuple(entries), None if process is None else count_generations(process))
