"""Shared segments: those mapped here, and those that somebody forgot."""

from __future__ import annotations

import mmap
from multiprocessing import shared_memory
from pathlib import Path

import pytest

from phaseprof.probes.shared_memory import (
    Segment,
    SharedMemoryProbe,
    SharedPagesProbe,
    describe_segments,
    parse_segments,
)
from phaseprof.units import MIB

MAPS = b"""\
55d0a0000000-55d0a0100000 r-xp 00000000 08:01 77 /usr/bin/python3.11
7f0000000000-7f0000100000 rw-s 00000000 00:1b 12 /dev/shm/psm_1a2b
7f0000200000-7f0000300000 rw-s 00100000 00:1b 12 /dev/shm/psm_1a2b
7f0000400000-7f0000500000 rw-s 00000000 00:1b 13 /dev/shm/torch_1 (deleted)
7f0000600000-7f0000700000 rw-p 00000000 00:1b 14 /dev/shm/private_copy
7f0000800000-7f0000900000 rw-s 00000000 00:01 15 /dev/zero (deleted)
7f0000a00000-7f0000b00000 rw-s 00000000 00:01 16 /memfd:ring (deleted)
7f0000c00000-7f0000d00000 rw-s 00000000 08:01 17 /home/u/dev/shm/data.bin
7f0000e00000-7f0000f00000 rw-p 00000000 00:00 0
"""


def test_a_segment_mapped_in_two_parts_counts_once_to_its_furthest_byte() -> None:
    assert parse_segments(MAPS)[0] == Segment("/dev/shm/psm_1a2b", 2 * MIB)


def test_only_shared_mappings_of_memory_are_segments() -> None:
    assert [segment.name for segment in parse_segments(MAPS)] == [
        "/dev/shm/psm_1a2b", "/dev/shm/torch_1 (deleted)", "/dev/zero (deleted)", "/memfd:ring (deleted)",
    ]  # fmt: skip


def test_an_address_space_without_segments_has_none() -> None:
    assert parse_segments(MAPS.splitlines(keepends=True)[0]) == ()


@pytest.fixture
def segment():
    block = shared_memory.SharedMemory(create=True, size=4 * MIB)
    yield block
    block.close()
    block.unlink()


def test_a_mapped_segment_raises_count_bytes_and_regions() -> None:
    probe = SharedMemoryProbe()
    before = probe.read()

    with mmap.mmap(-1, 4 * MIB):
        during = probe.read()

    assert during["shm_segments"] - before["shm_segments"] == 1
    assert during["shm_bytes"] - before["shm_bytes"] == 4 * MIB
    assert during["mapped_regions"] > before["mapped_regions"]


def test_only_touched_pages_are_resident(segment: shared_memory.SharedMemory) -> None:
    probe = SharedPagesProbe()
    before = probe.read()["shm_resident_bytes"]

    segment.buf[: MIB] = b"x" * MIB

    assert probe.read()["shm_resident_bytes"] - before == pytest.approx(MIB, abs=MIB // 4)


def test_the_largest_segment_is_described_first(segment: shared_memory.SharedMemory) -> None:
    with mmap.mmap(-1, 8 * MIB):
        described = describe_segments()

    assert described[0].mapped_bytes == 8 * MIB
    assert f"/dev/shm/{segment.name}" in [found.name for found in described]


def test_a_segment_closed_but_not_unlinked_is_still_seen() -> None:
    probe = SharedPagesProbe()
    before = probe.read()
    block = shared_memory.SharedMemory(create=True, size=MIB)
    block.buf[:] = b"x" * MIB

    block.close()
    after = probe.read()
    block.unlink()

    assert after["shm_resident_bytes"] == pytest.approx(before["shm_resident_bytes"], abs=MIB // 4)
    assert after["shm_user_segments"] - before["shm_user_segments"] == 1
    assert after["shm_user_bytes"] - before["shm_user_bytes"] == MIB
    assert not Path("/dev/shm", block.name).exists()
