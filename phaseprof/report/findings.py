"""FINDINGS: what phaseprof claims, one numbered entry a cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import PurePath
from typing import get_args

from phaseprof.analysis.answers import answer
from phaseprof.analysis.clock import tick_s
from phaseprof.analysis.naming import phase_words, unit_words
from phaseprof.analysis.paths import places_of
from phaseprof.recording.model import ProcessRun
from phaseprof.records import Certainty, Finding, Source
from phaseprof.report.access import GENERATION_END, count_generations
from phaseprof.report.notebook import folded, preformatted, rich_table, rich_text, table
from phaseprof.report.text import Report, Style, count_text, entry, fit, section, wrap
from phaseprof.report.words import TENSORS_FOR, listed, metric_words, plural, reading
from phaseprof.units import format_bytes, format_duration, format_signed_bytes

# Below this no verdict on a series means anything.
LEAST_READINGS = 6
_FIELD_WIDTH = 9
# Lines that a text names; the JSON has all.
_MOST_SITES, _MOST_TENSORS = 3, 4
# Verdicts whose parts may be known more or less.
_RISING = ("leak", "growing", "filling")
_HEAD = ("verdict", "kind", "phase", "subject", "held by", "growth")


@dataclass(frozen=True)
class FindingEntry:
    """A finding and how its generation is called by the user; ``None`` where it is not known."""

    finding: Finding
    since: str | None


@dataclass(frozen=True)
class FindingsReport(Report):
    """Numbered findings, in the order given (worst first), and what they come to.

    Attributes:
        entries: the findings.
        n_generations: in how many generations they were found; ``None`` if not known.
        answer: what the recording answers to the question whether it leaks; empty if it was not asked.
        unmeasured: why nothing was measured; empty if something was.
        span: how long that was, where the clock made the generations; empty where the program did.
    """

    derived = ("n_leaks", "conclusion")

    entries: tuple[FindingEntry, ...]
    n_generations: int | None = None
    answer: str = ""
    unmeasured: str = ""
    span: str = ""

    @property
    def n_leaks(self) -> int:
        """Number of findings whose verdict is a leak."""
        return sum(entry.finding.verdict == "leak" for entry in self.entries)

    @property
    def n_broken(self) -> int:
        """Number of expectations that are broken."""
        return sum(entry.finding.verdict == "expectation" for entry in self.entries)

    @property
    def is_judged(self) -> bool:
        """Whether enough was measured for a verdict."""
        is_short = self.n_generations is not None and self.n_generations < LEAST_READINGS
        is_brief = 0 < self.n_brief == len(self.entries) and not self.answer
        return not (self.unmeasured or is_short or is_brief or self.answer in ("too short", "not judged"))

    @property
    def n_brief(self) -> int:
        """Number of findings that were read too seldom to be judged."""
        return sum(entry.finding.verdict == "too short" for entry in self.entries)

    @property
    def conclusion(self) -> str:
        """One sentence without its full stop: what was found, or why nothing can be said."""
        n = self.n_generations
        over = "" if n is None else f" in {self.span or _several(n, 'generation')}"
        if self.n_leaks:
            return f"{_several(self.n_leaks, 'leak')} found{over}"
        if self.unmeasured:
            return self.unmeasured
        if self.n_broken:
            found = f"No leak found{over}" if self.is_judged else f"Too short to judge leaks{over}"
            return f"{found}, but {_several(self.n_broken, 'expected count')} {_are(self.n_broken)} broken"
        if not self.is_judged:
            return self._unjudged(over)
        brief = f"{_several(self.n_brief, 'finding')} {_has(self.n_brief)} too few readings to judge"
        return f"No leak found{over}" + (f", but {brief}" if self.n_brief else "")

    def _unjudged(self, over: str) -> str:
        if self.answer == "not judged":
            return f"Not judged{over}: counters cover too little of the run, or one rises in too few readings"
        if self.n_generations is not None and self.n_generations >= LEAST_READINGS:
            return f"Too short to judge: memory was read too few times{over} to tell a leak from a warm-up"
        return f"Too short to judge: a verdict needs {LEAST_READINGS} generations or more{self._there_were}"

    @property
    def _there_were(self) -> str:
        n = self.n_generations
        if n is None:
            return ""
        return f", and {'by the clock ' if self.span else ''}there {_were(n)} {n:,}"

    def _repr_html_(self) -> str:
        """What a notebook shows: the conclusion, a table, and the text when it is asked for."""
        whole = folded("Everything", preformatted(self.render(Style())))
        return f"<p><b>{escape(self.conclusion)}.</b></p>{table(_HEAD, self._rows())}{whole}"

    def __rich__(self) -> object:
        return rich_table(f"{self.conclusion}.", _HEAD, self._rows()) if self.entries else rich_text(str(self))

    def _rows(self) -> list[list[str]]:
        return [
            [f.verdict, f.kind, f.phase or "", f.subject or "", "\n".join(map(str, places_of(f.holder))), slope_text(f)]
            for f in (entry.finding for entry in self.entries)
        ]

    def render(self, style: Style) -> str:
        """Lay the findings out as text."""
        lines = [] if self.n_leaks else [f"{self.conclusion}."]
        for number, item in enumerate(self.entries, 1):
            lines += [*([""] if lines else []), *_entry_lines(number, item, style)]
        title = f"FINDINGS: {len(self.entries)}" if self.entries else "FINDINGS"
        bad = ("leak", "expectation", "slowdown", "too short")
        is_clean = self.is_judged and not any(entry.finding.verdict in bad for entry in self.entries)
        return section(title, "good" if is_clean else "findings", lines, style)


def _several(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def _has(n: int) -> str:
    return "has" if n == 1 else "have"


def _were(n: int) -> str:
    return "was" if n == 1 else "were"


def _entry_lines(number: int, item: FindingEntry, style: Style) -> list[str]:
    """Lay out one finding: what, in a headline and a sentence; who holds it; what to do; and what it rests on."""
    f = item.finding
    what = f"{number}. {f.verdict.upper()} ({f.kind})" + (f" {phase_words(f.phase)}" if f.phase else "")
    lines = [fit(what + (f": {f.subject}" if f.subject else ""), style.width, style)]
    lines += [f"   {line}" for line in wrap(f"{f.summary.rstrip('.')}.", style.width - 3, style)]
    lines += holder_lines(f.holder, style)
    for name, text in _facts(item, style):
        lines += entry(name, text, style, name_width=_FIELD_WIDTH) if text else []
    return lines


def _facts(item: FindingEntry, style: Style) -> list[tuple[str, str]]:
    f = item.finding
    known = certainty_text(f.certainty) if f.verdict in _RISING else ""
    return [
        ("Tensors", tensors_text(f)), ("Made at", sites_text(f)), ("To do", f.advice),
        ("Seen", evidence_text(f, style)), ("Known", known),
    ]  # fmt: skip


def sites_text(finding: Finding) -> str:
    """Write which lines made what grows: ``trainer.py:42 in collect (87 %)``; the line alone where no more is known."""
    lines = [
        f"{PurePath(site.file).name}:{site.line}" + (f" in {site.function}" if site.function else "")
        + f" ({_percent(site.share)})"
        for site in finding.sites[:_MOST_SITES]
    ]
    return ", ".join(lines) or finding.site or ""


def tensors_text(finding: Finding) -> str:
    """Write what lies where the subject is held: ``1.20 GiB of activations kept for backward on cuda:0 (40)``."""
    told = [(TENSORS_FOR.get(one.category, one.category).lower(), one) for one in finding.tensors[:_MOST_TENSORS]]
    return ", ".join(f"{format_bytes(one.n_bytes)} of {what} on {one.device} ({one.count:,})" for what, one in told)


def _percent(share: float) -> str:
    return f"{max(1, round(100 * share))} %"


def certainty_text(certainty: Certainty) -> str:
    """Say which parts of a finding were seen once, and which are not known; empty where all are alike."""
    parts: dict[str, list[str]] = {}
    for name, source in asdict(certainty).items():
        parts.setdefault(source, []).append(name)
    if len(parts) == 1:
        return ""
    return "; ".join(f"{listed(parts[source])} {source}" for source in get_args(Source) if source in parts)


def holder_lines(holder: Sequence[str], style: Style, *, name: str = "Held by") -> list[str]:
    """Lay out a holder path, one place a line, each named as a program would write it."""
    lead = f"   {name + ':':<{_FIELD_WIDTH}} "
    lines = []
    for place in places_of(holder):
        lines.append(lead + fit(str(place), style.width - len(lead), style))
        lead = " " * len(lead)
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


def evidence_text(finding: Finding, style: Style) -> str:
    """Write what a finding rests on: the series that decided, and one more that names what grows.

    What comes with it (locks, random states, the parts of an object) tells nobody anything, and is left to the JSON.
    """
    voted = [e for e in finding.evidence if e.metric == finding.metric and e.values]
    others = [e for e in finding.evidence if e.metric != finding.metric and e.values and _helps(e.metric)]
    parts = []
    for e in (*voted[:1], *others[:1]):
        ends = (reading(e.metric, e.values[0]), reading(e.metric, e.values[-1]))
        where = "" if e.point == GENERATION_END else f" at {e.point}"
        n = plural(len(e.values), "reading")
        parts.append(f"{metric_words(e.metric)}: {ends[0]} {style.mark('arrow')} {ends[1]} over {n}{where}")
    return "; ".join(parts)


def _helps(metric: str) -> bool:
    return not metric.startswith("count/")


def rule_text(finding: Finding) -> str:
    """Say what the verdict rests on: the metric that voted, how often it was read, and how sure that is."""
    voted = [e for e in finding.evidence if e.metric == finding.metric] or list(finding.evidence[:1])
    if not finding.metric:
        return ""
    n = f" over {plural(len(voted[0].values), 'reading')}" if voted else ""
    sure = f", confidence {finding.confidence:.2f}" if finding.confidence else ""
    return f"Judged by: {metric_words(finding.metric)}{n}{sure}"


DISABLED = "Nothing was measured: the profiler is disabled"


def build_findings(
    findings: Sequence[Finding], *, process: ProcessRun | None = None, unmeasured: str = ""
) -> FindingsReport:
    """Report findings in the order given.

    Args:
        findings: what was found.
        process: tells in how many generations, and whether that is enough to say so.
        unmeasured: why nothing was measured, if that is known better than by an empty recording.
    """
    entries = (FindingEntry(f, None if f.since_generation is None else str(f.since_generation)) for f in findings)
    if process is None:
        return FindingsReport(tuple(entries), unmeasured=unmeasured)
    unmeasured = unmeasured or _why_unmeasured(process)
    n, tick = count_generations(process), tick_s(process)
    span = "" if tick is None else f"{format_duration(n * tick)}, by the clock"
    return FindingsReport(tuple(entries), n, answer(process, findings), unmeasured, span)


def _why_unmeasured(process: ProcessRun) -> str:
    if process.series or process.first_counts or process.snapshots:
        return ""
    return "Nothing was measured: no phase, checkpoint or generation was entered"
