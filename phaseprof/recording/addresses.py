"""Runs at an address that fsspec knows, such as ``s3://bucket/run``: listed there, fetched by whoever reads them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Union

from phaseprof.errors import MissingExtra, RecordingError

# Recordings that are fetched at once: enough that waiting for the first byte of each is no matter.
_GROUPS_AT_ONCE = 4
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(?:::[^:]*)*://")


@dataclass(frozen=True)
class RemoteFile:
    """A file at an address.

    Attributes:
        address: where it is, its scheme included.
        n_bytes: its size when it was listed.
    """

    address: str
    n_bytes: int

    @property
    def name(self) -> str:
        """The file's name, without its folder."""
        return PurePosixPath(self.address).name

    def __str__(self) -> str:
        return self.address


File = Union[Path, RemoteFile]  # noqa: UP007 - evaluated at run time on Python 3.10


def is_address(path: str | Path) -> bool:
    """Tell whether a run's name is an address and not a folder of this machine.

    >>> is_address("s3://bucket/run"), is_address("runs/first"), is_address("C:/runs")
    (True, False, False)
    """
    return isinstance(path, str) and _ADDRESS.match(path) is not None


def list_files(address: str) -> list[RemoteFile]:
    """Return the files of a recording at an address: those of a folder, or the one that is named.

    Raises:
        MissingExtra: fsspec, or the package of that file system, is not installed.
        RecordingError: nothing is there, or it may not be read; the file system's own words say why.
    """
    with _said_in_one_line(address):
        files, where = open_address(address)
        if files.isfile(where):
            found = [files.info(where)]
        else:
            found = [entry for entry in files.ls(where, detail=True, refresh=True) if entry["type"] == "file"]
        return [
            RemoteFile(files.unstrip_protocol(entry["name"]), int(entry["size"] or 0))
            for entry in found if entry["name"].endswith(".jsonl")
        ]  # fmt: skip


@contextlib.contextmanager
def fetched(files: Sequence[File]) -> Iterator[list[Path]]:
    """Give files of this machine: the same ones, or copies in a temporary folder that goes at the end.

    Raises:
        MissingExtra, RecordingError: as ``list_files``.
    """
    with contextlib.ExitStack() as stack:
        yield _fetch([files], stack)[0]


def fetched_in_turn(groups: Sequence[Sequence[File]]) -> Iterator[list[Path]]:
    """Yield files of this machine for each group: the same ones, or copies that are gone some groups later.

    What is far away is fetched some groups at a time, all their files at once, and the next ones while the caller is
    busy with these.

    Raises:
        MissingExtra, RecordingError: as ``list_files``.
    """
    if not any(isinstance(file, RemoteFile) for files in groups for file in files):
        yield from (_fetch([files], contextlib.ExitStack())[0] for files in groups)
        return
    from concurrent.futures import ThreadPoolExecutor  # a program that records needs none of it

    batches = [groups[at : at + _GROUPS_AT_ONCE] for at in range(0, len(groups), _GROUPS_AT_ONCE)]
    stacks = [contextlib.ExitStack() for _ in batches]
    with contextlib.ExitStack() as every, ThreadPoolExecutor(1) as pool:
        for stack in stacks:
            every.push(stack)
        ahead = pool.submit(_fetch, batches[0], stacks[0])
        for at, stack in enumerate(stacks):
            local = ahead.result()
            if at + 1 < len(batches):
                ahead = pool.submit(_fetch, batches[at + 1], stacks[at + 1])
            yield from local
            stack.close()


def _fetch(groups: Sequence[Sequence[File]], stack: contextlib.ExitStack) -> list[list[Path]]:
    """Return files of this machine for each group; copies go when the stack is closed."""
    remote = [file for files in groups for file in files if isinstance(file, RemoteFile)]
    if not remote:
        return [[file for file in files if isinstance(file, Path)] for files in groups]
    import tempfile

    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="phaseprof-")))
    with _said_in_one_line(remote[0].address):
        system, _ = open_address(remote[0].address)
        system.get([file.address for file in remote], [str(folder / file.name) for file in remote])
    return [[folder / file.name for file in files] for files in groups]


@contextlib.contextmanager
def fetched_run(path: str) -> Iterator[Path]:
    """Give a run's folder or file of this machine: that itself, or a copy of an address that goes at the end.

    Raises:
        MissingExtra, RecordingError: as ``list_files``.
    """
    if not is_address(path):
        yield Path(path)
        return
    with fetched(list_files(path)) as copies:
        if not copies:
            raise RecordingError(f"cannot read {path}: it has no *.jsonl file; give the address of a recorded run")
        yield copies[0].parent


def open_address(address: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path in it.

    Raises:
        MissingExtra: fsspec is not installed; for the package of a file system it raises ``ImportError`` itself.
    """
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise MissingExtra(f"{address} needs fsspec, which is not installed: pip install 'phaseprof[remote]'") from None
    # Files of a run that goes on grow: what was listed a moment ago is not what is there.
    system, where = url_to_fs(address, use_listings_cache=False)
    return system, where


@contextlib.contextmanager
def _said_in_one_line(address: str) -> Iterator[None]:
    """File systems raise errors of many packages; what they mean here is that the run cannot be read."""
    try:
        yield
    except (MissingExtra, RecordingError):
        raise
    except FileNotFoundError:
        raise RecordingError(f"cannot read {address}: nothing is there; give the address of a recorded run") from None
    except ImportError as error:
        raise MissingExtra(f"{address}: {error}; install the package of that file system") from None
    except Exception as error:
        first = str(error).strip().splitlines() or [type(error).__name__]
        raise RecordingError(f"cannot read {address}: {first[0][:200]}") from error
