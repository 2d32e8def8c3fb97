"""``phaseprof watch``: a live view of a run that is still being written."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from phaseprof.cli.following import RunFollower, follow_existing
from phaseprof.cli.output import complain, emit
from phaseprof.cli.watch_choice import SORTS, Choice, parse_ranks
from phaseprof.cli.watch_frame import COLUMNS, HISTORY_COLUMNS, Frame, Watched
from phaseprof.cli.watch_lines import Lines
from phaseprof.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

_LEAST_INTERVAL_S = 0.1


def add_parser(subparsers: Subparsers) -> None:
    """Add the command to the program's parser."""
    parser = subparsers.add_parser(
        "watch", help="follow a run that is still being written",
        description="Show every process of a run as it is recorded: state, generation, memory, findings. The run may "
        "start later, or be restarted; Ctrl-C ends the view. Without a terminal, a line is printed for each generation "
        "that ends and for each finding.",
    )  # fmt: skip
    parser.add_argument("recording", type=Path, metavar="RUN", help="folder of a run, or one of its files")
    parser.add_argument("--once", action="store_true", help="print one frame and exit")
    parser.add_argument("--interval", type=float, default=1.0, metavar="S", help="seconds between looks (default: 1)")
    parser.add_argument("--sort", choices=SORTS, default="rank", help="order of the processes (default: %(default)s)")
    parser.add_argument("--rank", default="", metavar="RANKS", help="show only these ranks, such as 0,4-7")
    parser.add_argument("--phase", default="", metavar="NAME", help="memory at the end of this phase, and its findings")
    parser.add_argument("--history", type=int, default=0, metavar="N", help="also list the last N generations")
    parser.add_argument(
        "--port", type=int, metavar="PORT",
        help="also serve OpenMetrics at http://127.0.0.1:PORT/metrics, to this machine only",
    )  # fmt: skip
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Show the run until it is interrupted; return 0."""
    if not args.interval >= _LEAST_INTERVAL_S:
        raise UsageError(f"--interval must be >= {_LEAST_INTERVAL_S} seconds (got {args.interval:g})")
    if args.history < 0:
        raise UsageError(f"--history must be a number of generations >= 0 (got {args.history})")
    choice = Choice(args.sort, parse_ranks(args.rank), args.phase, args.history)
    try:
        if args.once:
            _console().print(paint(Watched(follow_existing(args.recording), time.time, choice).frame()))
            return 0
        with _endpoint(args, choice) as address:
            if address:
                complain(f"metrics are at {address}")
            _show(Watched(RunFollower(args.recording), time.time, choice), args.interval)
    except KeyboardInterrupt:
        pass  # the way to end the view
    return 0


def _show(watched: Watched, interval_s: float) -> None:
    wait = partial(time.sleep, interval_s)
    if sys.stdout.isatty():
        show_live(watched, _console(), wait)
    else:
        show_lines(watched, _say, wait)


def _endpoint(args: argparse.Namespace, choice: Choice) -> AbstractContextManager[str]:
    if args.port is None:
        return nullcontext("")
    from phaseprof.cli.watch_endpoint import serving  # a server is imported where one is asked for

    return serving(args.recording, args.port, choice)


def _say(line: str) -> None:
    emit(line)
    sys.stdout.flush()  # a log is read while it grows


def _console() -> Console:
    try:
        from rich.console import Console
    except ImportError as error:
        raise MissingExtra("watch needs rich on a terminal; pip install 'phaseprof[watch]'") from error
    return Console(file=sys.stdout, highlight=False, markup=False, emoji=False)


def paint(frame: Frame) -> RenderableType:
    """Turn a frame into what rich prints; texts stay texts, markup in them has no meaning."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    parts: list[RenderableType] = [Text.assemble(*frame.title)]
    for columns, rows in ((COLUMNS, frame.rows), (HISTORY_COLUMNS, frame.history)):
        if not rows:
            continue
        table = Table(box=None, pad_edge=False, header_style="dim")
        for name, side in columns:
            # Where the terminal is narrow these two give way; figures never do.
            table.add_column(name, justify=side, no_wrap=name not in ("State", "Found"))  # type: ignore[arg-type]
        for row in rows:
            table.add_row(*(Text(text, style=style) for text, style in row))
        parts.append(table)
    return Group(*parts, *(Text.assemble(*line) for line in frame.lines))


def show_live(watched: Watched, console: Console, wait: Callable[[], None]) -> None:
    """Repaint one frame in place until ``wait`` raises."""
    from rich.live import Live

    with Live(paint(watched.frame()), console=console, auto_refresh=False, screen=False) as live:
        while True:
            wait()
            watched.look()
            live.update(paint(watched.frame()), refresh=True)


def show_lines(watched: Watched, say: Callable[[str], None], wait: Callable[[], None]) -> None:
    """Say a line for each generation that ended and for what changed, until ``wait`` raises."""
    lines = Lines(watched)
    while True:
        watched.look()
        for line in lines.new():
            say(line)
        wait()
