"""What workers allocate once they are there, and nothing that they came with."""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from in_child import run_in_child, waiting_children

from phaseprof.probes.child_growth import ChildGrowthProbe
from phaseprof.units import MIB

SIZE = 24 * MIB
# Allocates, says so, and waits until it may go on.
WORKER = f"""
import sys
print(flush=True)
sys.stdin.readline()
kept = bytearray(b"x") * {SIZE}
print(flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def worker() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.communicate()


def go_on(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"\n")
    process.stdin.flush()
    process.stdout.readline()


def test_without_children_nothing_has_grown() -> None:
    assert run_in_child(lambda: ChildGrowthProbe().read()) == {
        "children": 0, "children_grown_bytes": 0, "children_faulted_bytes": 0,
    }  # fmt: skip


def test_children_are_counted_at_each_reading() -> None:
    probe = ChildGrowthProbe()
    counts = []
    with contextlib.ExitStack() as stack:
        for _ in range(6):
            counts.append(probe.read()["children"])
            stack.enter_context(waiting_children(1, lambda: None))

    assert [count - counts[0] for count in counts] == [0, 1, 2, 3, 4, 5]


def test_what_a_worker_allocates_is_its_growth(worker: subprocess.Popen[bytes]) -> None:
    probe = ChildGrowthProbe()
    before = probe.read()

    go_on(worker)

    after = probe.read()
    assert after["children_grown_bytes"] - before["children_grown_bytes"] == pytest.approx(SIZE, abs=MIB)
    # A large page is touched at once.
    assert MIB <= after["children_faulted_bytes"] - before["children_faulted_bytes"] <= SIZE + 8 * MIB


def test_what_a_forked_child_came_with_is_none() -> None:
    block = bytearray(b"x") * SIZE

    def write() -> bytearray:
        block[::4096] = bytes(len(block[::4096]))
        return block

    probe = ChildGrowthProbe()
    before = probe.read()["children_grown_bytes"]
    with waiting_children(1, write):
        during = [probe.read()["children_grown_bytes"] for _ in range(6)]

    assert max(during) - before < MIB


def test_pages_that_a_worker_makes_its_own_are_touched() -> None:
    with mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as block:
        block.write(bytes(SIZE))
        start, done = os.pipe(), os.pipe()

        def write_when_told() -> None:
            os.read(start[0], 1)
            for page in range(0, SIZE, mmap.PAGESIZE):
                block[page] = 1
            os.write(done[1], b"x")

        pid = os.fork()
        if pid == 0:
            write_when_told()
            signal.pause()
        try:
            probe = ChildGrowthProbe()
            before = probe.read()["children_faulted_bytes"]
            os.write(start[1], b"x")
            os.read(done[0], 1)
            after = probe.read()["children_faulted_bytes"]
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            for end in (*start, *done):
                os.close(end)

    # What the child's own code touches besides grows with the heap that it has from this process.
    assert SIZE <= after - before <= SIZE + 16 * MIB


def test_of_a_worker_that_ended_nothing_is_left(worker: subprocess.Popen[bytes]) -> None:
    probe = ChildGrowthProbe()
    before = probe.read()["children_grown_bytes"]
    go_on(worker)
    worker.communicate()

    assert probe.read()["children_grown_bytes"] - before < MIB


def test_other_programs_are_no_workers() -> None:
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        other.stdin.write(b"it runs\n")
        other.stdin.flush()
        other.stdout.readline()
        probe = ChildGrowthProbe()
        before = probe.read()["children_grown_bytes"]
        other.stdin.write(b"x" * (1 << 15) + b"\n")
        other.stdin.flush()
        other.stdout.readline()
        grown = probe.read()["children_grown_bytes"] - before
        other.communicate()

    assert grown == 0
