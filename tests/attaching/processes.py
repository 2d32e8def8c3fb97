"""Starts programs as processes of their own, and attaches to them."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import phaseprof
from phaseprof.attaching.inject import _CANNOT_WRITE, _WRITES

SOURCE = str(Path(phaseprof.__file__).parent.parent)
DEADLINE_S = 90.0
# Generations that a verdict surely can be based on.
ENOUGH = 16


def can_attach() -> bool:
    """Whether a process of ours can be attached to here at all."""
    if hasattr(sys, "remote_exec"):
        return True
    if not sys.platform.startswith("linux") or shutil.which("gdb") is None:
        return False
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as one:
        gdb = ["gdb", "-nx", "-batch", "-iex", "set auto-solib-add off", "-p", str(one.pid), "-ex", _WRITES]
        said = subprocess.run(gdb, capture_output=True, text=True, timeout=60, check=False)
        one.communicate(b"\n")
    return "detached" in said.stdout and _CANNOT_WRITE not in said.stdout + said.stderr


needs_attaching = pytest.mark.skipif(not can_attach(), reason="needs Python 3.14, or gdb that may attach and writes")


@dataclass
class Running:
    """A program that runs."""

    process: subprocess.Popen[str]
    folder: Path

    def wait_for(self, name: str) -> None:
        until = time.monotonic() + DEADLINE_S
        while not (self.folder / name).exists():
            assert time.monotonic() < until and self.process.poll() is None, f"{name} never came"
            time.sleep(0.02)

    def tell(self, name: str) -> None:
        (self.folder / name).touch()

    def end(self, typed: str = "") -> str:
        """Let it end, and return what it has printed; its exit status must be 0 and its errors none."""
        self.tell("observed")
        out, errors = self.process.communicate(typed, timeout=DEADLINE_S)
        assert (self.process.returncode, errors) == (0, "")
        return out


@contextlib.contextmanager
def running(text: str, folder: Path, *arguments: str) -> Iterator[Running]:
    """Run a program without phaseprof on its path."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder.parent / "program.py"
    script.write_text(text, encoding="utf-8")
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environ["PYTHONHASHSEED"] = "0"
    if "import phaseprof" in text:
        environ["PYTHONPATH"] = SOURCE
    command = [sys.executable, "-W", "error", script.name, str(folder), *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ,
        cwd=folder.parent,
    ) as process:  # fmt: skip
        program = Running(process, folder)
        try:
            program.wait_for("ready")
            yield program
        finally:
            if process.poll() is None:
                process.kill()


def observe(program: Running, run: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Attach until so many generations have ended as a verdict needs, however long they take here; then Ctrl-C."""
    command = attach_command(program.process.pid, "--for", "1h", "--out", str(run), *options)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": SOURCE},
        preexec_fn=heed_ctrl_c,
    ) as attacher:  # fmt: skip
        until = time.monotonic() + DEADLINE_S
        while _n_generations(run) < ENOUGH and time.monotonic() < until and attacher.poll() is None:
            time.sleep(0.1)
        attacher.send_signal(signal.SIGINT)
        try:
            out, errors = attacher.communicate(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            attacher.kill()  # else the block would wait for it
            raise
    return subprocess.CompletedProcess(command, attacher.returncode, out, errors)


def heed_ctrl_c() -> None:
    """What a shell starts in the background ignores it, and so does all that this starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _n_generations(run: Path) -> int:
    return sum(file.read_text(encoding="utf-8").count('"k":"generation_end"') for file in run.glob("*.jsonl"))


def attach_command(pid: int | str, *options: str) -> list[str]:
    return [sys.executable, "-m", "phaseprof", "attach", str(pid), *options]


def attach(pid: int | str, *options: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    """Attach as the command line does, and wait for the end."""
    environ = {**os.environ, "PYTHONPATH": SOURCE}
    if path is not None:
        environ["PATH"] = path
    return subprocess.run(
        attach_command(pid, *options), capture_output=True, text=True, timeout=DEADLINE_S, env=environ, check=False
    )  # fmt: skip
