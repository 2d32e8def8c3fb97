"""``phaseprof run``: records a program that knows nothing of phaseprof, or that uses it."""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import sys
import tempfile
import threading
import time
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from phaseprof import api
from phaseprof.cli import tracebacks
from phaseprof.cli.instructions import collect_targets
from phaseprof.cli.output import complain, emit
from phaseprof.cli.outside import MAIN, Plan, installed
from phaseprof.cli.script import Script, find_module, find_script, make_main, prepare
from phaseprof.errors import PhaseprofError, RecordingError, UsageError
from phaseprof.integrations.automatic import AFTER, WORKERS, put_in, what_was_used
from phaseprof.live.loop_finder import LoopFinder
from phaseprof.live.settings import PREFIX, resolve
from phaseprof.probes.typeinfo import is_a
from phaseprof.recording.addresses import is_address, list_files
from phaseprof.recording.descriptors import make_private_folder

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

DEFAULT_INTERVAL_S = 0.1
_FLAGS = ("--full", "--quiet", "-h", "--help")
_OPTIONS = {"sample_every_s": "--interval", "budget": "--budget"}
_INTERRUPTED, _WRONG_USE = 130, 2
_DESCRIPTION = """\
Run a Python program as the interpreter would, and record its memory: a thread reads the counters at intervals, and
what you name is instrumented from outside. A program that calls phaseprof itself joins the same recording. The summary
is printed at the end, and the exit status is the program's own."""
_EPILOG = """\
--phase, --generation, --watch and --track may be given several times, in the environment (PHASEPROF_PHASE and so on,
separated by commas) and in [tool.phaseprof]. __main__ is the script. A name that does not exist ends the command with
status 2."""


@dataclass(frozen=True)
class Program:
    """The program to run: script or module first, then its arguments."""

    words: list[str]
    is_module: bool


def add_parser(subparsers: Subparsers) -> None:
    """Add the command to the program's parser."""
    parser = subparsers.add_parser(
        "run", help="run a program and record its memory, without editing it", description=_DESCRIPTION,
        epilog=_EPILOG, allow_abbrev=False, usage="phaseprof run [OPTIONS] (-m MODULE | SCRIPT) [ARGS ...]",
    )  # fmt: skip
    add = parser.add_argument
    add("--out", metavar="RUN", help="folder for the recording; default: runs/NAME-DATE")
    add("--interval", metavar="S", help=f"seconds between two samples (default: {DEFAULT_INTERVAL_S})")
    add("--budget", metavar="B", help="share of wall time that measuring may take, or none (default: 0.02)")
    add("--full", action="store_true", help="print every table at the end, not one screen")
    add("--quiet", action="store_true", help="print no summary at the end")
    for option, form, what in (
        ("--phase", "MOD:Class.method", "each call is a visit of a phase; NAME=MOD:... names the phase"),
        ("--generation", "MOD:Class.method", "each call is an iteration of the outer loop"),
        ("--watch", "MOD:Class[=N]", "count instances; =2 or =16-17 is how many there must be"),
        ("--track", "NAME=MOD:obj.attr", "follow the size of an object"),
    ):
        add(option, action="append", metavar=form, help=what)
    parser.set_defaults(run=run)


def split_program(argv: Sequence[str]) -> tuple[list[str], Program]:
    """Part the command's own arguments from the program's, which argparse would take for options of the command.

    Args:
        argv: arguments from ``run`` on.
    """
    at = 1
    while at < len(argv):
        word = argv[at]
        if word == "--":
            return list(argv[:at]), Program(list(argv[at + 1 :]), is_module=False)
        if word.startswith("-m") and not word.startswith("--"):
            attached = [word[2:]] if len(word) > 2 else []
            return list(argv[:at]), Program([*attached, *argv[at + 1 :]], is_module=True)
        if not word.startswith("-"):
            return list(argv[:at]), Program(list(argv[at:]), is_module=False)
        at += 1 if word in _FLAGS or "=" in word else 2
    return list(argv), Program([], is_module=False)


def run(args: argparse.Namespace) -> int:
    """Run the program; return its exit status."""
    program: Program = args.program
    if not program.words:
        raise UsageError("a program must be given: SCRIPT, or -m MODULE")
    first = program.words[0]
    targets = collect_targets(args, os.environ, Path.cwd())
    # Who says what a generation is need not hear it from a framework.
    is_said = any(target.option == "--generation" for target in targets)
    then = dict.fromkeys((WORKERS,) if is_said else (WORKERS, *AFTER), put_in)
    plan = Plan(targets, [first, f"{first}.__main__"] if program.is_module else [Path(first).stem], then)
    with _as_interpreter(), _environment(_settings(args, first)), installed(plan):
        try:
            script = _load(plan, program)
        except PhaseprofError:
            raise
        except Exception as error:  # noqa: BLE001 - of the program's text, or of a package that -m imports on the way
            tracebacks.show(error)
            return 1
        _open_recording()
        if WORKERS in sys.modules:
            put_in(WORKERS)
        try:
            return _record(plan, script, quiet=args.quiet, full=args.full)
        finally:
            api.get_profiler().close()


def _load(plan: Plan, program: Program) -> Script:
    """Make ``sys`` as the interpreter would have it, instrument what is imported already, and find the program."""
    first = program.words[0]
    sys.argv[:] = ["-m" if program.is_module else first, *program.words[1:]]
    script = None if program.is_module else find_script(first)
    folder = str(Path.cwd()) if script is None else script.search_path
    # Under -P and -I the interpreter puts nothing first, so there is no entry of ours to replace.
    if folder is not None and not (getattr(sys.flags, "safe_path", False) or sys.flags.isolated):
        sys.path[0] = folder
    plan.begin()
    if script is None:
        script = find_module(first)
        sys.argv[0] = script.program
    return script


def _open_recording() -> None:
    """Let the default profiler record under the settings that are in the environment now.

    Raises:
        UsageError: the run's folder cannot be written.  In a program that is warned of; here the program has not begun.
    """
    run = resolve({}).run or "."
    folder = Path(tempfile.gettempdir() if is_address(run) else run)
    try:
        make_private_folder(folder)
        if not os.access(folder, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise UsageError(f"--out must name a folder that can be written (got {folder}: {error.strerror})") from error
    if api.get_profiler().settings != resolve({}):  # it was made before, by a program that calls this one
        api.configure()


def _record(plan: Plan, script: Script, *, quiet: bool, full: bool) -> int:
    """Run, wait for the program's threads, and print the summary whatever happened."""
    module = sys.modules[MAIN] = make_main(script)
    # Who names a phase or a generation has said what recurs.
    finder = None if plan.marks_anything else _loop_finder(Path(script.file).parent)
    if finder is not None:
        finder.start()
    try:
        status, crashed = _run_to_end(plan, script, module)
    finally:
        if finder is not None:
            finder.stop()
    # A program that crashed may not have come to the imports that are missing.
    lines = [*map(str, plan.failures)] or ([] if crashed else plan.missing())
    if not quiet and api.get_profiler().enabled and not plan.failures:
        _print_summary(full=full, finder=finder)
    for line in lines:
        complain(f"phaseprof run: {line}")
    return _WRONG_USE if lines and (status == 0 or plan.failures) else status


def _loop_finder(folder: Path) -> LoopFinder:
    profiler = api.get_profiler()
    return LoopFinder(profiler.marks(), folder, least_s=profiler.settings.min_generation_s)


def _run_to_end(plan: Plan, script: Script, module: types.ModuleType) -> tuple[int, bool]:
    """Run the program; return its exit status, and whether an exception ended it."""
    targets = plan.of_main()

    def bound(name: str) -> None:
        if name in vars(module):
            plan.apply(module, [target for target in targets if target.path[0] == name])

    code = prepare(script, module, targets, bound)
    try:
        try:
            exec(code, vars(module))  # noqa: S102 - running the user's program is what the command is for
        finally:
            _join_threads()
    except SystemExit as ended:
        return _exit_status(ended), False
    except KeyboardInterrupt as error:
        tracebacks.show(error)
        return _INTERRUPTED, True
    except BaseException as error:  # noqa: BLE001 - whatever ends the program is shown as the interpreter shows it
        if not any(error is failure for failure in plan.failures):
            tracebacks.show(error)
        return 1, True
    return 0, False


def _join_threads() -> None:
    """Wait for the program's own threads, as the interpreter does before it ends."""
    for thread in threading.enumerate():
        if not thread.daemon and thread not in (threading.main_thread(), threading.current_thread()):
            thread.join()


def _exit_status(ended: SystemExit) -> int:
    """Turn what was given to ``sys.exit`` into a status, printing it where the interpreter would."""
    if ended.code is None:
        return 0
    if is_a(ended.code, int):
        return ended.code
    sys.stderr.write(f"{ended.code}\n")
    return 1


def _print_summary(*, full: bool, finder: LoopFinder | None) -> None:
    profiler = api.get_profiler()
    profiler.print_summary(full=full)
    folder = profiler.settings.run
    for line in [*what_was_used(), *_what_was_found(finder)]:
        with contextlib.suppress(ValueError):
            emit(line)
    if folder is not None:
        with contextlib.suppress(ValueError):  # the program may have closed the stream
            emit(f"Recorded in {folder}; to see it again: phaseprof report {folder}")


def _what_was_found(finder: LoopFinder | None) -> list[str]:
    found = "" if finder is None else finder.describe()
    return [f"{found}; --generation names another loop"] if found else []


def _settings(args: argparse.Namespace, program: str) -> dict[str, str]:
    """What the options mean as environment: the program's own ``configure`` and its children inherit it."""
    given = resolve({})
    if args.out is not None and not args.out.strip():
        raise UsageError(f"--out must name a folder (got {args.out!r})")
    folder = args.out or given.run
    if args.out and not _is_one_of_many() and holds_recording(args.out):
        raise UsageError(f"--out must be a new folder ({args.out} holds a recording); give another, or remove it")
    every_s = args.interval or given.sample_every_s or DEFAULT_INTERVAL_S
    where = folder if folder and is_address(folder) else str(Path(folder or new_folder(program)).absolute())
    settings = {"run": where, "sample_every_s": str(every_s)}
    if args.budget is not None:
        settings["budget"] = args.budget
    try:
        resolve(settings)
    except UsageError as error:  # it names the setting, and the user wrote the option
        name, _, rule = str(error).partition(" ")
        raise UsageError(f"{_OPTIONS.get(name, name)} {rule}") from error
    return {PREFIX + name.upper(): value for name, value in settings.items()}


def holds_recording(run: str) -> bool:
    """Whether something was recorded there before."""
    if not is_address(run):
        return any(Path(run).glob("*.jsonl"))
    try:
        return bool(list_files(run))
    except RecordingError:  # nothing is there
        return False


def _is_one_of_many() -> bool:
    """Whether a launcher started several of us, which share a folder."""
    return any(os.environ.get(name, "1") != "1" for name in ("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE"))


def new_folder(program: str) -> Path:
    """A folder that does not exist yet, named after the program and the time."""
    name = Path(program).stem or "run"
    first = Path("runs") / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    return next(path for n in range(1, 1000) if not (path := Path(f"{first}-{n}") if n > 1 else first).exists())


@contextlib.contextmanager
def _as_interpreter() -> Iterator[None]:
    """Give back what a program's start changes, for those who call ``main`` from a program of their own."""
    argv, path, main = list(sys.argv), list(sys.path), sys.modules.get(MAIN)
    try:
        yield
    finally:
        sys.argv[:], sys.path[:] = argv, path
        if main is not None:
            sys.modules[MAIN] = main


@contextlib.contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables for the block."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
