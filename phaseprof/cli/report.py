"""``phaseprof report``: everything a recording shows, as text, JSON, Markdown, a page or pictures."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from phaseprof.cli.judged import JudgedRun, judge_run, main_findings
from phaseprof.cli.output import emit, emit_json
from phaseprof.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add_parser(subparsers: Subparsers) -> None:
    """Add the command to the program's parser."""
    parser = subparsers.add_parser(
        "report", help="report a recorded run",
        description="Report a run made by phaseprof run, by a program that calls phaseprof, or by phaseprof import.",
    )  # fmt: skip
    parser.add_argument("recording", metavar="RUN", help="folder of a recorded run, or one of its files")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print everything as JSON, format 1")
    form.add_argument("--markdown", action="store_true", help="print the block to paste into a bug report")
    parser.add_argument("--html", metavar="FILE", help="write one page that needs no network")
    parser.add_argument("--png", metavar="FILE", help="write the plots")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Report the run; return 0."""
    from phaseprof.report.build import build_report, build_what_to_report
    from phaseprof.report.progress import Progress

    judged = judge_run(args.recording)
    for file, module, function in (
        (args.html, "phaseprof.report.html", "write_html"), (args.png, "phaseprof.report.plots", "write_png")
    ):  # fmt: skip
        if file:
            _write(judged, Path(file), module, function)
    if args.markdown:
        emit(build_what_to_report(*main_findings(judged)).to_markdown().rstrip("\n"))
    elif args.json or not (args.html or args.png):
        with Progress("reporting", len(judged.run.processes)) as progress:
            report = build_report(judged.run, judged.findings, progress=progress)
        if args.json:
            emit_json(report.to_dict())
        else:
            emit(str(report))
    return 0


def _write(judged: JudgedRun, file: Path, module: str, function: str) -> None:
    """Write a file with a renderer that is imported only now, since it may need an extra."""
    try:
        write = cast("Callable[..., object]", getattr(importlib.import_module(module), function))
    except ImportError as error:
        raise MissingExtra(f"cannot write {file}: {error}; pip install 'phaseprof[page,plots]'") from error
    try:
        write(judged.run, judged.findings, file)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}; give a file in a folder that exists") from error
    emit(f"wrote {file}")
