"""Runs at an address that fsspec knows, such as ``s3://bucket/run``: listed there, fetched by whoever reads them."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Union

from phaseprof.errors import MissingExtra, RecordingError

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
    remote = [file for file in files if isinstance(file, RemoteFile)]
    if not remote:
        yield [file for file in files if isinstance(file, Path)]
        return
    with tempfile.TemporaryDirectory(prefix="phaseprof-") as folder:
        copies = [Path(folder) / file.name for file in remote]
        with _said_in_one_line(remote[0].address):
            system, _ = open_address(remote[0].address)
            system.get([file.address for file in remote], [str(copy) for copy in copies])
        yield copies


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
