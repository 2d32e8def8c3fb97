"""The process that is to be observed: what it is, and why it may not be."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from phaseprof.attaching.elf import Mapping, mapped_files
from phaseprof.errors import UsageError

PROC = Path("/proc")
OURS = f"{sys.version_info[0]}.{sys.version_info[1]}{sys.abiflags if hasattr(sys, 'abiflags') else ''}"
_IN_NAME = re.compile(r"(?:lib)?python(\d+\.\d+[a-z]*)(?:\.so[.\d]*)?\Z")
_EXTENSION = re.compile(r"\.cpython-3(\d+)([a-z]*)-[^/]*\.so\Z")
_LIBC = re.compile(r"/(libc\.so\.\d+|libc-[\d.]+\.so|(ld-|libc\.)musl-[^/]*)\Z")
_NAMESPACES = {"pid": "process", "mnt": "file system", "user": "user"}
_GONE = " (deleted)"
_OLDEST = (3, 10)


@dataclass(frozen=True)
class Target:
    """A process of this user, in Python of our version.

    Attributes:
        pid: its number.
        began: when it began, in the kernel's ticks: with the number, what it is known by.
        name: its program, in a word, for the name of a folder.
        command: its command line.
        python: the file that has Python's functions.
        libc: the file that has those of C's library.
    """

    pid: int
    began: str
    name: str
    command: str
    python: Mapping
    libc: Mapping | None

    def is_there(self) -> bool:
        """Whether it still runs."""
        try:
            stat = _stat(self.pid)
        except OSError:
            return False
        return stat[19] == self.began and stat[0] not in "ZX"

    def blocked_in(self) -> str:
        """The system call that its main thread sleeps in, and where; empty while it computes, or if nobody may ask."""
        try:
            call = (PROC / str(self.pid) / "task" / str(self.pid) / "syscall").read_text()
        except OSError:
            return ""
        return "" if call.startswith(("running", "-1")) else call


def examine(pid: int) -> Target:
    """Look at a process from outside.

    Raises:
        UsageError: it cannot be observed; one line says why, and what to do.
    """
    if pid == os.getpid():
        raise UsageError(f"PID must be another process (got {pid}, its own); in your own program use Profiler")
    try:
        stat, status = _stat(pid), _status(pid)
    except OSError:
        raise UsageError(f"PID must be a process (got {pid}: there is none); pgrep -af python lists some") from None
    _refuse_by_state(pid, stat[0], int(status.get("TracerPid", "0")))
    _refuse_foreign(pid, int(status["Uid"].split()[1]))
    try:
        _refuse_contained(pid)
        files = mapped_files((PROC / str(pid) / "maps").read_text())
        exe = str((PROC / str(pid) / "exe").readlink())
    except OSError as error:
        how = "run attach as root" if os.geteuid() else "run attach with the capability SYS_PTRACE"
        raise UsageError(f"process {pid} must be readable (got: {error.strerror}); {how}") from None
    python = _python_of(pid, exe, files)
    words = (PROC / str(pid) / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")[:-1]
    libc = next((one for one in files if _LIBC.search(one.path)), None)
    return Target(pid, stat[19], _name_of(words), " ".join(words), python, libc)


def refuse_without_rights() -> None:
    """Raise if the system lets nobody like us debug a process of the same user.

    Raises:
        UsageError: what is missing.
    """
    try:
        scope = int((PROC / "sys/kernel/yama/ptrace_scope").read_text())
    except (OSError, ValueError):
        return
    may_all = bool(int(_status(os.getpid())["CapEff"], 16) >> 19 & 1)
    if scope >= 3 or (scope and not may_all):
        lowered = "sudo sysctl kernel.yama.ptrace_scope=0, or run attach as root"
        how = "only a restart of the machine can lower it" if scope >= 3 else lowered
        raise UsageError(f"attach needs kernel.yama.ptrace_scope 0 (got {scope}); {how}")


def _refuse_by_state(pid: int, state: str, tracer: int) -> None:
    if tracer:
        raise UsageError(f"process {pid} must not be debugged already (got: by process {tracer}); end that first")
    if state in "Tt":
        raise UsageError(f"process {pid} must be running (got: it is stopped); kill -CONT {pid} resumes it")
    if state in "ZX":
        raise UsageError(f"process {pid} must be running (got: it has ended, and is a zombie)")


def _refuse_foreign(pid: int, user: int) -> None:
    if user != os.geteuid():
        raise UsageError(
            f"process {pid} must be of the same user (got {user}, and this is {os.geteuid()}); run attach as that user"
        )


def _refuse_contained(pid: int) -> None:
    for name, what in _NAMESPACES.items():
        if (PROC / str(pid) / "ns" / name).readlink() != (PROC / "self" / "ns" / name).readlink():
            raise UsageError(
                f"process {pid} must be in the same container (got: another {what} namespace); run attach inside it"
            )
    theirs, ours = (PROC / str(pid) / "root").stat(), Path("/").stat()
    if (theirs.st_dev, theirs.st_ino) != (ours.st_dev, ours.st_ino):
        raise UsageError(f"process {pid} must see the same files (got: another root folder); run attach inside it")


def _python_of(pid: int, exe: str, files: list[Mapping]) -> Mapping:
    """The file that holds Python.

    Raises:
        UsageError: there is none, or of another version.
    """
    libraries = [one for one in files if "libpython" in one.path.rpartition("/")[2]]
    found = {version: one for one in libraries if (version := _version_in(one.path))}
    home = next((one for one in files if one.path == exe), None)
    if not found and home is not None:
        names = [_version_in(exe), *(_version_of_extension(one.path) for one in files)]
        found = {version: home for version in names[:1] if version} or {version: home for version in names if version}
    if not found:
        raise UsageError(f"process {pid} must run Python (got {exe}); attach observes Python only")
    version, mapping = next(iter(found.items()))
    if version != OURS:
        is_older = tuple(map(int, re.findall(r"\d+", version))) < _OLDEST
        how = f"install phaseprof for Python {version}, and attach from there"
        older = "phaseprof needs {}.{} or newer".format(*_OLDEST)
        raise UsageError(
            f"process {pid} must run the same Python as attach, {OURS} (got {version}); {older if is_older else how}"
        )
    if mapping.path.endswith(_GONE):
        raise UsageError(f"process {pid} must run the Python that is on disk (got: {mapping.path}, replaced since)")
    return mapping


def _version_in(path: str) -> str:
    match = _IN_NAME.match(path.removesuffix(_GONE).rpartition("/")[2])
    return match[1] if match else ""


def _version_of_extension(path: str) -> str:
    match = _EXTENSION.search(path)
    return f"3.{match[1]}{match[2]}" if match else ""


def _name_of(words: list[str]) -> str:
    """What a folder may be called after: the script or module, else Python itself."""
    for before, word in pairwise(words):
        if before == "-m" or (not word.startswith("-") and before != "-c"):
            return Path(word).stem or "python"
    return "python"


def _stat(pid: int) -> list[str]:
    """The fields of ``/proc/PID/stat`` from the state on; the name before them may hold anything."""
    return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()


def _status(pid: int) -> dict[str, str]:
    lines = (PROC / str(pid) / "status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
