"""``phaseprof snapshots``: a folder of CUDA memory snapshots gets a verdict."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from phaseprof.cli.output import complain, emit
from phaseprof.errors import PhaseprofError, UsageError
from phaseprof.report.snapshots_files import render_markdown, write_files, write_plot
from phaseprof.report.snapshots_html import write_snapshots_html
from phaseprof.report.snapshots_report import SnapshotReport, analyse_snapshots
from phaseprof.units import parse_bytes

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

_DESCRIPTION = """\
Judge a series of CUDA memory snapshots written by torch.cuda.memory._dump_snapshot, plain or gzip'd: what grows per
step, in which pool, in which block sizes, and, where stacks were recorded, from which lines. No code in a snapshot is
run. One snapshot is described, two are compared, three or more get a verdict.
Exit status: 0 no leak, 1 leak, 2 wrong use or a file that cannot be read, 3 too short to say."""

_UNREADABLE = 2


def add_parser(subparsers: Subparsers) -> None:
    """Add the command to the program's parser."""
    parser = subparsers.add_parser(
        "snapshots", help="judge a folder of CUDA memory snapshots", description=_DESCRIPTION
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder of snapshots, or one file")
    parser.add_argument("--events", type=Path, metavar="DIR", help="TensorBoard event files to compare with")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write text, JSON, Markdown, CSV, page and plots here")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--markdown", action="store_true", help="print Markdown")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write one page that needs no network")
    parser.add_argument("--png", type=Path, metavar="FILE", help="write the plots into this file")
    parser.add_argument(
        "--max-file-size",
        default="50 MB",
        metavar="SIZE",
        help="skip snapshots that are larger, or could take ten times as much memory (default: %(default)s)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Analyse the folder, print and write what was asked for; return the exit status."""
    try:
        report = analyse_snapshots(args.folder, args.events, max_bytes=parse_bytes(args.max_file_size))
        _write(report, args)
    except PhaseprofError as error:
        complain(f"phaseprof snapshots: {error}")
        return _UNREADABLE
    for error_line in report.errors:
        complain(f"phaseprof snapshots: {error_line}")
    emit(_printed(report, args))
    return report.exit_code


def _printed(report: SnapshotReport, args: argparse.Namespace) -> str:
    if args.json:
        return json.dumps(report.to_dict())
    return render_markdown(report) if args.markdown else str(report)


def _write(report: SnapshotReport, args: argparse.Namespace) -> None:
    if args.html:
        _write_one(args.html, lambda: write_snapshots_html(report, args.html))
    if args.png:
        _write_one(args.png, lambda: write_plot(report, args.png))
    if not args.out:
        return
    written = write_files(report, args.out)
    names = ", ".join(path.name for path in written)
    complain(f"wrote {names} into {args.out}")
    endings = {path.suffix for path in written}
    for ending, what, extra in ((".html", "page", "page"), (".png", "plots", "plots")):
        if ending not in endings:
            complain(f"no {what}: pip install 'phaseprof[{extra}]'")


def _write_one(file: Path, write: Callable[[], None]) -> None:
    try:
        write()
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}; give a file in a folder that exists") from error
    complain(f"wrote {file}")
