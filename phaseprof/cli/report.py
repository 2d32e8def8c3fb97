"""``phaseprof report``: everything a recording shows, as text, JSON, Markdown, a page or pictures."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from phaseprof.cli.foreign import RUN_HELP
from phaseprof.cli.judged import JudgedRun, judge_run, main_findings
from phaseprof.cli.output import emit, emit_json
from phaseprof.errors import UsageError

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add_parser(subparsers: Subparsers) -> None:
    """Add the command to the program's parser."""
    parser = subparsers.add_parser(
        "report", help="report a recorded run",
        description="Report a run made by phaseprof run, by a program that calls phaseprof, or by phaseprof import.",
    )  # fmt: skip
    parser.add_argument("recording", metavar="RUN", help=RUN_HELP)
    parser.add_argument("--on", metavar="ENGINE", default="", help="read it on a cluster: ray, dask or its address")
    parser.add_argument("--full", action="store_true", help="print every table, not one screen")
    parser.add_argument("--what-if", action="store_true", help="say what memory would be without each leak")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print everything as JSON, format 1")
    form.add_argument("--markdown", action="store_true", help="print the block to paste into a bug report")
    parser.add_argument("--html", metavar="FILE", help="write one page that needs no network")
    parser.add_argument("--png", metavar="FILE", help="write the plots")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Report the run; return 0."""
    show(judge_run(args.recording, on=args.on), args)
    return 0


def show(judged: JudgedRun, args: argparse.Namespace) -> None:
    """Print or write what the arguments ask for."""
    from phaseprof.progress import Progress
    from phaseprof.report.build import build_report, build_what_to_report
    from phaseprof.report.text import style_for

    if args.html:
        _write_html(judged, Path(args.html))
    if args.png:
        _write_png(judged, Path(args.png))
    if args.what_if:
        _say_what_if(judged, as_json=args.json)
    elif args.markdown:
        emit(build_what_to_report(*main_findings(judged)).to_markdown().rstrip("\n"))
    elif args.json or not (args.html or args.png):
        with Progress("reporting", len(judged.run.processes)) as progress:
            report = build_report(judged.run, judged.findings, ranks=judged.ranks, progress=progress)
        if args.json:
            emit_json(report.to_dict())
        else:
            emit(report.render(replace(style_for(sys.stdout, os.environ), full=args.full)))


def _say_what_if(judged: JudgedRun, *, as_json: bool) -> None:
    from phaseprof.report.text import style_for
    from phaseprof.report.whatif import build_what_if

    report = build_what_if(*main_findings(judged))
    if as_json:
        emit_json(report.to_dict())
    else:
        emit(report.render(style_for(sys.stdout, os.environ)))


def _write_html(judged: JudgedRun, file: Path) -> None:
    from phaseprof.report.html import write_html

    _write(file, lambda: write_html(judged.run, judged.findings, file, judged.ranks))


def _write_png(judged: JudgedRun, file: Path) -> None:
    from phaseprof.report.plots import write_png

    _write(file, lambda: write_png(judged.run, judged.findings, file))


def _write(file: Path, write: Callable[[], None]) -> None:
    try:
        write()
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}; give a file in a folder that exists") from error
    emit(f"wrote {file}")
