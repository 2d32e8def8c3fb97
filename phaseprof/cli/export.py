"""``phaseprof export``: a run in other tools' formats."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from phaseprof.cli.judged import judge_process, read_run
from phaseprof.cli.output import emit
from phaseprof.errors import UsageError
from phaseprof.recording.addresses import fetched_run
from phaseprof.report.export import FORMATS, export_run

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

_BY_ENDING = {
    ".csv": "csv", ".parquet": "parquet", ".pq": "parquet", ".json": "perfetto", ".perfetto-trace": "perfetto",
    ".prom": "openmetrics", ".om": "openmetrics", ".txt": "openmetrics",
}  # fmt: skip


def add_parser(subparsers: Subparsers) -> None:
    """Add the command to the program's parser."""
    parser = subparsers.add_parser(
        "export", help="write a run for other tools: CSV, Parquet, Perfetto, OpenMetrics, speedscope",
        description="Write a run in another tool's format: tidy CSV (which import reads back), Parquet, trace events "
        "for Perfetto (phases as slices, memory as counters, findings as instants), OpenMetrics text, or the heap by "
        "place for speedscope.",
    )  # fmt: skip
    parser.add_argument("recording", metavar="RUN", help="folder of a recorded run, or one of its files")
    parser.add_argument("--format", dest="form", choices=FORMATS, help="default: told by the ending of FILE")
    parser.add_argument("--out", required=True, type=Path, metavar="FILE", help="compressed if it ends in .gz")
    parser.add_argument("--json", action="store_true", help="print what was written as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Export the run; return 0."""
    form = args.form or _form_of(args.out.name.removesuffix(".gz"))
    if form is None:
        raise UsageError(
            f"--format must be one of {', '.join(FORMATS)} (none was given, and {args.out.name!r} does not imply one)"
        )
    with fetched_run(args.recording) as recording:
        findings = judge_process(read_run(recording).main) if form == "perfetto" else ()
        n = export_run(recording, args.out, form=form, findings=findings, load=read_run)
    unit = {"perfetto": "events", "openmetrics": "samples", "speedscope": "stacks"}.get(form, "readings")
    if args.json:
        emit(json.dumps({"format": 1, "out": str(args.out), "form": form, unit: n}))
    else:
        emit(f"{args.out}: {n:,} {unit}")
    return 0


def _form_of(name: str) -> str | None:
    return "speedscope" if name.endswith(".speedscope.json") else _BY_ENDING.get(Path(name).suffix)
