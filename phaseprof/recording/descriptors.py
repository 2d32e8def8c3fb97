"""What the writer asks of the operating system: private folders, descriptors out of harm's way, and where a file is."""

from __future__ import annotations

import os
from pathlib import Path

from phaseprof.interrupts import raise_the_programs

FILE_MODE = 0o600
FOLDER_MODE = 0o700
_LOWEST_FD = 200  # below the smallest usual limit of 256
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)


def make_private_folder(folder: Path) -> None:
    """Make a folder, and those above it, for this user alone; those that are there keep their permissions.

    Raises:
        OSError: it cannot be made, or something else has its name.
    """
    if not folder.parent.is_dir() and folder.parent != folder:
        make_private_folder(folder.parent)
    folder.mkdir(mode=FOLDER_MODE, exist_ok=True)


def create_private_file(path: Path) -> int:
    """Create a file for this user alone, and return a descriptor that appends to it.

    Raises:
        OSError: it cannot be made; ``FileExistsError`` if its name is taken.
    """
    return _move_up(os.open(path, _FLAGS, FILE_MODE))


def _move_up(fd: int) -> int:
    """Move a descriptor out of the low numbers, so that a program that closes all of them does not get ours again.

    What a daemon opens next takes the lowest free number, and our records would go into its file.
    """
    try:
        import fcntl

        high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _LOWEST_FD)
    except (ImportError, OSError) as error:
        raise_the_programs(error)
        return fd
    os.close(fd)
    return high


def identity_of(fd: int) -> tuple[int, int]:
    """Return what tells an open file from all others.

    Raises:
        OSError: it is not open.
    """
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


def find_open_file(fd: int, path: Path) -> Path | None:
    """Return where an open file is now: at its path, or where it was moved to; ``None`` if it was removed.

    Where the system cannot say whereto it was moved, it is taken to be at its path as long as it has any name.

    Cost: two calls of the system, 2 µs, if it is at its path.
    """
    if os.fstat(fd).st_nlink == 0:
        return None
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return _ask_system(fd, path)
    except OSError as error:  # not to be seen is not gone
        raise_the_programs(error)
        return path
    return path


def _ask_system(fd: int, path: Path) -> Path | None:
    try:
        present = Path(f"/proc/self/fd/{fd}").readlink()
    except OSError as error:
        raise_the_programs(error)
        return path
    # The system appends a mark to the path of a removed name; other names, such as a backup's, do not count.
    return present if present.exists() else None
