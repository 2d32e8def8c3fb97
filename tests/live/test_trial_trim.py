"""A trim at the end of a run tells freed memory that is pinned from what malloc would give back."""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Iterator

import pytest

from phaseprof.errors import ProbeUnavailable
from phaseprof.live.closing import ClosingLook
from phaseprof.live.trial_trim import GIVEN_BACK, TRIED_BYTES, try_trim
from phaseprof.probes.malloc import MallocProbe
from phaseprof.recording.series import Series
from phaseprof.units import MIB

BLOCK, COUNT = 60_000, 1300


@pytest.fixture
def malloc() -> Iterator[MallocProbe]:
    try:
        probe = MallocProbe()
    except ProbeUnavailable as error:
        pytest.skip(str(error))
    yield probe
    probe.close()


@pytest.fixture
def holes() -> Iterator[int]:
    """Every other of many blocks is free, each between two that stay; yields their bytes."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = (
        ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p],
    )  # fmt: skip
    blocks = [libc.malloc(BLOCK) for _ in range(COUNT)]
    for block in blocks:
        ctypes.memset(block, 1, BLOCK)
    for block in blocks[::2]:
        libc.free(block)
    yield BLOCK * len(blocks[::2])
    for block in blocks[1::2]:
        libc.free(block)


def free_bytes(*values: float) -> Series:
    series = Series()
    series.extend(list(range(len(values))), list(values))
    return series


def look(limit_s: float = math.inf) -> ClosingLook:
    return ClosingLook(limit_s, time.thread_time_ns)


def test_pages_between_what_stays_are_given_back(malloc: MallocProbe, holes: int) -> None:
    tried = try_trim([malloc], free_bytes(0, holes), look())

    assert holes / 2 < tried[GIVEN_BACK] < 2 * holes


@pytest.mark.parametrize("kept", [None, free_bytes(5 * MIB, TRIED_BYTES)])
def test_nothing_is_tried_where_little_is_kept(malloc: MallocProbe, kept: Series | None) -> None:
    assert try_trim([malloc], kept, look()) == {}


def test_nothing_is_tried_without_time_for_it(malloc: MallocProbe) -> None:
    hasty = look(1e-6)

    assert try_trim([malloc], free_bytes(0, 1e12), hasty) == {}
    assert "trial trim" in hasty.describe_left()
