"""Where a process and its labels come from: files, frames and the interpreter say it, no program is run."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import stat
import sys
import types
from collections.abc import Iterator
from pathlib import Path

from phaseprof.interrupts import raise_the_programs

_COMMIT = re.compile(rb"(?:[0-9a-f]{40}|[0-9a-f]{64})")
_SHOWN = 12  # characters of a commit that are kept, as many as git shows of one in a large repository
_MAX_BYTES = 4096  # of a file that holds one line
_MAX_PACKED_BYTES = 32 << 20
_MAX_LINKS = 5  # references to references
_OURS = str(Path(__file__).parent.parent) + os.sep
_DEMO = os.path.join(_OURS, "demo", "")  # noqa: PTH118 - a prefix, with the separator at its end


@functools.cache
def platform_name() -> str:
    """Name the operating system and processor, as ``Linux-6.1.0-x86_64``.

    ``platform.platform`` is not asked: it runs ``uname -p`` and searches the interpreter's file for the C library.
    """
    if hasattr(os, "uname"):
        system = os.uname()
        return f"{system.sysname}-{system.release}-{system.machine}"
    if sys.platform == "win32":
        version = sys.getwindowsversion()
        machine = os.environ.get("PROCESSOR_ARCHITECTURE", "")
        return f"Windows-{version.major}.{version.minor}.{version.build}-{machine}"
    return sys.platform


def script_name() -> str:
    """Name the program's file, or package, without its folder and its arguments, which may hold what is secret."""
    argv = getattr(sys, "argv", None)
    first = argv[0] if type(argv) is list and argv else ""
    if type(first) is not str:
        return ""
    path = Path(first)
    return "/".join(path.parts[-2:]) if path.name == "__main__.py" else path.name


def written_at() -> str:
    """Return file and line of the program's statement that led here, as ``/src/train.py:12``; empty if none did."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and _is_between(frame.f_code.co_filename):
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def defined_at(function: object) -> str:
    """Return file and line of a function's definition, decorators included; empty for one that is not Python's."""
    for _ in range(_MAX_LINKS):
        if type(function) is not types.FunctionType:
            return ""
        wrapped = function.__dict__.get("__wrapped__")
        if wrapped is None:
            return f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"
        function = wrapped
    return ""


def _is_between(file: str) -> bool:
    """Whether a file lies between the program and its recording: ours, but not the demo's, and exit stacks."""
    return (file.startswith(_OURS) and not file.startswith(_DEMO)) or file == contextlib.__file__


def loaded_version(module_name: str) -> str:
    """Return the version of a module if the program has imported it; nothing of a proxy's is run to learn it."""
    module = sys.modules.get(module_name)
    if type(module) is not types.ModuleType:
        return ""
    version = vars(module).get("__version__")
    return str.__str__(version) if str in type(version).__mro__ else ""


def git_commit(folder: Path | None = None) -> str:
    """Return the commit that is checked out in a folder or above it, empty where that cannot be read.

    Args:
        folder: where to begin; the working folder if not given.

    Cost: some reads of small files, 0.2 ms.
    """
    try:
        repository = _find_repository(Path.cwd() if folder is None else folder.absolute())
        return "" if repository is None else _read_head(repository).decode()[:_SHOWN]
    except (OSError, ValueError) as error:
        raise_the_programs(error)
        return ""


def _find_repository(folder: Path) -> Path | None:
    for place in (folder, *folder.parents):
        found = place / ".git"
        if found.is_dir():
            return found
        if found.is_file():  # a worktree or a submodule: its repository is elsewhere
            return place / os.fsdecode(read_regular(found).partition(b"gitdir:")[2].strip())
    return None


def repository_root(folder: Path) -> Path | None:
    """Return the folder, or the one above it, that is the root of a repository or a worktree."""
    try:
        return next((place for place in (folder, *folder.parents) if (place / ".git").exists()), None)
    except OSError as error:
        raise_the_programs(error)
        return None


def _read_head(repository: Path) -> bytes:
    shared = repository / os.fsdecode(_read_if_there(repository / "commondir").strip())
    content = read_regular(repository / "HEAD").strip()
    for _ in range(_MAX_LINKS):
        if _COMMIT.fullmatch(content):
            return content
        name = content.partition(b"ref:")[2].strip()
        if not name.startswith(b"refs/") or b".." in name:
            return b""
        content = _read_reference(os.fsdecode(name), (repository, shared)).strip()
    return b""


def _read_reference(name: str, places: tuple[Path, ...]) -> bytes:
    for place in places:
        if content := _read_if_there(place / name):
            return content
    wanted = os.fsencode(name)
    return next((commit for commit, packed in _packed(places[-1]) if packed == wanted), b"")


def _packed(repository: Path) -> Iterator[tuple[bytes, bytes]]:
    for line in _read_if_there(repository / "packed-refs", _MAX_PACKED_BYTES).splitlines():
        commit, _, name = line.partition(b" ")
        yield commit, name.strip()


def read_regular(file: Path, most: int = _MAX_BYTES) -> bytes:
    """Read the beginning of a regular file; any other kind could keep the program waiting.

    Raises:
        OSError: it cannot be read, or is of another kind.
    """
    if not stat.S_ISREG(file.stat().st_mode):
        raise OSError(f"{file} is no regular file")
    with file.open("rb") as stream:
        return stream.read(most)


def _read_if_there(file: Path, most: int = _MAX_BYTES) -> bytes:
    try:
        return read_regular(file, most)
    except OSError as error:
        raise_the_programs(error)
        return b""
