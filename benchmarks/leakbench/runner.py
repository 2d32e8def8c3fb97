"""Drive one build of one case under one tool, in a process of its own."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leakbench import Case, Finding, load_cases
from leakbench.score import grade, is_whole

TOOLS = ("phaseprof", "rss-slope", "objgraph", "tracemalloc", "pympler", "guppy", "null")
FIRST_ASKED = 4  # generations; no tool can tell a trend from fewer


@dataclass(frozen=True)
class Options:
    """How the cases are run.

    stretch: seconds to which each generation is padded by sleeping; 0 for none.
    budget:  "default" or "none", for adapters of tools that have one.
    until:   ask after each generation whether the finding is there, if asking is cheap for the tool.
    """

    tool: str
    cases_dir: str | None = None
    timeout: float = 180.0
    stretch: float = 0.0
    budget: str = "none"
    until: bool = False


def load(cases_dir: str | None) -> dict[str, Case]:
    if cases_dir is None:
        return load_cases()
    folder = Path(cases_dir).resolve()
    sys.path.insert(0, str(folder.parent))
    return load_cases(folder.name)


class Asker:
    """Asks the tool after each generation, and notes when it was first right; the time it takes is kept apart."""

    def __init__(self, tool: Any, case: Case, leaky: bool) -> None:
        self.tool, self.case, self.leaky = tool, case, leaky
        self.seconds = 0.0
        self.first: dict[str, int] = {}

    def ask(self, generations: int) -> None:
        begin = time.perf_counter()
        findings = self.tool.findings()
        if findings:
            self.first.setdefault("first_detected", generations)
        if findings and self.leaky and is_whole(grade(self.case.truth, findings)):
            self.first.setdefault("first_whole", generations)
        self.seconds += time.perf_counter() - begin


def run_one(options: Options, case: Case, leaky: bool) -> dict[str, Any]:
    """In this process: drive one build of one case under one tool.

    ``seconds`` is the whole loop without the asking of ``--until``; ``slept`` the part of it that was padding.
    """
    module = importlib.import_module(f"leakbench.tools.{options.tool.replace('-', '_')}")
    tool = module.Tool()
    program = case.build(leaky)
    tool.start(program)
    asker = Asker(tool, case, leaky)
    slept, begin = 0.0, time.perf_counter()
    for index in range(case.generations):
        start = time.perf_counter()
        with tool.generation(index):
            program.generation(tool, index)
            padding = max(0.0, options.stretch - (time.perf_counter() - start))
            time.sleep(padding)
        slept += padding
        if options.until and index + 1 >= FIRST_ASKED and getattr(tool, "asks_cheaply", False):
            asker.ask(index + 1)
    seconds = time.perf_counter() - begin - asker.seconds
    findings: list[Finding] = tool.findings()
    return {"findings": [vars(f) for f in findings], "seconds": seconds, "slept": slept, **asker.first}


def child(options: Options, name: str, leaky: bool) -> None:
    """Run one build and print the outcome as the last line that begins with @@."""
    try:
        out = run_one(options, load(options.cases_dir)[name], leaky)
    except ModuleNotFoundError as error:
        out = {"skipped": f"needs {error.name}"}
    print("\n@@" + json.dumps(out))


def spawn(options: Options, case: Case, build: str) -> dict[str, Any]:
    """Run one build in a fresh process and return what it found, or why there is no answer."""
    command = [
        sys.executable,
        "-m",
        "leakbench",
        "--child",
        "--tool",
        options.tool,
        "--case",
        case.name,
        "--build",
        build,
    ]
    command += ["--stretch", str(options.stretch), "--budget", options.budget]
    command += ["--until"] * options.until + (["--cases", options.cases_dir] if options.cases_dir else [])
    timeout = options.timeout + options.stretch * case.generations
    env = {"OMP_NUM_THREADS": "1", **os.environ, "LEAKBENCH_BUDGET": options.budget}
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=timeout, env=env)
    except subprocess.TimeoutExpired:
        return {"error": f"no answer in {timeout:.0f} s"}
    for line in reversed(done.stdout.splitlines()):
        if line.startswith("@@"):
            return dict(json.loads(line[2:]))
    return {"error": (done.stderr.strip().splitlines() or ["no output"])[-1]}


def run_cases(options: Options, name: str | None, build: str | None, *, jobs: int) -> Iterator[dict[str, Any]]:
    """Run every build asked for, ``jobs`` side by side, and yield a row for each in the order of the cases."""
    work = [
        (case, which)
        for case in load(options.cases_dir).values()
        if not name or name in case.name
        for which, exists in (("leaky", case.leaky_build), ("healthy", case.healthy_twin))
        if exists and build in (None, which)
    ]
    with ThreadPoolExecutor(jobs) as pool:
        outcomes = pool.map(lambda item: spawn(options, *item), work)
        for (case, which), out in zip(work, outcomes, strict=True):
            row = {"case": case.name, "build": which, "generations": case.generations, **out}
            if which == "leaky" and "skipped" not in out:
                row["grade"] = grade(case.truth, [Finding(**f) for f in out.get("findings", [])])
            yield row
