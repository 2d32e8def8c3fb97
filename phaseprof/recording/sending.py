"""Sends the files of one process to an address, in a process of its own: python -m phaseprof.recording.sending ...

The recording is written to a folder of this machine, in parts, as any recording is.  What the network does, and the
packages that speak to it, stay out of the program that is recorded, and what it wrote arrives also where it is killed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from phaseprof.errors import UsageError
from phaseprof.interrupts import raise_the_programs
from phaseprof.recording.addresses import open_address
from phaseprof.recording.descriptors import make_private_folder

# A part is one object at the address: it is written whole, and readers take parts side by side.
PART_BYTES = 8_000_000
# What a program that is killed together with its machine loses, and what is asked of the network.
_EVERY_S, _LOOK_EVERY_S = 10.0, 0.1
# How often the program's own process looks whether sending has failed: it is there for its training.
_ASK_EVERY_S = 1.0
# How long a program waits at its end for the last part, and how long sending is tried after that.
WAIT_S, _TRIED_S = 10.0, 60.0
# Files that the program and the process that sends leave for each other.
_CLOSED, _FAILED = "closed", "failed"
_INSTALL = "pip install 'phaseprof[remote]'"


class Staging:
    """The folder of this machine in which a recording waits to be sent, and the process that sends it.

    Args:
        address: where the run's folder is, such as ``s3://bucket/run``.
        warn: called with a sentence when something cannot be sent.

    Attributes:
        folder: where the recording is written; made, and removed at the end, by this class and its process.

    Raises:
        UsageError: fsspec is not installed.
    """

    def __init__(self, address: str, warn: Callable[[str], None]) -> None:
        if find_spec("fsspec") is None:
            raise UsageError(f"run must name a folder where fsspec is not installed (got {address}); {_INSTALL}")
        self._address, self._warn = address, warn
        self.folder = Path(tempfile.gettempdir()) / f"phaseprof-{os.getpid()}-{time.time_ns():x}"
        self._has_begun = False

    def begin(self) -> None:
        """Start the process that sends, once; called when the first file is made."""
        if self._has_begun:
            return
        self._has_begun = True
        make_private_folder(self.folder)
        command = [sys.executable, "-m", __name__, str(self.folder), self._address, str(os.getpid())]
        # Of the same search path, and in a session of its own: an interrupt from the terminal is for the program.
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        # With none of the program's streams: whoever reads those would wait for this process to end, too.
        nothing = subprocess.DEVNULL
        sender = subprocess.Popen(  # noqa: S603
            command, env=environ, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
        )
        # It leaves a child behind and ends, so that it is no child of the program's.
        threading.Thread(target=self._follow, args=(sender,), name="phaseprof sender", daemon=True).start()

    def _follow(self, sender: subprocess.Popen[bytes]) -> None:
        sender.wait()
        while self.folder.exists() and not (self.folder / _CLOSED).exists():
            if why := self._why_failed():
                self._warn(f"{why}; it is tried again, and stays in {self.folder} until then")
                return
            time.sleep(_ASK_EVERY_S)

    def _why_failed(self) -> str:
        try:
            return (self.folder / _FAILED).read_text(encoding="utf-8")
        except OSError:
            return ""

    def end(self) -> None:
        """Say that the last record is written, and wait a little until it is sent, or cannot be."""
        if not self._has_begun:
            return
        with contextlib.suppress(OSError):
            (self.folder / _FAILED).unlink()
        with contextlib.suppress(OSError):
            (self.folder / _CLOSED).touch()
        until = time.monotonic() + WAIT_S
        while self.folder.exists() and not self._why_failed() and time.monotonic() < until:
            time.sleep(_LOOK_EVERY_S)
        if self.folder.exists():
            why = self._why_failed() or f"the recording is not sent to {self._address} yet"
            self._warn(f"{why}; it is in {self.folder}, and is tried again for a minute")


def send_until_closed(folder: Path, address: str, pid: int, *, tried_s: float = _TRIED_S) -> None:
    """Send what is written to a folder until the program has closed its recording or has ended; then remove it.

    What cannot be sent is tried again; when that fails until some time after the end, it stays where it is.  A file
    beside it says why, which the program tells as long as it runs.

    Args:
        folder: where the recording is written.
        address: where the run's folder is to be.
        pid: of the process that writes.
        tried_s: for how long sending is tried after the end.
    """
    sent: dict[str, int] = {}
    began = _beginning(pid)
    while True:
        is_over = (folder / _CLOSED).exists() or not began or _beginning(pid) != began
        error = _send_all(folder, address, sent, is_over=is_over)
        if error:
            _leave(folder / _FAILED, f"the recording cannot be sent to {address}: {error}")
        if is_over:
            break
        _wait(folder, pid, began)
    until = time.monotonic() + tried_s
    while error and time.monotonic() < until:
        time.sleep(1.0)
        error = _send_all(folder, address, sent, is_over=True)
    if not error:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(folder: Path, pid: int, began: str) -> None:
    until = time.monotonic() + _EVERY_S
    while time.monotonic() < until and not (folder / _CLOSED).exists() and _beginning(pid) == began:
        time.sleep(_LOOK_EVERY_S)


def _send_all(folder: Path, address: str, sent: dict[str, int], *, is_over: bool) -> str:
    """Send each part that has grown, and remove those that grow no more; return why not, or an empty text."""
    parts = sorted(folder.glob("*.jsonl"), key=_number)
    for part in parts:
        try:
            data = part.read_bytes()
            data = data[: data.rfind(b"\n") + 1]
            if len(data) > sent.get(part.name, 0):
                _send(data, f"{address.rstrip('/')}/{part.name}")
                sent[part.name] = len(data)
            if part != parts[-1] or is_over:
                part.unlink()
        except Exception as error:  # noqa: BLE001 - file systems raise errors of many packages
            return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
    return ""


def _number(part: Path) -> tuple[int, str]:
    """The files of a recording in the order in which they were begun."""
    number = part.stem.rpartition(".")[2]
    return (int(number) if number.isdecimal() else 0, part.name)


def _send(data: bytes, address: str) -> None:
    system, where = open_address(address)
    # Those above it are not made, since a bucket would be one of them, of whatever name was mistyped.
    with contextlib.suppress(Exception):
        system.mkdir(system._parent(where), create_parents=False)
    system.pipe_file(where, data)


def _beginning(pid: int) -> str:
    """Return when a process began, as the system counts; empty once it has ended."""
    try:
        fields: Any = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return "" if fields[0] == b"Z" else str(fields[19])
    except (OSError, IndexError) as error:
        raise_the_programs(error)
    try:
        os.kill(pid, 0)
    except OSError as error:
        raise_the_programs(error)
        return ""
    return "running" if not Path("/proc/self/stat").exists() else ""


def _leave(file: Path, text: str) -> None:
    """Write a file whole, or not at all."""
    with contextlib.suppress(OSError):
        part = file.with_name(f"{file.name}.part")
        part.write_text(text, encoding="utf-8", errors="replace")
        part.replace(file)


def main() -> None:
    """Leave the program that started this process, and send."""
    folder, address, pid = sys.argv[1:]
    if hasattr(os, "fork") and os.fork():
        os._exit(0)
    send_until_closed(Path(folder), address, int(pid))


if __name__ == "__main__":
    main()
