"""Run real programs bare and under ``phaseprof run --quiet``, and ask ``phaseprof check`` what it found.

    cd benchmarks
    python -m real [--only NAME ...] [--scale 1.0] [--json FILE]

Each program runs four times, one after the other: healthy and leaky, bare and watched.  What was watched must give the
same result to the last digit.  *Added* is CPU time, of the whole run with its start and its end.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from leakbench import Finding
from leakbench.score import grade
from real import PROGRAMS, Real

SCRIPTS = Path(__file__).with_name("programs")
LIMIT_S = 900.0


@dataclass(frozen=True)
class Ran:
    """One run: its CPU time with that of its children, and the line with its result."""

    cpu_s: float
    result: str


@dataclass(frozen=True)
class Row:
    """One program in both builds."""

    name: str
    marks: dict[str, bool]
    alarms: list[str]
    told: list[str]
    exits: tuple[int, int]
    bare_s: float
    watched_s: float
    is_same: bool


def run(command: Sequence[str], folder: Path) -> Ran:
    """Run a program to its end in a folder of its own.

    Raises:
        RuntimeError: it failed, or said no result.
    """
    with (folder / "output").open("w+b") as output, (folder / "errors").open("w+b") as errors:
        child = subprocess.Popen(command, stdout=output, stderr=errors, cwd=folder)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    lines = (folder / "output").read_text().splitlines()
    results = [line for line in lines if line.startswith("RESULT")]
    if child.returncode or not results:
        said = (folder / "errors").read_text()[-800:]
        raise RuntimeError(f"{' '.join(command)} ended with {child.returncode}: {said}")
    return Ran(usage.ru_utime + usage.ru_stime, results[-1])


def check(recording: Path) -> tuple[int, list[Finding], list[str]]:
    """Ask ``phaseprof check``: its exit status, the leaks, and their sentences."""
    done = subprocess.run(
        [sys.executable, "-m", "phaseprof", "check", "--json", str(recording)],
        capture_output=True, text=True, check=False, timeout=LIMIT_S,
    )  # fmt: skip
    leaks = [one for one in json.loads(done.stdout)["findings"] if one["verdict"] == "leak"]
    names = [
        Finding(one["phase"] or "", one["kind"], one["subject"] or "", " ".join(one["holder"]), one["summary"])
        for one in leaks
    ]
    return done.returncode, names, [one["summary"] for one in leaks]


def both(program: Real, build: str, scale: float) -> tuple[Ran, Ran, int, list[Finding], list[str]]:
    """Run one build bare and watched, and judge the recording."""
    script = [str(SCRIPTS / f"{program.name}.py"), build, str(max(10, int(program.iterations * scale)))]
    with tempfile.TemporaryDirectory() as folder:
        bare, watched = Path(folder, "bare"), Path(folder, "watched")
        bare.mkdir()
        watched.mkdir()
        recording = Path(folder, "recording")
        first = run([sys.executable, *script], bare)
        ours = ["-m", "phaseprof", "run", "--quiet", "--out", str(recording), *program.options]
        second = run([sys.executable, *ours, *script], watched)
        return first, second, *check(recording)


def best_grade(program: Real, found: Sequence[Finding]) -> dict[str, bool]:
    """Grade what was found by the truth that it comes nearest to."""
    truths = (program.truth, program.or_truth or program.truth)
    return max((grade(truth, found) for truth in truths), key=lambda marks: sum(marks.values()))


def row_of(program: Real, scale: float) -> Row:
    """Run one program four times."""
    plain, watched, healthy_exit, alarms, _ = both(program, "healthy", scale)
    leaky_plain, leaky_watched, leaky_exit, found, told = both(program, "leaky", scale)
    is_same = plain.result == watched.result and leaky_plain.result == leaky_watched.result
    return Row(
        program.name, best_grade(program, found), [one.detail for one in alarms], told, (healthy_exit, leaky_exit),
        plain.cpu_s + leaky_plain.cpu_s, watched.cpu_s + leaky_watched.cpu_s, is_same,
    )  # fmt: skip


def describe(row: Row) -> str:
    """Say what came of one program in a line of a table."""
    missed = [mark for mark, is_right in row.marks.items() if not is_right]
    marks = "whole" if not missed else "missed" if "detected" in missed else f"not {', '.join(missed)}"
    alarms = "; ".join(row.alarms) or "none"
    result = "same" if row.is_same else "DIFFERENT"
    added = row.watched_s / row.bare_s - 1
    return f"| {row.name} | {marks} | {alarms} | {row.bare_s / 2:.0f} s | {added:+.1%} | {result} |"


def main() -> None:
    """Run the programs whose packages are there, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=[one.name for one in PROGRAMS])
    parser.add_argument("--scale", type=float, default=1.0, help="of the iterations")
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[Row] = []
    print("| program | leaky build | false alarms | bare run, CPU | added | results |")
    print("| --- | --- | --- | --- | --- | --- |")
    for program in PROGRAMS:
        if args.only and program.name not in args.only:
            continue
        if missing := [name for name in program.needs if importlib.util.find_spec(name) is None]:
            print(f"| {program.name} | skipped: no {', '.join(missing)} | | | | |", flush=True)
            continue
        try:
            rows.append(row_of(program, args.scale))
        except RuntimeError as error:
            print(f"| {program.name} | failed: {error} | | | | |", flush=True)
            continue
        print(describe(rows[-1]), flush=True)
        if args.json:
            args.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    added = sum(row.watched_s for row in rows) / (sum(row.bare_s for row in rows) or 1.0) - 1
    whole = sum(all(row.marks.values()) for row in rows)
    found = sum(row.marks["detected"] for row in rows)
    alarms = sum(bool(row.alarms) for row in rows)
    print(f"\n{found} of {len(rows)} found, {whole} whole, {alarms} false alarms, {added:+.1%}")


if __name__ == "__main__":
    main()
