"""The page of a run: one HTML file with everything a recording shows, which needs no network and loads nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from phaseprof.recording.model import ProcessRun
from phaseprof.recording.reader import Run
from phaseprof.records import Finding
from phaseprof.report.access import memory_point, series_of
from phaseprof.report.page.charts import Chart, lines
from phaseprof.report.page.document import Panel, banner, bodies, document, footer, tabs
from phaseprof.report.page.layout import figure, section
from phaseprof.report.page.markup import Html, element, join, table
from phaseprof.report.page.process_part import ProcessPart, rank_title, tone, verdict_words
from phaseprof.report.page.trend import MOST_READINGS
from phaseprof.report.ranks import RankRow, died
from phaseprof.report.run import ProcessHeader, ProcessSection, build_report
from phaseprof.report.words import clauses, drawn_words, plural
from phaseprof.units import format_bytes, format_duration, format_signed_bytes

MAX_PROCESSES = 8  # shown in full; the table has a row for each
MAX_RANK_ROWS = 200
MAX_RANK_LINES = 32
_LEAST_READINGS = 600


def render_page(run: Run, findings: Sequence[Sequence[Finding]], ranks: Sequence[RankRow] | None = None) -> str:
    """Return one HTML document that shows a run.

    Args:
        run: the run.
        findings: the findings of each of ``run.processes``, in the same order.
        ranks: the row of each in the table, where they are made already.

    Raises:
        UsageError: there are not as many lists of findings as processes.
    Cost: 60 to 150 kB of text for a process; seconds for a million readings, which are thinned, extremes kept.
    """
    ranks = build_report(run, findings, ranks=ranks, max_sections=0).ranks
    parts = _parts(run, findings, ranks)
    panels = [_panel(part) for part in parts]
    body = join(_banner(run, ranks, parts), *_overview(run, ranks, panels), *bodies(panels), footer())
    charts = {key: views for part in parts for key, views in part.charts.items()}
    if len(ranks) > 1 and (chart := _ranks_chart(run)) is not None:
        charts[f"all-{chart.key}"] = chart.views
    names = {part.prefix: part.names() for part in parts}
    if parts:
        names["all"] = parts[0].names()  # ranks of one run name their generations alike
    return document("phaseprof report", body, {"names": names, "charts": charts})


def write_html(
    run: Run, findings: Sequence[Sequence[Finding]], path: Path, ranks: Sequence[RankRow] | None = None
) -> None:
    """Write the page to a file.

    Raises:
        OSError: the file cannot be written.
    """
    path.write_text(render_page(run, findings, ranks), encoding="utf-8")


def _parts(run: Run, findings: Sequence[Sequence[Finding]], ranks: Sequence[RankRow]) -> list[ProcessPart]:
    """Choose the processes that are shown in full: those with leaks first, in their own order."""
    order = sorted(range(len(ranks)), key=lambda at: (-ranks[at].n_leaks, at))
    chosen = sorted(order[:MAX_PROCESSES])
    most = max(_LEAST_READINGS, MOST_READINGS // max(1, len(chosen)))
    parts = []
    for at in chosen:
        process = run.processes[at]
        parts.append(ProcessPart(process, _section_of(run, process, findings[at]), f"p{at}", most, len(ranks) == 1))
    return parts


def _panel(part: ProcessPart) -> Panel:
    report = part.report
    return Panel(part.prefix, rank_title(report.header), report.summary.findings.n_leaks, part.markup())


def _section_of(run: Run, process: ProcessRun, found: Sequence[Finding]) -> ProcessSection:
    return build_report(Run(run.path, [process]), [found], max_sections=1).sections[0]


def _banner(run: Run, ranks: Sequence[RankRow], parts: Sequence[ProcessPart]) -> Html:
    leaking = sum(row.n_leaks > 0 for row in ranks)
    n_leaks = sum(row.n_leaks for row in ranks)
    if not ranks:
        words, kind = "Nothing was recorded: the run has no process.", "warn"
    elif len(ranks) == 1:
        words = verdict_words(parts[0].report.summary)
        kind = tone(parts[0].report.summary)
    elif n_leaks:
        words, kind = f"{plural(n_leaks, 'leak')} found in {leaking} of {plural(len(ranks), 'process')}", "bad"
    else:
        tones = {tone(part.report.summary) for part in parts}
        kind = "warn" if "warn" in tones else "good"
        words = f"No leak found in {plural(len(ranks), 'process')}" + (", but see each part" if kind == "warn" else "")
    header = parts[0].report.header if parts else None
    command = " ".join(header.argv) if header else ""
    facts = [*(f"died: {row.death}" for row in died(ranks)[:1]), *_facts(run, header)]
    return banner(words, kind, brand="phaseprof report", command=command, facts=facts)


def _facts(run: Run, header: ProcessHeader | None) -> list[str]:
    if header is None:
        return []
    began = next((p.header.started_unix_s for p in run.processes if p.header), 0.0)
    moment = datetime.fromtimestamp(began, tz=timezone.utc).strftime("%Y-%m-%d %H:%M UTC") if began else ""
    facts = [
        header.host, f"began {moment}" if moment else "", f"lasted {format_duration(header.duration_s)}",
        plural(header.n_generations, "generation"), f"torch {header.torch}" if header.torch else "",
    ]  # fmt: skip
    return [fact for fact in facts if fact]


def _overview(run: Run, ranks: Sequence[RankRow], panels: Sequence[Panel]) -> list[Html]:
    """Return what spans all processes: a table, a chart of their memory, and the tabs; nothing for a single one."""
    if len(ranks) < 2:
        return []
    rows = [
        (f"rank {r.rank}, pid {r.pid}", f"{r.n_generations:,}", format_bytes(r.ram_bytes),
         format_signed_bytes(r.growth_bytes), f"{r.n_leaks}", r.first_finding or "-")
        for r in ranks[:MAX_RANK_ROWS]
    ]  # fmt: skip
    titles = ("Process", "Generations", "Memory", "Growth", "Leaks", "First finding")
    hidden = len(ranks) - len(panels)
    note = f"{plural(hidden, 'more process')} in the table only; report a rank's own file to see it in full."
    chart = _ranks_chart(run)
    whole = section(
        "all", "ranks", "All processes", figure("all", chart) if chart else "",
        table(titles, rows, caption="All processes"), element("p", note, class_="fine") if hidden else "",
    )  # fmt: skip
    return [whole, tabs(panels, label="Processes")]


def _ranks_chart(run: Run) -> Chart | None:
    named = [
        (f"rank {p.header.rank if p.header else 0}, pid {p.header.pid if p.header else 0}",
         series_of(p, "rss_bytes", point=memory_point(p)))
        for p in run.processes[:MAX_RANK_LINES]
    ]  # fmt: skip
    drawn = lines(named)
    if not drawn:
        return None
    said = "Resident memory of each process at the end of each generation"
    caption = clauses(said, drawn_words(len(drawn), len(run.processes), "process"))
    return Chart("ranks", "Memory of every process", caption, ({"kind": "lines", "unit": "bytes", "lines": drawn},))
