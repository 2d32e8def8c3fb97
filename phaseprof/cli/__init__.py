"""The ``phaseprof`` command.  A command's module is imported when it is the one that was asked for."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Collection, Sequence
from typing import NoReturn

from phaseprof._version import __version__
from phaseprof.errors import PhaseprofError
from phaseprof.units import for_terminal

# Commands in the order of --help: name, module, one line of help.
COMMANDS = (
    ("demo", "phaseprof.cli.demo", "run a small trainer with a leak planted in it"),
    ("run", "phaseprof.cli.run", "run a program and record its memory, without editing it"),
    ("attach", "phaseprof.cli.attach", "observe a process that already runs"),
    ("report", "phaseprof.cli.report", "report a recorded run"),
    ("check", "phaseprof.cli.check", "judge a recorded run; the exit status is the verdict"),
    ("watch", "phaseprof.cli.watch", "follow a run that is still being written"),
    ("diff", "phaseprof.cli.diff", "compare the growth of two or more runs"),
    ("experiment", "phaseprof.cli.diff", "test whether growth follows a setting"),
    ("snapshots", "phaseprof.cli.snapshots", "judge a folder of CUDA memory snapshots"),
    ("export", "phaseprof.cli.export", "write a run for other tools: CSV, Parquet, Perfetto, OpenMetrics, speedscope"),
    ("mcp", "phaseprof.cli.mcp", "serve runs and snapshots to AI agents"),
    ("import", "phaseprof.cli.import_", "turn other tools' logs into a run"),
    ("completion", "phaseprof.cli.completion", "print a script for shell completion"),
)
_EPILOG = "Exit status: 0 clean, 1 leak or broken expectation, 2 wrong use, 3 too short to say."
_INTERRUPTED, _PIPE_CLOSED = 130, 141  # 128 + SIGINT, 128 + SIGPIPE, as shells report them


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """End with status 2 and one line, instead of the usage of every option."""
        self.exit(2, for_terminal(f"{self.prog}: {message} (see {self.prog} --help)\n"))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: arguments without the program's name; ``sys.argv`` if not given.

    Returns:
        The exit status: 0 clean, 1 leak or broken expectation, 2 wrong use, 3 too short to say, 130 interrupted.
    """
    try:
        return _run(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        return _pipe_closed()


def _run(given: list[str]) -> int:
    try:
        args = _parse(given)
    except SystemExit as ended:
        return _status(ended)
    try:
        status = int(args.run(args))
        sys.stdout.flush()
    except PhaseprofError as error:
        sys.stderr.write(for_terminal(f"phaseprof {args.command}: {' '.join(str(error).split())}") + "\n")
        return 2
    return status


def _parse(given: list[str]) -> argparse.Namespace:
    if given[:1] != ["run"]:
        return _parse_all(given, argparse.Namespace())
    from phaseprof.cli.run import split_program

    own, program = split_program(given)
    return _parse_all(own, argparse.Namespace(program=program))


def _parse_all(given: list[str], into: argparse.Namespace) -> argparse.Namespace:
    """Parse as ``parse_args`` does, which says of an unknown option neither the command nor where to read on."""
    args, unknown = _make_parser(given).parse_known_args(given, into)
    if unknown:
        Parser(prog=f"phaseprof {args.command}").error(f"unrecognized arguments: {' '.join(unknown)}")
    return args


def _status(ended: SystemExit) -> int:
    return ended.code if isinstance(ended.code, int) else 2 if ended.code else 0


def _pipe_closed() -> int:
    """The reader of our output is gone: nobody is left to complain to, not at the interpreter's end either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _PIPE_CLOSED


def _make_parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    asked = next((word for word in argv if not word.startswith("-")), "")
    return _parser_with({module for name, module, _ in COMMANDS if name == asked})


def make_whole_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; it imports their modules."""
    return _parser_with({module for _, module, _ in COMMANDS})


def _parser_with(modules: Collection[str]) -> argparse.ArgumentParser:
    """Return a parser that knows every command by name, and those of some modules in full."""
    parser = Parser(
        prog="phaseprof", epilog=_EPILOG,
        description="Which phase of a training run leaks memory, what leaks, who holds it, and when the run will die.",
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"phaseprof {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, home, what in COMMANDS:
        if home not in modules:
            subparsers.add_parser(name, help=what, add_help=False)
        elif name not in subparsers.choices:  # one module may add two
            importlib.import_module(home).add_parser(subparsers)
    return parser
