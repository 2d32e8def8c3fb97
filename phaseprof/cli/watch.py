"""``phaseprof watch``: a live view of a run that is still being written."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from phaseprof.cli.following import RunFollower, follow_existing
from phaseprof.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from phaseprof.cli.watch_frame import Watched

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

_LEAST_INTERVAL_S = 0.1


def add_parser(subparsers: Subparsers) -> None:
    """Add the command to the program's parser."""
    parser = subparsers.add_parser(
        "watch", help="follow a run that is still being written",
        description="Show every process of a run as it is recorded: state, generation, memory, findings. The run may "
        "start later, or again; Ctrl-C ends the view. Without a terminal, frames are printed one after the other.",
    )  # fmt: skip
    parser.add_argument("recording", type=Path, metavar="RUN", help="folder of a run, or one of its files")
    parser.add_argument("--once", action="store_true", help="print one frame and exit")
    parser.add_argument("--interval", type=float, default=1.0, metavar="S", help="seconds between looks (default: 1)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Show the run until it is interrupted; return 0."""
    if not args.interval >= _LEAST_INTERVAL_S:
        raise UsageError(f"--interval must be >= {_LEAST_INTERVAL_S} seconds (got {args.interval:g})")
    try:
        from rich.console import Console

        from phaseprof.cli.watch_frame import Watched
    except ImportError as error:
        raise MissingExtra("watch needs rich; pip install 'phaseprof[watch]'") from error
    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    if args.once:
        console.print(Watched(follow_existing(args.recording), time.time).frame())
        return 0
    watched = Watched(RunFollower(args.recording), time.time)
    try:
        show = show_live if console.is_terminal else show_plain
        show(watched, console, lambda: time.sleep(args.interval))
    except KeyboardInterrupt:
        pass  # the way to end the view
    return 0


def show_live(watched: Watched, console: Console, wait: Callable[[], None]) -> None:
    """Repaint one frame in place until ``wait`` raises."""
    from rich.live import Live

    with Live(watched.frame(), console=console, auto_refresh=False, screen=False) as live:
        while True:
            wait()
            watched.look()
            live.update(watched.frame(), refresh=True)


def show_plain(watched: Watched, console: Console, wait: Callable[[], None]) -> None:
    """Print a frame whenever something was recorded since the last, until ``wait`` raises."""
    watched.look()
    console.print(watched.frame())
    while True:
        wait()
        if watched.look():
            console.print(watched.frame())
