"""The files that ``phaseprof snapshots --out DIR`` writes: text, JSON, Markdown, CSV tables, page and plots."""

from __future__ import annotations

import csv
import json
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, fields
from pathlib import Path

from phaseprof.analysis.snapshots.frames import site
from phaseprof.analysis.snapshots.series import DeviceSeries, Row
from phaseprof.errors import MissingExtra, UsageError
from phaseprof.report.snapshots_html import write_snapshots_html
from phaseprof.report.snapshots_report import SnapshotReport
from phaseprof.report.snapshots_tables import growth_table, scalar_table, slope_table
from phaseprof.units import MIB, safe_cell

_MOST_PLOTTED = 8


def write_files(report: SnapshotReport, folder: Path) -> list[Path]:
    """Write every file into a folder, made if it is missing.

    Returns:
        The files, in the order in which a reader wants them; ``growth.png`` only where matplotlib is installed.

    Raises:
        UsageError: the folder cannot be written.
    """
    texts = {
        "report.txt": str(report) + "\n",
        "report.md": render_markdown(report),
        "report.json": json.dumps(report.to_dict(), indent=1) + "\n",
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        written = [folder / name for name in texts]
        for path in written:
            path.write_text(texts[path.name], encoding="utf-8")
        page = folder / "report.html"
        write_snapshots_html(report, page)
        plots = _write_drawn(folder / "growth.png", lambda path: write_plot(report, path))
        return [*written, *_write_tables(report, folder), page, *plots]
    except OSError as error:
        raise UsageError(f"cannot write into {str(folder)!r}: {error.strerror or error}; pass another --out") from error


def render_markdown(report: SnapshotReport) -> str:
    """Write the short form that goes into an issue: findings, growth tables, slopes."""
    lines = [f"## CUDA memory snapshots: {report.verdict}", ""]
    lines += [f"- **{finding.verdict}** ({finding.kind}): {_escape(finding.summary)}" for finding in report.findings]
    lines += [f"- unreadable: {_escape(error)}" for error in report.errors]
    for series in report.series:
        rank = "" if series.rank is None else f"rank {series.rank}, "
        lines += ["", f"### {rank}device {series.device}", "", *_markdown_table(*growth_table(series))]
        if len(series.rows) > 1:
            lines += ["", *_markdown_table(*slope_table(series))]
    if report.scalars:
        lines += ["", "### TensorBoard", "", *_markdown_table(*scalar_table(report.scalars))]
    lines += ["", *(f"Note: {_escape(note)}" for note in report.notes)]
    return "\n".join(lines).rstrip() + "\n"


def write_plot(report: SnapshotReport, path: Path) -> None:
    """Draw active, pool and reserved memory and the growing sizes over the steps; one row of plots a device.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra(
            "plots need the package matplotlib; install it with: pip install 'phaseprof[plots]'"
        ) from error
    n_rows = max(1, len(report.series))
    figure = Figure(figsize=(11, 3.6 * n_rows), layout="constrained")
    axes = figure.subplots(n_rows, 2, squeeze=False)
    for row, series in enumerate(report.series):
        _plot_pools(axes[row][0], series)
        _plot_growth(axes[row][1], series)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about letters of file names that the font lacks
        figure.savefig(path, dpi=120, format="png")


def _plot_pools(axes: object, series: DeviceSeries) -> None:
    drawn = (("reserved_bytes", "reserved"), ("active_bytes", "active"), ("small_pool_bytes", "small pool"))
    for metric, name in (*drawn, ("large_pool_bytes", "large pool")):
        values = [getattr(row, metric) for row in series.rows]
        if None not in values:
            axes.plot(series.steps, [value / MIB for value in values], marker="o", label=name)  # type: ignore[attr-defined]
    _dress(axes, f"Device {series.device}: memory", "MiB")


def _plot_growth(axes: object, series: DeviceSeries) -> None:
    """Draw growth since the first snapshot: by line of code where stacks are known, else by block size."""
    if series.growing_sites:
        curves = [(site(found.frame), found.active_bytes) for found in series.growing_sites[:_MOST_PLOTTED]]
        steps, title = series.site_steps, "growth by line of code"
    else:
        curves = [
            (f"{found.size_bytes:,} B", tuple(number * found.size_bytes for number in found.blocks))
            for found in series.growing_classes[:_MOST_PLOTTED]
        ]
        steps, title = series.steps, "growth by block size"
    for name, values in curves:
        growth = [(value - values[0]) / MIB for value in values]
        # A dollar sign would start a formula.
        axes.plot(steps, growth, marker="o", label=name.replace("$", r"\$"))  # type: ignore[attr-defined]
    _dress(axes, title, "MiB since the first snapshot")


def _dress(axes: object, title: str, unit: str) -> None:
    axes.set_title(title)  # type: ignore[attr-defined]
    axes.set_xlabel("step")  # type: ignore[attr-defined]
    axes.set_ylabel(unit)  # type: ignore[attr-defined]
    axes.grid(visible=True, alpha=0.3)  # type: ignore[attr-defined]
    if axes.get_legend_handles_labels()[0]:  # type: ignore[attr-defined]
        axes.legend(fontsize="small")  # type: ignore[attr-defined]


def _write_drawn(path: Path, write: Callable[[Path], None]) -> list[Path]:
    try:
        write(path)
    except MissingExtra:
        return []  # the tables say the same; the command tells the user about the extra
    return [path]


def _write_tables(report: SnapshotReport, folder: Path) -> list[Path]:
    names = [field.name for field in fields(Row)]
    tables = {
        "growth.csv": (
            ["rank", "device", *names],
            [[s.rank, s.device, *asdict(row).values()] for s in report.series for row in s.rows],
        ),
        "slopes.csv": (
            ["rank", "device", "metric", "slope_per_step", "slope_per_1000_steps", "slope_low", "slope_high", "growth",
             "verdict", "votes"],
            [row for series in report.series for row in _slope_rows(series)],
        ),
        "size_classes.csv": (
            ["rank", "device", "pool", "size_bytes", "requested_bytes", "step", "blocks", "blocks_per_step"],
            [row for series in report.series for row in _class_rows(series)],
        ),
        "sites.csv": (
            ["rank", "device", "filename", "line", "function", "step", "blocks", "active_bytes", "bytes_per_step"],
            [row for series in report.series for row in _site_rows(series)],
        ),
    }  # fmt: skip
    if report.scalars:
        tables["tensorboard.csv"] = (
            list(asdict(report.scalars[0])),
            [[*asdict(match).values()] for match in report.scalars],
        )
    written = []
    for name, (header, rows) in tables.items():
        _write_csv(folder / name, header, rows)
        written.append(folder / name)
    return written


def _slope_rows(series: DeviceSeries) -> Iterable[list[object]]:
    for line in series.lines:
        slopes = [line.slope, line.slope * 1000, line.slope_low, line.slope_high]
        yield [series.rank, series.device, line.metric, *slopes, line.growth, line.verdict, line.votes]


def _class_rows(series: DeviceSeries) -> Iterable[list[object]]:
    for found in series.classes:
        for step, blocks in zip(series.steps, found.blocks, strict=True):
            sizes = [found.kind, found.size_bytes, found.requested_bytes]
            yield [series.rank, series.device, *sizes, step, blocks, found.blocks_per_step]


def _site_rows(series: DeviceSeries) -> Iterable[list[object]]:
    for found in series.sites:
        place = [found.frame.filename, found.frame.line, found.frame.name]
        for step, blocks, size in zip(series.site_steps, found.blocks, found.active_bytes, strict=True):
            yield [series.rank, series.device, *place, step, blocks, size, found.bytes_per_step]


def _write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        writer.writerows(map(safe_cell, row) for row in rows)


def _markdown_table(header: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    rows = [header, ["---"] * len(header), *cells]
    return [f"| {' | '.join(_escape(cell) for cell in row)} |" for row in rows]


def _escape(text: str) -> str:
    """Keep names from a file from becoming markup."""
    return text.replace("|", r"\|").replace("<", "&lt;")
