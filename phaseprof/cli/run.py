"""``phaseprof run``: records a program that knows nothing of phaseprof, or that uses it."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import threading
import time
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from phaseprof import api
from phaseprof.cli import tracebacks
from phaseprof.cli.instructions import collect_targets
from phaseprof.cli.outside import MAIN, Finder, Plan
from phaseprof.cli.script import Script, find_module, find_script, make_main, prepare
from phaseprof.errors import UsageError
from phaseprof.live.settings import PREFIX, resolve

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

DEFAULT_INTERVAL_S = 0.1
_INTERRUPTED, _WRONG_USE = 130, 2
_DESCRIPTION = """\
Run a Python program as the interpreter would, and record its memory: a thread reads the counters every so often, and
what is named is instrumented from outside. A program that calls phaseprof itself joins the same recording. The summary
is printed at the end, and the exit status is the program's own."""
_EPILOG = """\
--phase, --generation, --watch and --track may be given several times, in the environment (PHASEPROF_PHASE and so on,
separated by commas) and in [tool.phaseprof]. __main__ is the script. A name that does not exist ends the command with
status 2."""


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
    add("--quiet", action="store_true", help="print no summary at the end")
    several = {"action": "append", "default": []}
    add("--phase", metavar="MOD:Class.method", help="its calls are a phase; NAME=... names it", **several)
    add("--generation", metavar="MOD:Class.method", help="each call is a turn of the outer loop", **several)
    add("--watch", metavar="MOD:Class[=N]", help="count instances; =2 or =16-17 says what must be", **several)
    add("--track", metavar="NAME=MOD:obj.attr", help="follow the size of an object", **several)
    add("-m", dest="module", nargs=argparse.REMAINDER, metavar="MODULE", help="run a module, as python -m does")
    add("script", nargs=argparse.REMAINDER, metavar="SCRIPT", help="script, or folder or archive with __main__.py")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the program; return its exit status."""
    command = args.module or args.script
    if not command:
        raise UsageError("run needs a program: a SCRIPT, or -m MODULE")
    is_module = bool(args.module)
    targets = collect_targets(args, os.environ, Path.cwd())
    names = [command[0], f"{command[0]}.__main__"] if is_module else [Path(command[0]).stem]
    plan = Plan(targets, names)
    with _as_interpreter(), _environment(_settings(args, command[0])):
        _put_first(str(Path.cwd()))
        script = None if is_module else find_script(command[0])
        api.configure()
        finder = Finder(plan)
        sys.meta_path.insert(0, finder)
        try:
            return _record(plan, script, command, quiet=args.quiet)
        finally:
            sys.meta_path.remove(finder)
            api.get_profiler().close()


def _record(plan: Plan, script: Script | None, command: list[str], *, quiet: bool) -> int:
    """Run, wait for the program's threads, and print the summary whatever happened."""
    plan.begin()
    if script is None:
        script = find_module(command[0])
    elif script.search_path is not None:
        _put_first(script.search_path)
    sys.argv[:] = [script.program, *command[1:]]
    module = sys.modules[MAIN] = make_main(script)
    status = _run_to_end(plan, script, module)
    lines = [*map(str, plan.failures), *(plan.missing() if not plan.failures else [])]
    if not quiet and api.get_profiler().enabled and not plan.failures:
        _print_summary()
    for line in lines:
        sys.stderr.write(f"phaseprof run: {line}\n")
    return _WRONG_USE if lines and (status == 0 or plan.failures) else status


def _run_to_end(plan: Plan, script: Script, module: types.ModuleType) -> int:
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
        return _exit_status(ended)
    except KeyboardInterrupt as error:
        tracebacks.show(error)
        return _INTERRUPTED
    except BaseException as error:  # noqa: BLE001 - whatever ends the program is shown as the interpreter shows it
        if error not in plan.failures:
            tracebacks.show(error)
        return 1
    return 0


def _join_threads() -> None:
    """Wait for the program's own threads, as the interpreter does before it ends."""
    for thread in threading.enumerate():
        if not thread.daemon and thread not in (threading.main_thread(), threading.current_thread()):
            thread.join()


def _exit_status(ended: SystemExit) -> int:
    """Turn what was given to ``sys.exit`` into a status, printing it where the interpreter would."""
    if ended.code is None:
        return 0
    if isinstance(ended.code, int):
        return ended.code
    sys.stderr.write(f"{ended.code}\n")
    return 1


def _print_summary() -> None:
    profiler = api.get_profiler()
    profiler.print_summary()
    folder = profiler.settings.run
    if folder is not None:
        print(f"Recorded in {folder}; again: phaseprof report {folder}")


def _settings(args: argparse.Namespace, program: str) -> dict[str, str]:
    """What the options mean as environment: the program's own ``configure`` and its children inherit it."""
    given = resolve({})
    folder = args.out or given.run
    if args.out and not _is_one_of_many() and any(Path(args.out).glob("*.jsonl")):
        raise UsageError(f"--out must be a new folder ({args.out} holds a recording); give another, or remove it")
    every_s = args.interval or given.sample_every_s or DEFAULT_INTERVAL_S
    settings = {"run": str(Path(folder or _new_folder(program)).absolute()), "sample_every_s": str(every_s)}
    if args.budget is not None:
        settings["budget"] = args.budget
    resolve(settings)
    return {PREFIX + name.upper(): value for name, value in settings.items()}


def _is_one_of_many() -> bool:
    """Whether a launcher started several of us, which share a folder."""
    return any(os.environ.get(name, "1") != "1" for name in ("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE"))


def _new_folder(program: str) -> Path:
    """A folder that does not exist yet, named after the program and the time."""
    name = Path(program).stem or "run"
    first = Path("runs") / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    return next(path for n in range(1, 1000) if not (path := Path(f"{first}-{n}") if n > 1 else first).exists())


def _put_first(folder: str) -> None:
    """Replace the first entry of the search path, which is ours, by the program's; under ``-P`` there is none."""
    if not (getattr(sys.flags, "safe_path", False) or sys.flags.isolated):
        sys.path[0] = folder


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
