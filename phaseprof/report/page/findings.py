"""The findings, on top of the page and in plain words: what grows, where, who holds it, and the series behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from phaseprof.records import Evidence, Finding
from phaseprof.report.findings import (
    FindingEntry,
    FindingsReport,
    certainty_text,
    rule_text,
    sites_text,
    slope_text,
    tensors_text,
)
from phaseprof.report.page.markup import Html, element, join
from phaseprof.report.page.sparkline import sparkline
from phaseprof.report.words import metric_words, reading
from phaseprof.units import format_estimate

MAX_EVIDENCE = 3
_TONE = {
    "leak": "bad", "expectation": "bad", "slowdown": "warn", "step": "warn", "growing": "warn", "filling": "warn",
    "too short": "calm",
}  # fmt: skip


def tone_of(finding: Finding) -> str:
    """Return the class that colours a finding."""
    return _TONE.get(finding.verdict, "calm")


def findings_list(report: FindingsReport, *, prefix: str, sources: Mapping[str, Html] | None = None) -> Html:
    """Return one article for each finding.

    Args:
        report: the findings.
        prefix: leads every identifier.
        sources: the lines around phases, by their label, and around what made what grows, by its site.
    """
    known = sources or {}
    return join(*(
        _article(number, item, prefix, _source_of(item.finding, known))
        for number, item in enumerate(report.entries, 1)
    ))  # fmt: skip


def _source_of(finding: Finding, known: Mapping[str, Html]) -> Html:
    """Return the lines around the one that made what grows, else around the phase."""
    return known.get(finding.site or "") or known.get(finding.phase or "", Html(""))


def _article(number: int, item: FindingEntry, prefix: str, source: Html) -> Html:
    finding = item.finding
    title_id = f"{prefix}-finding-{number}"
    return element(
        "article",
        element(
            "header",
            element("span", finding.verdict, class_=f"badge {tone_of(finding)}"),
            element("h3", _headline(finding), id=title_id),
            element("span", finding.kind, class_="kind") if finding.subject else "",
        ),
        element("p", finding.summary, class_="summary") if finding.summary else "",
        _facts(item),
        _holder(finding.holder),
        element("p", element("strong", "What to do: "), finding.advice, class_="advice") if finding.advice else "",
        source,
        _evidence(finding.evidence),
        element("p", rule_text(finding), class_="fine"),
        class_=f"finding {tone_of(finding)}", aria_labelledby=title_id,
    )  # fmt: skip


def _headline(finding: Finding) -> Html:
    subject = element("code", finding.subject) if finding.subject else join(finding.kind)
    if not finding.phase:
        return subject
    return join(subject, " in ", element("code", finding.phase))


def _holder(steps: Sequence[str]) -> Html:
    if not steps:
        return Html("")
    items = [element("li", element("code", step)) for step in steps]
    return element(
        "div", element("p", "Held by, from the root:", class_="label"),
        element("ol", *items, class_="holder", aria_label="Holder path, from the root to the object"),
    )  # fmt: skip


def _facts(item: FindingEntry) -> Html:
    finding = item.finding
    facts = [
        ("Growth", slope_text(finding)),
        ("Since", "" if item.since is None else f"{finding.slope_unit.partition('/')[2] or 'generation'} {item.since}"),
        ("Memory ends in", "" if finding.eta_s is None else f"{format_estimate(finding.eta_s)} at this rate"),
        ("Tensors there", tensors_text(finding)),
        ("Made at", sites_text(finding)),
        ("Known", certainty_text(finding.certainty)),
    ]
    shown = [element("div", element("dt", name), element("dd", text)) for name, text in facts if text]
    return element("dl", *shown, class_="facts") if shown else Html("")


def _evidence(evidence: Sequence[Evidence]) -> Html:
    drawn = [_figure(one) for one in dict.fromkeys(evidence) if one.values]
    more = len(drawn) - MAX_EVIDENCE
    note = element("p", f"{more} more series agree{'s' * (more == 1)}.", class_="fine") if more > 0 else ""
    return join(element("div", *drawn[:MAX_EVIDENCE], class_="evidence"), note) if drawn else Html("")


def _figure(one: Evidence) -> Html:
    ends = f"{reading(one.metric, one.values[0])} → {reading(one.metric, one.values[-1])}"
    words = f"{metric_words(one.metric)} at {one.point}: {ends}, {len(one.values)} readings"
    return element(
        "figure", sparkline(one.generations, one.values, label=words),
        element("figcaption", element("strong", ends), " ", metric_words(one.metric),
                " at ", one.point),
    )  # fmt: skip
