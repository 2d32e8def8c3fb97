"""Make another process run some lines of Python: from 3.14 on as the interpreter offers it, before with gdb.

gdb calls two functions that may be called at any moment, whatever the stopped thread was doing: ``mmap`` for a page
to put the lines into, and ``Py_AddPendingCall``, which asks the interpreter to run them in the main thread between two
of its instructions.  Neither needs the interpreter's lock, nor memory from an allocator that the thread may be in the
midst of.  A main thread that sleeps in a system call comes to no such point; it does not hold the interpreter's lock
then, and is made to take it for a moment and to run what is pending.
"""

from __future__ import annotations

import contextlib
import math
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence

from phaseprof.attaching.elf import Mapping, addresses_in
from phaseprof.attaching.errand import PAGE, Errand
from phaseprof.attaching.target import Target, refuse_without_rights
from phaseprof.errors import UsageError

PAGE_BYTES = 4096
_STOPS, _GOES_ON = "phaseprof: stops", "phaseprof: goes on"
# After so long gdb is asked to let go.
_PATIENCE_S = 15.0
# gdb reads no symbols, since it is told addresses: that takes seconds, in which the process stands still.
_SETTINGS = (
    "set debuginfod enabled off", "set auto-load no", "set auto-solib-add off", "set sysroot /nonexistent",
    "set debug-file-directory /nonexistent", "set libthread-db-search-path /nonexistent", "set language c",
    "set print symbol off", "set unwindonsignal on", "set confirm off", "set pagination off", "set width 0",
    "handle all nostop noprint pass",
)  # fmt: skip
# Before a process is touched, a register is written in one of our own: gdb 13 cannot write those of processors with
# AMX, and what it has stopped goes on with wrong ones: a call that slept fails with an error that no program knows.
_WRITES, _CANNOT_WRITE = "set $xmm0.v4_int32[0] = 7", "Couldn't write"
_NEEDED = ("Py_AddPendingCall", "PyRun_SimpleString")
_OF_A_SLEEPER = ("PyGILState_Check", "PyGILState_Ensure", "PyGILState_Release", "Py_MakePendingCalls")


def inject(target: Target, errand: Errand) -> float:
    """Ask the process to run the errand's lines; it does so when its main thread comes to it.

    Returns:
        For how long the process was stopped at most, in seconds.

    Raises:
        UsageError: it cannot be done here; the process goes on as before.
    """
    remote_exec = getattr(sys, "remote_exec", None)
    if remote_exec is None:
        return _by_gdb(target, errand)
    try:
        remote_exec(target.pid, str(errand.script))
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(f"process {target.pid} must allow attaching (got: {error}); run attach as root") from error
    return 0.0


def wake(target: Target, errand: Errand) -> float:
    """Let a main thread that sleeps in a system call run what is pending.

    Returns:
        For how long the process was stopped at most, in seconds; 0 where it was left alone.

    Raises:
        UsageError: the debugger failed.
    """
    if hasattr(sys, "remote_exec"):
        return 0.0
    at = _addresses(target, target.python, _OF_A_SLEEPER)
    lines = [
        f"set $holds = ((int (*)(void)) {at['PyGILState_Check']})()",
        "if $holds == 0",
        f"set $state = ((int (*)(void)) {at['PyGILState_Ensure']})()",
        f"set $done = ((int (*)(void)) {at['Py_MakePendingCalls']})()",
        f"call ((void (*)(int)) {at['PyGILState_Release']})($state)",
        "end",
    ]
    return _run_gdb(target, errand, lines)[0]


def _by_gdb(target: Target, errand: Errand) -> float:
    refuse_without_rights()
    _refuse_a_debugger_that_breaks_what_it_stops()
    at = _addresses(target, target.python, _NEEDED)
    if target.libc is None:
        raise UsageError(f"process {target.pid} must use the system's C library (got: none); attach cannot enter it")
    mmap = _addresses(target, target.libc, ("mmap",))["mmap"]
    text = errand.code.encode() + b"\0"
    if len(text) > PAGE_BYTES:
        raise UsageError(f"the temporary folder must have a shorter name (got {errand.folder}); set TMPDIR")
    words = struct.unpack(f"<{-(-len(text) // 8)}q", text.ljust(-(-len(text) // 8) * 8, b"\0"))
    lines = [
        f"set $page = ((long (*)(long, long, long, long, long, long)) {mmap})(0, {PAGE_BYTES}, 3, 0x22, -1, 0)",
        "if $page > 0",
        *(f"set {{long}} ($page + {8 * n}) = {word}" for n, word in enumerate(words)),
        f"set $full = ((int (*)(long, long)) {at['Py_AddPendingCall']})({at['PyRun_SimpleString']}, $page)",
        'printf "page %ld full %d\\n", $page, $full',
        "end",
    ]
    stopped_s, printed = _run_gdb(target, errand, lines)
    answer = next((line.split() for line in printed if line.startswith("page ")), None)
    if answer is None or answer[3] != "0":
        why = _reason(printed)
        raise UsageError(f"process {target.pid} must take a call from gdb (got: {why}); it goes on as before")
    errand.write(PAGE, int(answer[1]))
    return stopped_s


def _addresses(target: Target, mapping: Mapping, names: Sequence[str]) -> dict[str, int]:
    try:
        found = addresses_in(mapping, names)
    except (OSError, ValueError, struct.error) as error:
        raise UsageError(f"process {target.pid} must be one of a 64-bit Linux (got: {error})") from error
    missing = [name for name in names if name not in found]
    if missing:
        got = f"{mapping.path} without {missing[0]}"
        raise UsageError(f"process {target.pid} must use libraries that export their interface (got {got})")
    return found


def _gdb() -> list[str]:
    """The debugger, as a command that reads no file of the user's and no symbols."""
    gdb = shutil.which("gdb")
    if gdb is None:
        raise UsageError("attach needs gdb before Python 3.14 (got: none on PATH); apt install gdb, or dnf install gdb")
    return [gdb, "-nx", "-nh", "-batch", *(word for setting in _SETTINGS for word in ("-iex", setting))]


def _refuse_a_debugger_that_breaks_what_it_stops() -> None:
    """Try it on a process of our own that sleeps.  Cost: 0.3 s."""
    sleeper = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"]
    with subprocess.Popen(sleeper, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as ours:  # noqa: S603 - our own
        try:
            tried = subprocess.run(  # noqa: S603 - the debugger that is on the path
                [*_gdb(), "-ex", f"attach {ours.pid}", "-ex", _WRITES, "-ex", "detach"], stdin=subprocess.DEVNULL,
                capture_output=True, text=True, errors="replace", check=False, timeout=_PATIENCE_S,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return  # what is asked next says why
        finally:
            ours.kill()
    said = next((line for line in (tried.stdout + tried.stderr).splitlines() if _CANNOT_WRITE in line), None)
    if said is not None:
        raise UsageError(
            f"attach needs a gdb that can write this processor's registers (got: {said.strip()}); install a newer one"
        )


def _run_gdb(target: Target, errand: Errand, lines: Sequence[str]) -> tuple[float, list[str]]:
    """Attach, run some commands, detach; return for how long the process was stopped at most, and what gdb printed."""
    script = [f"echo {_STOPS}\\n", f"attach {target.pid}", *lines, "detach", f"echo {_GOES_ON}\\n", "quit"]
    with _without_interrupts():
        process = subprocess.Popen(  # noqa: S603 - the debugger that is on the path
            [*_gdb(), "-x", str(errand.write_lines("gdb", script))],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            start_new_session=True,  # Ctrl-C is for us: gdb must not let go half-way
        )  # fmt: skip
        with _patience(process):
            return _read(process)


def _read(process: subprocess.Popen[str]) -> tuple[float, list[str]]:
    """Wait for gdb; return how long what it stopped was stopped, and what it printed."""
    printed, at = [], {}
    for line in process.stdout or ():
        printed.append(line.rstrip("\n"))
        at[printed[-1]] = time.monotonic()
    process.wait()
    return max(0.0, at.get(_GOES_ON, time.monotonic()) - at.get(_STOPS, math.inf)), printed


@contextlib.contextmanager
def _patience(process: subprocess.Popen[str]) -> Iterator[None]:
    """Ask gdb to let go when it hangs; it is never killed, since the process would stay in the midst of a call."""
    asks = [
        threading.Timer(_PATIENCE_S, process.send_signal, (signal.SIGINT,)),
        threading.Timer(2 * _PATIENCE_S, process.terminate),
    ]
    for ask in asks:
        ask.daemon = True
        ask.start()
    try:
        yield
    finally:
        for ask in asks:
            ask.cancel()


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Keep Ctrl-C for the end of the block."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _reason(printed: Sequence[str]) -> str:
    """The line of gdb's that says what went wrong."""
    telling = [line for line in printed if "ptrace" in line or "not permitted" in line or "rror" in line]
    return (telling or [line for line in printed if line.strip()] or ["it said nothing"])[-1].strip()
