"""The page of a series of CUDA memory snapshots: one HTML file that looks and works like that of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from phaseprof.analysis.snapshots import SnapshotAnalysis
from phaseprof.report.page.document import Panel, banner, bodies, document, footer, tabs
from phaseprof.report.page.layout import bullet_list, section
from phaseprof.report.page.markup import Html, element, join, table
from phaseprof.report.page.snapshot_part import SnapshotPart, tone_of, verdict_words
from phaseprof.report.snapshots_tables import history_words, place_words, signed, span_words
from phaseprof.report.words import plural

MAX_DEVICES = 16  # shown in full; the table has a row for each


def render_snapshots_page(analysis: SnapshotAnalysis) -> str:
    """Return one HTML document that shows what a folder of snapshots says.

    Cost: 60 to 150 kB of text for a device.
    """
    parts = _parts(analysis)
    panels = [Panel(part.prefix, place_words(part.series), part.n_leaks, part.markup()) for part in parts]
    body = join(
        _banner(analysis), _unreadable(analysis), *_overview(analysis, panels), *bodies(panels), _notes(analysis),
        footer(),
    )  # fmt: skip
    charts = {key: views for part in parts for key, views in part.charts.items()}
    return document("phaseprof snapshots", body, {"names": {}, "charts": charts, "axis": "step"})


def write_snapshots_html(analysis: SnapshotAnalysis, path: Path) -> None:
    """Write the page to a file.

    Raises:
        OSError: the file cannot be written.
    """
    path.write_text(render_snapshots_page(analysis), encoding="utf-8")


def _parts(analysis: SnapshotAnalysis) -> list[SnapshotPart]:
    """Choose the devices that are shown in full: those with leaks first, in their own order."""
    is_alone = len(analysis.series) == 1
    every = [
        SnapshotPart(series, f"d{at}", analysis.scalars if at == 0 else (), is_alone)
        for at, series in enumerate(analysis.series)
    ]
    order = sorted(range(len(every)), key=lambda at: (not every[at].scalars, -every[at].n_leaks, at))
    return [every[at] for at in sorted(order[:MAX_DEVICES])]


def _banner(analysis: SnapshotAnalysis) -> Html:
    unread = plural(len(analysis.errors), "file") + " not readable" if analysis.errors else ""
    facts: Sequence[str] = (unread,)
    if len(analysis.series) == 1:
        series = analysis.series[0]
        facts = (place_words(series), span_words(series), history_words(series), unread)
    kind = tone_of(analysis.verdict)
    if analysis.errors and kind == "good":
        kind = "warn"
    return banner(_verdict(analysis), kind, brand="phaseprof snapshots", command=analysis.folder, facts=facts)


def _verdict(analysis: SnapshotAnalysis) -> str:
    if not analysis.series:
        return "Nothing to judge: no snapshot holds a segment"
    if len(analysis.series) == 1:
        return verdict_words(analysis.series[0])
    n_leaks = sum(finding.verdict == "leak" for finding in analysis.findings)
    devices = plural(len(analysis.series), "device")
    if n_leaks:
        return f"{plural(n_leaks, 'leak')} found on {devices}"
    if analysis.verdict == "too short":
        return f"Too few snapshots of {devices} to say whether memory leaks"
    more = ", but memory grows and no plateau is in sight" if analysis.verdict == "growing" else ""
    return f"No leak found on {devices}{more}"


def _unreadable(analysis: SnapshotAnalysis) -> Html:
    if not analysis.errors:
        return Html("")
    said = element("p", "These files are not part of what follows:")
    return section("all", "unreadable", "Files that could not be read", said, bullet_list(analysis.errors))


def _overview(analysis: SnapshotAnalysis, panels: Sequence[Panel]) -> list[Html]:
    """Return what spans all devices: a table and the tabs; nothing for a single one."""
    if len(analysis.series) < 2:
        return []
    titles = ("Device", "Snapshots", "Active", "A step", "Growth", "Verdict")
    rows = []
    for series in analysis.series:
        active = series.lines[0]
        verdict = verdict_words(series)
        figures = [signed(active, active.values[-1]).lstrip("+"), signed(active, active.slope)]
        rows.append((place_words(series), f"{len(series.rows)}", *figures, signed(active, active.growth), verdict))
    hidden = len(rows) - len(panels)
    note = element("p", f"{len(panels)} of {len(rows)} devices are shown in full.", class_="fine") if hidden else ""
    return [
        section("all", "devices", "All devices", table(titles, rows, caption="All devices"), note),
        tabs(panels, label="Devices"),
    ]


def _notes(analysis: SnapshotAnalysis) -> Html:
    return section("all", "notes", "Notes", bullet_list(analysis.notes)) if analysis.notes else Html("")
