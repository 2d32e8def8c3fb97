"""``phaseprof demo``: a small trainer, instrumented, with a leak to find."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from phaseprof.demo.main import DEFAULT_GENERATIONS, run_demo

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

_DESCRIPTION = """\
Run an evolutionary trainer of sixteen agents, instrumented as you would instrument your own, and print the reports.
Each scenario plants one leak: environments recreated and kept (evaluate), batches kept (train), old populations kept
(evolve), losses kept with their graphs (losses), a recurrent state that carries its graph along (collect).
Needs torch. `phaseprof check RUN` judges what was recorded."""


def add_parser(subparsers: Subparsers) -> None:
    """Add the command to the program's parser."""
    parser = subparsers.add_parser(
        "demo", help="run a small trainer with a leak planted in it", description=_DESCRIPTION
    )
    parser.add_argument(
        "--scenario", default="evaluate", metavar="NAME",
        help="none, evaluate, train, evolve, losses or collect (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--generations", type=int, default=DEFAULT_GENERATIONS, metavar="N",
        help="iterations of the outer loop (default: %(default)s; a verdict needs about ten)",
    )  # fmt: skip
    parser.add_argument("--full", action="store_true", help="print every table, not one screen")
    parser.add_argument("--out", metavar="RUN", help="folder for the recording; default: in memory only")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the demo; return 0 whatever it found."""
    return run_demo(args.scenario, args.generations, args.out, full=args.full)
