"""Run one build of one case under phaseprof and print what was found and its grade; no other case is imported.

python one_case.py NAME BUILD [GENERATIONS]
"""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import replace

from leakbench import Case, Finding
from leakbench.runner import Options, run_one
from leakbench.score import grade


def find_case(name: str) -> Case:
    module = importlib.import_module(f"leakbench.cases.{name}")
    cases: list[Case] = getattr(module, "CASES", None) or [module.CASE]
    return next(case for case in cases if case.name == name)


def main(name: str, build: str, generations: str = "") -> None:
    case = find_case(name)
    if generations:
        case = replace(case, generations=int(generations))
    found = [Finding(**fields) for fields in run_one(Options("phaseprof"), case, build == "leaky")["findings"]]
    print(json.dumps({"findings": [vars(finding) for finding in found], "marks": grade(case.truth, found)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
