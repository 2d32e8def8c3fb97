"""A recording at an address: written here in parts, sent by a process of its own, whatever becomes of the program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import phaseprof
from phaseprof.recording.sending import send_until_closed

pytest.importorskip("fsspec")
ROOT = Path(phaseprof.__file__).parents[1]
PROGRAM = """
import os, signal, sys, phaseprof
profiler = phaseprof.Profiler(sys.argv[1], max_file_mb=0.002, budget=None)
for g in range(30):
    with profiler.generation(g), profiler.phase("collect"):
        pass
if sys.argv[2] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
profiler.close()
"""
ENDED = 1 << 30  # no process has such a number


def run(address: str, end: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder)}
    command = [sys.executable, "-c", PROGRAM, address, end]
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120, check=False)


def wait_until_sent(folder: Path) -> None:
    until = time.monotonic() + 60
    while list(folder.glob("phaseprof-*")) and time.monotonic() < until:
        time.sleep(0.02)


@pytest.mark.parametrize("end", ["closed", "killed"])
def test_every_part_arrives_and_none_stays_here(end: str, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()

    done = run(there.as_uri(), end, here)

    wait_until_sent(here)
    assert done.returncode == (0 if end == "closed" else -signal.SIGKILL), done.stderr
    assert done.stderr == ""
    assert len(list(there.glob("*.jsonl"))) > 2
    process = phaseprof.load(there.as_uri()).main
    assert len(process.generations) == 30
    assert (process.ended is not None) is (end == "closed")
    assert list(here.iterdir()) == []


def test_a_cut_line_waits_for_its_end(tmp_path: Path) -> None:
    folder, there = tmp_path / "here", tmp_path / "there"
    folder.mkdir()
    (folder / "rank0-pid7.jsonl").write_bytes(b'{"k":"header"}\n{"k":"p')

    send_until_closed(folder, there.as_uri(), ENDED)

    assert (there / "rank0-pid7.jsonl").read_bytes() == b'{"k":"header"}\n'


def test_what_cannot_be_sent_stays_and_is_said(tmp_path: Path) -> None:
    folder, file = tmp_path / "here", tmp_path / "file"
    folder.mkdir()
    file.write_text("no folder")
    (folder / "rank0-pid7.jsonl").write_bytes(b'{"k":"header"}\n')

    send_until_closed(folder, f"{file.as_uri()}/run", ENDED, tried_s=0.0)

    assert "cannot be sent" in (folder / "failed").read_text()
    assert (folder / "rank0-pid7.jsonl").exists()


@pytest.mark.parametrize("end", ["closed", "killed"])
@pytest.mark.parametrize("address", ["nosuch://host/run", "ftp://127.0.0.1:1/run"])
def test_an_address_that_cannot_be_reached_keeps_nobody_waiting(end: str, address: str, tmp_path: Path) -> None:
    """Whoever reads the program's streams waits until nobody else has them."""
    began = time.monotonic()

    done = run(address, end, tmp_path)

    assert time.monotonic() - began < 20  # ten of them the program may wait for its last part
    (kept,) = tmp_path.glob("phaseprof-*")
    assert len(list(kept.glob("*.jsonl"))) > 2
    if end == "closed":
        assert done.returncode == 0
        assert done.stderr.count("cannot be sent to") in (1, 2)
        assert str(kept) in done.stderr
