"""Pictures for those who paste them into a ticket: trend, counts and deltas of one process in one PNG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from phaseprof.errors import MissingExtra, UsageError
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.reader import Run
from phaseprof.recording.series import Series
from phaseprof.records import Finding
from phaseprof.report.access import Generations, bounds_text, is_within, memory_point, series_of, short_name
from phaseprof.report.findings import build_findings, slope_text
from phaseprof.report.page.charts import MOST_A_LINE
from phaseprof.report.page.heat import charge_metrics, charges_of
from phaseprof.report.page.thinning import thin
from phaseprof.report.text import Style, clean, fit
from phaseprof.report.words import is_bytes, metric_words
from phaseprof.units import GIB, KIB, MIB

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_COUNTS = 8
MAX_PHASES = 10
_COLORS = ("#0b5cad", "#c2500a", "#17805a", "#8c3bb0", "#b0236b", "#6d5e00", "#00758a", "#6b4a3a", "#4a5560", "#9c7a00")
_BAD, _GOOD = "#b3261e", "#17805a"
_TITLE = 110  # characters of the summary above the picture
_NAME = 26  # characters of a name in a legend


def save_png(process: ProcessRun, findings: Sequence[Finding], path: str | Path) -> None:
    """Draw a process's memory, counts and deltas into one PNG.

    Args:
        process: one process's recording.
        findings: what was found in it; the first is the picture's title.
        path: the file to write.

    Raises:
        MissingExtra: matplotlib is not installed.
        OSError: the file cannot be written.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("pictures need matplotlib; pip install 'phaseprof[plots]'") from error
    process.fold()
    # A figure of its own, with its own canvas: pyplot, its backend and its list of figures stay as they are.
    figure = Figure(figsize=(11, 11), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    _fill(figure, process, findings)
    # matplotlib writes its version unless told otherwise; equal recordings give equal files.
    figure.savefig(path, format="png", metadata={"Software": "phaseprof"})


def write_png(run: Run, findings: Sequence[Sequence[Finding]], path: Path) -> None:
    """Draw the process that tells most: the first with a leak, else the main one.

    Raises:
        UsageError: the run has no process.
        OSError: the file cannot be written.
    """
    if not run.processes:
        raise UsageError(
            "a picture needs a recorded process (got a run without any); give the folder of a recorded run"
        )
    pairs = list(zip(run.processes, findings, strict=True))
    leaking = (pair for pair in pairs if any(one.verdict == "leak" for one in pair[1]))
    process, found = next(leaking, None) or next(pair for pair in pairs if pair[0] is run.main)
    save_png(process, found, path)


def _fill(figure: Figure, process: ProcessRun, findings: Sequence[Finding]) -> None:
    trend, deltas, counts = figure.subplots(3, 1)
    report = build_findings(findings, process=process)
    title = f"{report.n_leaks} leak{'' if report.n_leaks == 1 else 's'} found" if report.n_leaks else "No leak found"
    if findings:
        first = findings[0]
        where = f" in {first.phase}" if first.phase else ""
        title += (
            f"\n{fit(f'{first.subject or first.kind}{where}: {slope_text(first) or first.verdict}', _TITLE, Style())}"
        )
    figure.suptitle(_plain(title), x=0.01, ha="left", fontsize=13, color=_BAD if report.n_leaks else _GOOD)
    _draw_trend(trend, process)
    _draw_deltas(deltas, process)
    _draw_counts(counts, process)
    for axes in (trend, deltas, counts):
        axes.set_xlabel("generation")
        axes.grid(visible=True, color="#e3e8ed", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)


def _draw_trend(axes: Axes, process: ProcessRun) -> None:
    point = memory_point(process)
    metrics = ["rss_bytes", "anonymous_bytes", *(m for m in charge_metrics(process) if m.endswith("/allocated_bytes"))]
    found = [(m, s) for m in metrics if (s := series_of(process, m, point=point)) is not None]
    scale, unit = _scale([v for _, series in found for v in series.values])
    for at, (metric, series) in enumerate(found):
        _plot(axes, process, series, label=metric_words(metric), color=_COLORS[at % len(_COLORS)], scale=scale)
    _finish(axes, f"Memory, {point}", unit, is_empty=not found)


def _draw_deltas(axes: Axes, process: ProcessRun) -> None:
    metrics = charge_metrics(process)
    metric = metrics[0] if metrics else ""
    charges = charges_of(process, metric)
    largest = sorted(charges, key=lambda phase: -abs(sum(charges[phase].values)))[:MAX_PHASES]
    scale, unit = _scale([v for phase in largest for v in charges[phase].values]) if is_bytes(metric) else (1, "")
    for at, phase in enumerate(p for p in charges if p in largest):
        color = _COLORS[at % len(_COLORS)]
        _plot(axes, process, charges[phase], label=fit(phase, _NAME, Style()), color=color, scale=scale)
    what = f"Change of {metric_words(metric).lower()} while each phase ran" if metric else "Change by phase"
    _finish(axes, what, unit, is_empty=not largest)


def _draw_counts(axes: Axes, process: ProcessRun) -> None:
    found = [(w, s) for w in process.watches.values() if (s := series_of(process, f"watched/{w.name}")) is not None]
    found.sort(key=lambda pair: is_within(pair[1].last, pair[0].low, pair[0].high))
    for at, (watch, series) in enumerate(found[:MAX_COUNTS]):
        color = _COLORS[at % len(_COLORS)]
        bounds = bounds_text(watch.low, watch.high)
        label = fit(short_name(watch.name), _NAME, Style()) + (f" ({bounds})" if bounds else "")
        _plot(axes, process, series, label=label, color=color, scale=1)
        if watch.low >= 0 and watch.high >= 0:
            axes.axhspan(watch.low, watch.high, color=color, alpha=0.15)
            axes.axhline(watch.high, color=color, alpha=0.5, linewidth=0.8, linestyle="--")
    if found:
        axes.set_ylim(bottom=0)
    _finish(axes, "Watched objects and what is expected of them", "objects", is_empty=not found)


def _plot(axes: Axes, process: ProcessRun, series: Series, *, label: str, color: str, scale: float) -> None:
    shift = _shift(process)
    pairs = [(g, v) for g, v in series if g >= 0]
    kept = [pairs[at] for at in thin([v for _, v in pairs], MOST_A_LINE)]
    marker = "o" if len(kept) <= 60 else ""
    axes.plot(
        [g + shift for g, _ in kept], [v / scale for _, v in kept], label=_plain(label), color=color, marker=marker,
        markersize=3, linewidth=1.6,
    )  # fmt: skip


def _shift(process: ProcessRun) -> int:
    """The user's number of the first generation less its ordinal, where it is a number."""
    name = Generations(process).name(0)
    return int(name) if name.lstrip("-").isdecimal() else 0


def _finish(axes: Axes, title: str, unit: str, *, is_empty: bool) -> None:
    axes.set_title(_plain(title), loc="left", fontsize=11, fontweight="bold")
    axes.set_ylabel(unit)
    if is_empty:
        axes.text(0.5, 0.5, "not measured", transform=axes.transAxes, ha="center", va="center", color="#536070")
    else:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8, frameon=False)


def _scale(values: Sequence[float]) -> tuple[float, str]:
    most = max(map(abs, values), default=0.0)
    for step, unit in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if most >= step:
            return step, unit
    return 1, "bytes"


def _plain(text: str) -> str:
    """Make a label plain text: no control character, and no dollar sign that would begin a formula."""
    return "\n".join(clean(line, Style()) for line in text.split("\n")).replace("$", r"\$")
