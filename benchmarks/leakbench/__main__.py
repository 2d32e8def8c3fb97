"""Run cases under tools, each in its own process, and print the score.

python -m leakbench --tool phaseprof                      every case, leaky and healthy
python -m leakbench --tool rss-slope --case loss_list     one case
python -m leakbench --tool phaseprof --cases DIR          cases of another folder
python -m leakbench --tool phaseprof --budget default --stretch 0.5    as users meet it
python -m leakbench --table null.json phaseprof.json      a markdown table of earlier results
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from leakbench.runner import TOOLS, Options, child, run_cases
from leakbench.score import Score, describe
from leakbench.table import table


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="leakbench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tool", choices=TOOLS, default="phaseprof")
    parser.add_argument("--case", help="only the cases whose name contains this")
    parser.add_argument("--cases", help="a folder of case modules (a package) instead of the shipped ones")
    parser.add_argument("--build", choices=("leaky", "healthy"))
    parser.add_argument("--timeout", type=float, default=180.0, help="seconds for one build, the stretch not counted")
    parser.add_argument(
        "--stretch", type=float, default=0.0, metavar="SECONDS", help="sleep each generation up to this length"
    )
    parser.add_argument("--budget", choices=("default", "none"), default="none", help="phaseprof's own budget")
    parser.add_argument(
        "--until", action="store_true", help="ask from the fourth generation on when the finding is there"
    )
    parser.add_argument("--jobs", type=int, default=1, help="builds that run side by side")
    parser.add_argument("--json", help="write every result to this file")
    parser.add_argument(
        "--table", nargs="+", metavar="FILE", help="print results that --json wrote as a markdown table"
    )
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    args = parse(argv)
    if args.table:
        print(table([json.loads(Path(name).read_text()) for name in args.table]))
        return 0
    options = Options(args.tool, args.cases, args.timeout, args.stretch, args.budget, args.until)
    if args.child:
        child(options, args.case, args.build == "leaky")
        return 0
    score, results = Score(), []
    for row in run_cases(options, args.case, args.build, jobs=args.jobs):
        results.append(row)
        score.add(row)
        print(f"{row['case']:34s} {row['build']:8s} {describe(row)}", flush=True)
    summary = {"tool": args.tool, **score.to_dict()}
    print("\nmarks in (brackets) were missed; 'whole' = phase, kind, subject and holder all right")
    print(json.dumps(summary))
    if args.json:
        settings = {"budget": args.budget, "stretch": args.stretch, "until": args.until, "jobs": args.jobs}
        record = {"tool": args.tool, "settings": settings, "score": score.to_dict(), "results": results}
        Path(args.json).write_text(json.dumps(record, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
