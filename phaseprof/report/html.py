"""The page: one HTML file with everything a recording shows, which needs no network and loads nothing.

Plotly draws the charts.  Its own script is placed in the file once (4.8 MB, 1.4 MB packed); the page's policy forbids
every other script by hash, and every request, so that a label that holds markup could do nothing even if it were not
escaped.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from datetime import datetime, timezone
from importlib.resources import files
from pathlib import Path

from phaseprof._version import __version__
from phaseprof.errors import MissingExtra
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.reader import Run
from phaseprof.records import Finding
from phaseprof.report.access import memory_point, series_of
from phaseprof.report.page.charts import Chart, lines
from phaseprof.report.page.layout import figure, section
from phaseprof.report.page.markup import Html, element, join, json_text, table
from phaseprof.report.page.process_part import ProcessPart, rank_title, tone, verdict_words
from phaseprof.report.page.trend import MOST_A_METRIC
from phaseprof.report.page.words import plural
from phaseprof.report.run import ProcessHeader, ProcessSection, RankRow, build_report
from phaseprof.units import format_bytes, format_duration, format_signed_bytes

MAX_PROCESSES = 8  # shown in full; the table has a row for each
MAX_RANK_ROWS = 200
MAX_RANK_LINES = 32
_LEAST_A_METRIC = 1000


def render_page(run: Run, findings: Sequence[Sequence[Finding]]) -> str:
    """Return one HTML document that shows a run.

    Args:
        run: the run.
        findings: the findings of each of ``run.processes``, in the same order.

    Raises:
        UsageError: there are not as many lists of findings as processes.
        MissingExtra: plotly is not installed.
    Cost: about 5 MB of text; seconds for a million readings, which are thinned, extremes kept.
    """
    plotly = _plotly_script()
    ranks = build_report(run, findings, max_sections=0).ranks
    parts = _parts(run, findings, ranks)
    body = join(_banner(run, ranks, parts), *_overview(run, ranks, parts), *_panels(parts), _footer())
    charts = {key: views for part in parts for key, views in part.charts.items()}
    if len(ranks) > 1 and (chart := _ranks_chart(run)) is not None:
        charts[f"all-{chart.key}"] = chart.views
    names = {part.prefix: part.names() for part in parts}
    if parts:
        names["all"] = parts[0].names()  # ranks of one run name their generations alike
    tree = {"names": names, "charts": charts}
    return str(_document(body, json_text(tree), plotly))


def write_html(run: Run, findings: Sequence[Sequence[Finding]], path: Path) -> None:
    """Write the page to a file.

    Raises:
        OSError: the file cannot be written.
    """
    path.write_text(render_page(run, findings), encoding="utf-8")


def _plotly_script() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise MissingExtra("a page needs plotly; pip install 'phaseprof[page]'") from error
    return str(get_plotlyjs())


def _own(name: str) -> str:
    return files("phaseprof.report.page").joinpath(name).read_text(encoding="utf-8")


def _parts(run: Run, findings: Sequence[Sequence[Finding]], ranks: Sequence[RankRow]) -> list[ProcessPart]:
    """Choose the processes that are shown in full: those with leaks first, in their own order."""
    order = sorted(range(len(ranks)), key=lambda at: (-ranks[at].n_leaks, at))
    chosen = sorted(order[:MAX_PROCESSES])
    most = max(_LEAST_A_METRIC, MOST_A_METRIC // max(1, len(chosen)))
    parts = []
    for at in chosen:
        process = run.processes[at]
        parts.append(ProcessPart(process, _section_of(run, process, findings[at]), f"p{at}", most, len(ranks) == 1))
    return parts


def _section_of(run: Run, process: ProcessRun, found: Sequence[Finding]) -> ProcessSection:
    return build_report(Run(run.path, [process]), [found], max_sections=1).sections[0]


def _document(body: Html, data: Html, plotly: str) -> Html:
    script = _own("page.js")
    policy = (
        f"default-src 'none'; script-src {_hash(plotly)} {_hash(script)}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content=f"phaseprof {__version__}"),
        element("title", "phaseprof report"),
        element("style", Html(_own("page.css"))),
    )
    scripts = (
        element("script", data, id="phaseprof-data", type="application/json"),
        element("script", Html(plotly)),
        element("script", Html(script)),
    )
    return join(Html("<!DOCTYPE html>\n"), element("html", head, element("body", body, *scripts), lang="en"))


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _banner(run: Run, ranks: Sequence[RankRow], parts: Sequence[ProcessPart]) -> Html:
    leaking = sum(row.n_leaks > 0 for row in ranks)
    n_leaks = sum(row.n_leaks for row in ranks)
    if not ranks:
        words, kind = "Nothing was recorded: the run has no process.", "warn"
    elif len(ranks) == 1:
        words = verdict_words(parts[0].process, parts[0].report.summary)
        kind = tone(parts[0].process, parts[0].report.summary)
    elif n_leaks:
        words, kind = f"{plural(n_leaks, 'leak')} found in {leaking} of {plural(len(ranks), 'process')}", "bad"
    else:
        tones = {tone(part.process, part.report.summary) for part in parts}
        kind = "warn" if "warn" in tones else "good"
        words = f"No leak found in {plural(len(ranks), 'process')}" + (", but read on" if kind == "warn" else "")
    header = parts[0].report.header if parts else None
    command = element("p", element("code", " ".join(header.argv)), class_="command") if header and header.argv else ""
    return element(
        "header",
        element("div", element("p", "phaseprof report", class_="brand"), element("h1", words, class_=kind), command,
                element("p", " · ".join(_facts(run, header)), class_="fine")),
        class_=f"banner {kind}",
    )  # fmt: skip


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


def _overview(run: Run, ranks: Sequence[RankRow], parts: Sequence[ProcessPart]) -> list[Html]:
    """Return what spans all processes: a table, a chart of their memory, and the tabs; nothing for a single one."""
    if len(ranks) < 2:
        return []
    rows = [
        (f"rank {r.rank}, pid {r.pid}", f"{r.n_generations:,}", _or_dash(r.ram_bytes),
         "-" if r.growth_bytes is None else format_signed_bytes(r.growth_bytes), f"{r.n_leaks}", r.first_finding or "-")
        for r in ranks[:MAX_RANK_ROWS]
    ]  # fmt: skip
    titles = ("Process", "Generations", "Memory", "Growth", "Leaks", "First finding")
    hidden = len(ranks) - len(parts)
    note = f"{plural(hidden, 'more process')} in the table only; report a rank's own file to see it in full."
    chart = _ranks_chart(run)
    whole = section(
        "all", "ranks", "All processes", figure("all", chart) if chart else "",
        table(titles, rows, caption="All processes"), element("p", note, class_="fine") if hidden else "",
    )  # fmt: skip
    return [whole, _tabs(parts)]


def _or_dash(n_bytes: float | None) -> str:
    return "-" if n_bytes is None else format_bytes(n_bytes)


def _ranks_chart(run: Run) -> Chart | None:
    named = [
        (f"rank {p.header.rank if p.header else 0}, pid {p.header.pid if p.header else 0}",
         series_of(p, "rss_bytes", point=memory_point(p)))
        for p in run.processes[:MAX_RANK_LINES]
    ]  # fmt: skip
    drawn = lines(named)
    if not drawn:
        return None
    caption = f"Resident memory of {plural(len(drawn), 'process')} at the end of each generation"
    return Chart("ranks", "Memory of every process", caption, ({"kind": "lines", "unit": "bytes", "lines": drawn},))


def _tabs(parts: Sequence[ProcessPart]) -> Html:
    tabs = [
        element(
            "button", rank_title(part.report.header), _mark(part), type="button", role="tab",
            id=f"{part.prefix}-tab", aria_controls=part.prefix, aria_selected="true" if at == 0 else "false",
        )
        for at, part in enumerate(parts)
    ]  # fmt: skip
    return element("div", *tabs, class_="tabs live-only", role="tablist", aria_label="Processes")


def _mark(part: ProcessPart) -> Html:
    n = part.report.summary.findings.n_leaks
    return element("span", plural(n, "leak"), class_="tag bad") if n else element("span", "no leak", class_="tag good")


def _panels(parts: Sequence[ProcessPart]) -> list[Html]:
    several = len(parts) > 1
    return [
        element(
            "main" if not several else "div",
            element("h2", rank_title(part.report.header), class_="rank-title") if several else "", part.markup(),
            id=part.prefix, class_="process", role="tabpanel" if several else None,
            aria_labelledby=f"{part.prefix}-tab" if several else None,
        )
        for part in parts
    ]  # fmt: skip


def _footer() -> Html:
    return element("footer", element("p", f"Made by phaseprof {__version__}. This file holds everything it shows and "
                                          "loads nothing."), class_="fine")  # fmt: skip
