"""``phaseprof check``: a run's verdict as an exit status."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from phaseprof.analysis.paths import places_of
from phaseprof.cli.check_formats import (
    FORMATS,
    append_summary,
    to_badge,
    to_github,
    to_junit,
    to_sarif,
    write_text,
)
from phaseprof.cli.foreign import RUN_HELP
from phaseprof.cli.judged import CLEAN, LEAK, WRONG_USE, JudgedRun, judge_run
from phaseprof.cli.output import emit, emit_json
from phaseprof.report.findings import LEAST_READINGS
from phaseprof.report.ranks import several_runs
from phaseprof.report.text import to_plain
from phaseprof.report.words import plural

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

# Why nothing was judged, by whether the run was made from logs of other tools, and what to do.
_WHY = {
    False: "no counter of memory, objects or handles covers even half of the run, or one rises and was read too "
    "seldom to say whether that is a leak; see the notes in the report, let it run longer, or give it a larger budget",
    True: "nothing in the log says how much memory a process, a container, the machine or a device holds; log its "
    "resident memory as rss_bytes",
}


def add_parser(subparsers: Subparsers) -> None:
    """Add the command to the program's parser."""
    parser = subparsers.add_parser(
        "check", help="judge a recorded run; the exit status is the verdict",
        description="Judge every process of a run. Exit status: 0 clean, 1 a leak, or an expected count that is broken "
        "at the end, 2 the run cannot be read or a watched name was never found, 3 too short to say, or not judged.",
    )  # fmt: skip
    parser.add_argument("recording", metavar="RUN", help=RUN_HELP)
    parser.add_argument(
        "--format", dest="form", choices=FORMATS, default="text",
        help="how to print it: github prints workflow annotations (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_const", dest="form", const="json", help="the same as --format json")
    parser.add_argument("--badge", metavar="FILE", type=Path, help="write the verdict as a shields.io badge")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Judge the run, print why, and return the exit status."""
    judged = judge_run(args.recording)
    verdict = verdict_line(judged)
    if args.form == "json":
        emit_json(_tree(judged))
    elif args.form == "text":
        emit("\n".join(told_lines(judged)))
    else:
        emit(_FORMS[args.form](judged, verdict))
    append_summary(judged, verdict)
    if args.badge:
        write_text(args.badge, to_badge(judged) + "\n")
    return judged.status()


_FORMS: Mapping[str, Callable[[JudgedRun, str], str]] = {
    "github": to_github, "junit": to_junit, "sarif": lambda judged, verdict: to_sarif(judged),
}  # fmt: skip


def _tree(judged: JudgedRun) -> dict[str, object]:
    status = judged.status()
    return {
        "format": 1, "path": str(judged.run.path), "verdict": _word(judged), "exit_code": status,
        "n_readings": judged.n_readings, "missing": dict(judged.missing()),
        "broken_expectations": to_plain(judged.broken()),
        "findings": [to_plain(finding) for found in judged.findings for finding in found],
    }  # fmt: skip


def _word(judged: JudgedRun) -> str:
    status = judged.status()
    return {CLEAN: "clean", LEAK: "leak", WRONG_USE: "wrong use"}.get(status) or judged.answer()


def told_lines(judged: JudgedRun, longer: str = "") -> list[str]:
    """Say what was found, a line each with who holds it, and what the run comes to; ``longer`` as in the verdict."""
    several = len(judged.run.processes) > 1
    lines = []
    for process, found in zip(judged.run.processes, judged.findings, strict=True):
        header = process.header
        where = f"rank {header.rank}, pid {header.pid}: " if several and header else ""
        for finding in found:
            lines.append(f"{where}{finding.verdict}: {finding.summary}")
            places = [str(place) for place in places_of(finding.holder)]
            lines += [f"  {'held by' if at == 0 else '       '} {place}" for at, place in enumerate(places)]
    told = {finding.summary for found in judged.findings for finding in found}
    lines += [f"expectation: {broken}" for broken in judged.broken() if str(broken) not in told]
    lines += [f"watched name {name!r} was never found: {why}" for name, why in judged.missing()]
    lines += filter(None, [several_runs(judged.ranks)])
    return [*lines, verdict_line(judged, longer)]


def _what_failed(judged: JudgedRun) -> Iterator[str]:
    if judged.answer() == "leak":
        yield "the run leaks"
    if judged.broken():
        yield "an expected count is broken at its end"


def verdict_line(judged: JudgedRun, longer: str = "") -> str:
    """Say in one line what the run comes to, and why; and ``longer``, what to do where it is too short."""
    status = judged.status()
    if status == LEAK:
        return f"FAILED: {' and '.join(_what_failed(judged))}"
    if status == WRONG_USE:
        return "WRONG USE: a watched name was never found, so it was never counted; otherwise no leak was found"
    if status == CLEAN:
        return f"OK: no leak in {plural(judged.n_readings, 'reading')}"
    if judged.run.left_out:
        return "NOT JUDGED: a file of the run could not be read; what it holds is not known, the others hold no leak"
    if judged.answer() == "not judged":
        return f"NOT JUDGED: {_WHY[judged.is_imported]}"
    n = plural(judged.n_readings, "reading")
    return f"TOO SHORT: {n} at one point, and a verdict needs {LEAST_READINGS} or more; {longer or _longer(judged)}"


def _longer(judged: JudgedRun) -> str:
    """What to do about a run that is too short."""
    if judged.is_imported:
        return "log for longer"
    marked = judged.n_readings > 1
    return "let it run for longer" if marked else "mark generations in the program, or name them with run --generation"
