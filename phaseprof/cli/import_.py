"""``phaseprof import``: other tools' logs become a run."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from phaseprof.analysis.imports import Imported, import_files, parse_patterns, parse_units
from phaseprof.cli.output import emit
from phaseprof.report.words import plural

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

_DESCRIPTION = """\
Turn existing logs into a run that report, check and diff can read: any table with a column of memory (CSV, or as a
terminal shows it), JSON, Prometheus text, logs that say "RSS: 1020 MB"; files and folders of TensorBoard, Weights &
Biases and MLflow; the output of psrecord, mprof, pidstat, sar, ps, top, docker stats, kubectl top, nvidia-smi and
gpustat; and memray captures where memray is installed. Files may be gzipped. Each file becomes a process of the run,
or several if a column splits it."""


def add_parser(subparsers: Subparsers) -> None:
    """Add the command to the program's parser."""
    parser = subparsers.add_parser("import", help="turn other tools' logs into a run", description=_DESCRIPTION)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--out", required=True, type=Path, metavar="RUN", help="new folder for the run")
    parser.add_argument(
        "--unit", action="append", default=[], metavar="[NAME=]UNIT",
        help="unit of sizes whose names do not say it: bytes, MB, MiB, GB, GiB ...; NAME=count if it counts things",
    )  # fmt: skip
    parser.add_argument(
        "--pattern", action="append", default=[], metavar="REGEX",
        help=r"read the files as logs: named groups are figures or axes, as in 'RSS: (?P<rss_MB>\d+)'",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print what was imported as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Import the files; return 0."""
    imported = import_files(args.files, args.out, units=parse_units(args.unit), patterns=parse_patterns(args.pattern))
    emit(json.dumps(imported.to_dict()) if args.json else _text(imported))
    return 0


def _text(imported: Imported) -> str:
    processes = f" from {imported.n_processes} processes" if imported.n_processes > 1 else ""
    lines = [
        f"{imported.run}: {plural(imported.n_readings, 'reading')} in {plural(imported.n_steps, 'step')}{processes}",
        f"  points:  {_some(imported.points)}",
        f"  metrics: {_some(imported.metrics)}",
        *(f"  note: {note}" for note in imported.notes),
    ]
    return "\n".join(lines)


def _some(names: tuple[str, ...], most: int = 12) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
