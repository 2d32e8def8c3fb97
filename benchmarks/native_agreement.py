"""The heap by place as C reads it beside what Python reads, on the heap of every LeakBench case.

Run ``PYTHONPATH=. python benchmarks/native_agreement.py [--case NAME] [--generations N]``: one line a case with its
places and how many differ; exit status 1 if any does.  Each case runs in a process of its own, for 5 to 60 seconds.
"""

from __future__ import annotations

import argparse
import gc
import os
import signal
import subprocess
import sys

from leakbench import Case, load_cases
from leakbench.tools.null import Tool
from tests.native.languages import differing, in_both


def compare(case: Case, n_generations: int) -> tuple[int, list[object]]:
    """Run a case for some generations; return the number of places then, and the rows on which the walks differ."""
    program, tool = case.build(case.leaky_build), Tool()
    tool.start(program)
    for index in range(min(case.generations, n_generations)):
        with tool.generation(index):
            program.generation(tool, index)
    in_both(None)  # a first time, for what a first time leaves behind
    gc.collect()
    gc.disable()
    native, reference = in_both(None)
    return len(native.rows), list(differing(native, reference))


def in_child(name: str, n_generations: int) -> str:
    """Compare in a process of its own, and return what it said last."""
    command = [sys.executable, __file__, "--child", "--case", name, "--generations", str(n_generations)]
    try:
        done = subprocess.run(
            command,
            env={"OMP_NUM_THREADS": "1", **os.environ},
            capture_output=True,
            text=True,
            timeout=300,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "no answer in 300 s"
    return ([*done.stderr.splitlines()[-1:], *done.stdout.splitlines()] or ["no output"])[-1]


def main() -> int:
    """Compare the cases asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", default="")
    parser.add_argument("--generations", type=int, default=6)
    parser.add_argument("--child", action="store_true")
    options = parser.parse_args()
    cases = load_cases()
    if options.child:
        n_rows, others = compare(cases[options.case], options.generations)
        print(f"{n_rows:,} places, {len(others)} differ {others[:3] or ''}", flush=True)
        os.killpg(0, signal.SIGKILL)  # what the case leaves running, processes of its own too
    n_wrong = 0
    for name in (name for name in cases if options.case in name):
        answer = in_child(name, options.generations)
        n_wrong += ", 0 differ" not in answer
        print(f"{name:32} {answer}", flush=True)
    return int(n_wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
