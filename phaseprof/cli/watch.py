"""``phaseprof watch``: a live view of a run that is still being written."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from phaseprof.cli.following import RunFollower, follow_existing
from phaseprof.cli.watch_frame import COLUMNS, Frame, Watched
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
    except ImportError as error:
        raise MissingExtra("watch needs rich; pip install 'phaseprof[watch]'") from error
    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    if args.once:
        console.print(paint(Watched(follow_existing(args.recording), time.time).frame()))
        return 0
    watched = Watched(RunFollower(args.recording), time.time)
    try:
        show = show_live if console.is_terminal else show_plain
        show(watched, console, lambda: time.sleep(args.interval))
    except KeyboardInterrupt:
        pass  # the way to end the view
    return 0


def paint(frame: Frame) -> RenderableType:
    """Turn a frame into what rich prints; texts stay texts, markup in them has no meaning."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    parts: list[RenderableType] = [Text.assemble(*frame.title)]
    if frame.rows:
        table = Table(box=None, pad_edge=False, header_style="dim")
        for name, side in COLUMNS:
            # Where the terminal is narrow these two give way; figures never do.
            table.add_column(name, justify=side, no_wrap=name not in ("State", "Found"))  # type: ignore[arg-type]
        for row in frame.rows:
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


def show_plain(watched: Watched, console: Console, wait: Callable[[], None]) -> None:
    """Print a frame whenever something was recorded since the last, until ``wait`` raises."""
    watched.look()
    console.print(paint(watched.frame()))
    while True:
        wait()
        if watched.look():
            console.print(paint(watched.frame()))
