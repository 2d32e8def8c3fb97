"""``phaseprof attach``: observes a process that already runs, and reports what was seen."""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import time
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING

from phaseprof._version import __version__
from phaseprof.attaching.errand import BEGAN, ENDED, STOP, Errand
from phaseprof.attaching.inject import inject, wake
from phaseprof.attaching.target import Target, examine
from phaseprof.cli import report
from phaseprof.cli.check import told_lines, verdict_line
from phaseprof.cli.judged import judge_run
from phaseprof.cli.output import complain, emit
from phaseprof.cli.run import DEFAULT_INTERVAL_S, holds_recording, new_folder
from phaseprof.errors import UsageError
from phaseprof.live.settings import Settings
from phaseprof.recording.addresses import is_address
from phaseprof.units import format_duration, parse_duration

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

# What is loaded into the program: ours always, the others where it has none of its own.
_PACKAGES = ("phaseprof", "numpy", "msgspec")
_POLL_S = 0.05
# A main thread that has not begun after so long may sleep in the kernel; one that neither sleeps nor comes back to
# Python for so long is left alone.
_SLEEPS_S, _LEFT_ALONE_S = 1.0, 30.0
# Of the process's command line, so much is shown.
_COMMAND_CHARS = 60
# For the last look, and for a thread that waits its turn in a program that computes.
_LAST_S = 30.0
_INTERRUPTED, _LONGER = "interrupted", "observe it for longer"
_DESCRIPTION = """\
Observe a Python process that was started without phaseprof: find its main loop, read its counters, look at its heap by
place a few times, and report what grows. The process then goes on as before: no thread, hook or module of phaseprof
stays behind. Ctrl-C ends the observation early, and reports what was seen."""
_EPILOG = """\
Needs the same user, container and version of Python as the process; before Python 3.14, also Linux and gdb.
Exit status: as for check, and 2 if the process cannot be observed."""


def add_parser(subparsers: Subparsers) -> None:
    """Add the command to the program's parser."""
    parser = subparsers.add_parser(
        "attach", help="observe a process that already runs", description=_DESCRIPTION, epilog=_EPILOG
    )
    add, default = parser.add_argument, Settings()
    add("pid", type=int, metavar="PID", help="process id")
    add("--for", dest="how_long", default="60s", metavar="TIME", help="for how long: 30s, 5min, 1h (default: 60s)")
    add("--out", metavar="RUN", help="folder for the recording; default: runs/NAME-DATE")
    add("--budget", type=float, default=default.budget, metavar="B",
        help="share of wall time that measuring may take (default: %(default)s)")  # fmt: skip
    add("--max-pause", type=float, default=default.max_pause, metavar="S",
        help="seconds for which one look may pause the program (default: %(default)s)")  # fmt: skip
    add("--full", action="store_true", help="print every table, not one screen")
    add("--json", action="store_true", help="print everything as JSON, format 1")
    add("--html", metavar="FILE", help="write one page that needs no network")
    parser.set_defaults(run=run, png=None, markdown=False, what_if=False)


@dataclass(frozen=True)
class Seen:
    """How an observation went.

    Attributes:
        stopped_s: for how long the process stood still while code was put into it, at most.
        seconds: how long it was observed.
        why: why it ended early; empty if it did not.
    """

    stopped_s: float
    seconds: float
    why: str


def run(args: argparse.Namespace) -> int:
    """Observe, report, and return the exit status of ``check``."""
    seconds = parse_duration(args.how_long)
    if not 1 <= seconds < math.inf:
        raise UsageError(f"--for must be a second or more (got {args.how_long})")
    _check_options(args)
    target = examine(args.pid)
    folder = _folder(args.out, target)
    order = {
        "version": __version__, "homes": _homes(), "asked_by": os.getpid(), "run": str(folder.absolute()),
        "seconds": seconds, "budget": args.budget, "max_pause": args.max_pause, "interval": DEFAULT_INTERVAL_S,
    }  # fmt: skip
    with Errand(order) as errand:
        seen = _observe(target, errand, seconds)
    return _report(args, target, folder, seen)


def _check_options(args: argparse.Namespace) -> None:
    """Refuse now what would be refused when the observation is over.

    Raises:
        UsageError: an option is out of its bounds, or the page has no folder.
    """
    try:
        Settings(budget=args.budget, max_pause=args.max_pause)
    except UsageError as error:  # it names the setting, and the user wrote the option
        name, _, rule = str(error).partition(" ")
        raise UsageError(f"--{name.replace('_', '-')} {rule}") from error
    if args.html and not Path(args.html).parent.is_dir():
        raise UsageError(f"--html must name a file in a folder that exists (got {args.html})")


def _folder(out: str | None, target: Target) -> Path:
    """The folder of the recording.

    Raises:
        UsageError: it is none that the process could write a new recording into.
    """
    if out is None:
        return new_folder(f"attach-{target.name}")
    if not out.strip() or is_address(out):
        raise UsageError(f"--out must name a folder (got {out!r}); the process itself writes into it")
    if holds_recording(out):
        raise UsageError(f"--out must be a new folder ({out} holds a recording); give another, or remove it")
    return Path(out)


def _homes() -> dict[str, str]:
    """The folder in which each package lies that may be needed."""
    homes = {}
    for name in _PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            homes[name] = str(Path(spec.origin).absolute().parent.parent)
    return homes


def _observe(target: Target, errand: Errand, seconds: float) -> Seen:
    """Let the process observe itself, and wait for the end.

    Raises:
        UsageError: it did not come to that.
    """
    stopped_s = inject(target, errand)
    stopped_s = max(stopped_s, _wait_until_it_begins(target, errand))
    began, why = time.monotonic(), ""
    what = f"process {target.pid} ({shorten(target.command, _COMMAND_CHARS, placeholder='...')})"
    complain(f"observing {what} for {format_duration(seconds)}; Ctrl-C ends that early")
    try:
        answer = _wait_until_it_ends(target, errand, seconds + _LAST_S)
    except KeyboardInterrupt:
        errand.write(STOP, True)
        why = _INTERRUPTED
        answer = _wait_until_it_ends(target, errand, _LAST_S)
    took_s = time.monotonic() - began
    if answer is None:
        why = "it does not answer" if target.is_there() else "it has ended"
        return Seen(stopped_s, took_s, why)
    _refuse(target, answer)
    return Seen(stopped_s, min(took_s, seconds), why)


def _wait_until_it_begins(target: Target, errand: Errand) -> float:
    """Wait until the process has begun; return for how long it was stopped on the way."""
    began, stopped_s, was_asleep = time.monotonic(), 0.0, ""
    is_told = False
    while errand.answer(BEGAN) is None:
        _refuse(target, errand.answer(ENDED) or {})
        waited_s = time.monotonic() - began
        if not target.is_there():
            raise UsageError(f"process {target.pid} must be running (got: it ended before it could be observed)")
        if waited_s > _LEFT_ALONE_S:
            raise UsageError(
                f"process {target.pid} must come back to Python (got: its main thread has been in a library call "
                f"for {_LEFT_ALONE_S:g} s); try again later"
            )
        if waited_s > _SLEEPS_S and not stopped_s:
            is_asleep = target.blocked_in()
            if is_asleep and is_asleep == was_asleep:
                stopped_s = wake(target, errand)
            was_asleep = is_asleep
            if not is_told:
                complain("waiting for the main thread, which is in a library or system call")
            is_told = True
            time.sleep(_SLEEPS_S / 4)
        time.sleep(_POLL_S)
    return stopped_s


def _wait_until_it_ends(target: Target, errand: Errand, most_s: float) -> dict[str, object] | None:
    """Return what the process answers at the end; ``None`` if it ended, or ``most_s`` have passed."""
    until = time.monotonic() + most_s
    while time.monotonic() < until:
        is_there = target.is_there()
        answer = errand.answer(ENDED)
        if answer is not None or not is_there:
            return answer
        time.sleep(_POLL_S)
    return None


def _refuse(target: Target, answer: dict[str, object]) -> None:
    if "refused" in answer:
        raise UsageError(f"process {target.pid} cannot be observed: {answer['refused']}")
    if "failed" in answer:
        raise UsageError(f"process {target.pid} could not be observed ({answer['failed']}); it goes on as before")


def _report(args: argparse.Namespace, target: Target, folder: Path, seen: Seen) -> int:
    why = f": {seen.why}" if seen.why else ""
    stood = f"paused for {seen.stopped_s:.2f} s at most to attach, and " if seen.stopped_s else ""
    complain(f"process {target.pid} was {stood}observed for {format_duration(seen.seconds)}{why}")
    if not holds_recording(str(folder)):
        longer = f"; {_LONGER}" if target.is_there() else ""
        raise UsageError(f"nothing was recorded of process {target.pid}{longer}")
    judged = judge_run(str(folder))
    report.show(judged, args)
    if not args.json:  # a page alone would leave whoever attached without a word of what leaks
        emit("\n".join(told_lines(judged, _LONGER) if args.html else [verdict_line(judged, _LONGER)]))
        emit(f"Recorded in {folder}; to see it again: phaseprof report {folder}")
    return judged.status()
