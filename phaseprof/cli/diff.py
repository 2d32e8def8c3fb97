"""``phaseprof diff`` and ``phaseprof experiment``: runs, or series of CUDA snapshots, side by side."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from phaseprof.analysis.compare import Comparison, compare
from phaseprof.analysis.compare_series import process_of
from phaseprof.analysis.compare_snapshots import compare_snapshots
from phaseprof.analysis.experiment import judge_experiment
from phaseprof.analysis.repairs import repairs
from phaseprof.analysis.snapshots.files import holds_snapshots, read_folder
from phaseprof.cli.judged import judge_process, read_run
from phaseprof.cli.output import complain, emit
from phaseprof.errors import UsageError
from phaseprof.report.compare_text import compare_sentence, compare_text, experiment_sentence, experiment_text
from phaseprof.units import parse_bytes

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

_SETTING = re.compile(r"[^=,:/\\\s]+=[^=,:]*\Z")
_CODES = (
    "Exit status: 0 no worse than the first, 1 a later run leaks more, 2 wrong use or a "
    "file that cannot be read, 3 too short to say."
)


def add_parser(subparsers: Subparsers) -> None:
    """Add both commands to the program's parser."""
    parser = subparsers.add_parser(
        "diff", help="compare the growth of two or more runs", epilog=_CODES,
        description="Align runs by generation and say where growth collapsed, fell, rose or stayed the same, compared "
        "with the first run. Folders of CUDA snapshots are compared in the same way, by step.",
    )  # fmt: skip
    parser.add_argument(
        "runs", nargs="+", metavar="RUN",
        help="recorded run, or folder of CUDA snapshots; the others are compared with the first",
    )  # fmt: skip
    _add_common(parser)
    parser.add_argument("--html", metavar="FILE", type=Path, help="write one page that needs no network")
    parser.set_defaults(run=run, is_experiment=False)
    _add_experiment_parser(subparsers)


def _add_experiment_parser(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "experiment", help="test whether growth follows a setting", epilog=_CODES,
        description="Compare runs that differ in one setting, for example seq_len=25:runs/short seq_len=50:runs/long, "
        "and test whether growth is proportional to it. Folders of CUDA snapshots work, too.",
    )  # fmt: skip
    parser.add_argument("runs", nargs="+", metavar="NAME=VALUE:RUN", help="a run and its settings: a=1,b=2:RUN")
    _add_common(parser)
    parser.set_defaults(run=run, is_experiment=True)


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rank", type=int, help="process to compare; default: the one that reports show first")
    parser.add_argument("--json", action="store_true", help="print everything as JSON, format 1")
    parser.add_argument(
        "--max-file-size",
        default="50 MB",
        metavar="SIZE",
        help="skip snapshots that are larger, or could take ten times as much memory (default: %(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Compare the runs; return 0 no worse, 1 worse, 3 too short."""
    return _run_experiment(args) if args.is_experiment else _run_diff(args)


def _run_diff(args: argparse.Namespace) -> int:
    comparison, errors = _compare(args.runs, args)
    if args.html:
        _write_page(comparison, args)
    if args.json:
        emit(json.dumps({**comparison.to_dict(), "summary": compare_sentence(comparison)}))
    else:
        emit(compare_text(comparison))
    return _exit_code(comparison, errors)


def _write_page(comparison: Comparison, args: argparse.Namespace) -> None:
    from phaseprof.report.compare_html import write_compare_html

    if holds_snapshots(Path(args.runs[0])):
        raise UsageError(
            "diff --html shows recorded runs (got folders of CUDA snapshots); write pages by snapshots --html"
        )
    processes = [process_of(read_run(path), path, args.rank) for path in args.runs]
    try:
        write_compare_html(comparison, processes, args.html)
    except OSError as error:
        raise UsageError(f"cannot write {args.html}: {error.strerror}; give a file in a folder that exists") from error


def _run_experiment(args: argparse.Namespace) -> int:
    pairs = [_split(text) for text in args.runs]
    comparison, errors = _compare([path for _, path in pairs], args)
    experiment = judge_experiment(comparison, [settings for settings, _ in pairs])
    if args.json:
        emit(json.dumps({**experiment.to_dict(), "summary": experiment_sentence(experiment)}))
    else:
        emit(experiment_text(experiment))
    return _exit_code(comparison, errors)


def _compare(paths: Sequence[str], args: argparse.Namespace) -> tuple[Comparison, list[str]]:
    """Compare runs, or folders of snapshots; return also a line for each file that could not be read."""
    are_snapshots = [holds_snapshots(Path(path)) for path in paths]
    if not any(are_snapshots):
        runs = [read_run(path) for path in paths]
        comparison = compare(runs, paths, rank=args.rank)
        processes = [process_of(run, path, args.rank) for run, path in zip(runs, paths, strict=True)]
        return replace(comparison, leaks=repairs([(process, judge_process(process)) for process in processes])), []
    if not all(are_snapshots):
        other = paths[are_snapshots.index(False)]
        raise UsageError(
            f"runs are compared with runs and snapshots with snapshots (got {paths[are_snapshots.index(True)]}, which "
            f"holds CUDA snapshots, and {other}, which holds none); name two of the same kind"
        )
    limit = parse_bytes(args.max_file_size)
    folders = [read_folder(Path(path), max_bytes=limit) for path in paths]
    errors = [line for folder in folders for line in folder.errors]
    for line in errors:
        complain(f"phaseprof {args.command}: {line}")
    return compare_snapshots(folders, paths, rank=args.rank), errors


def _exit_code(comparison: Comparison, errors: Sequence[str]) -> int:
    if errors:
        return 2
    if comparison.is_too_short:
        return 3
    return 1 if comparison.is_worse() else 0


def _split(text: str) -> tuple[dict[str, str], str]:
    """Part ``a=1,b=2:RUN`` at the first colon into settings and the run's path."""
    settings, colon, path = text.partition(":")
    items = settings.split(",")
    if not colon or not path or not all(_SETTING.match(item) for item in items):
        raise UsageError(f"a run must be given as NAME=VALUE:RUN (got {text!r}); for example seq_len=25:runs/short")
    return {name: value for name, _, value in (item.partition("=") for item in items)}, path
