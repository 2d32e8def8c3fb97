"""The C heap: what is in use, and what is only kept."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from phaseprof.probes.malloc import MallocProbe
from phaseprof.units import GIB, MIB

BLOCK = 8192
COUNT = 4000
TOTAL = BLOCK * COUNT
PIN_EVERY = 40
SLACK = 3 * MIB


@pytest.fixture(scope="module")
def libc() -> ctypes.CDLL:
    library = ctypes.CDLL(None)
    library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    library.free.argtypes = [ctypes.c_void_p]
    return library


@pytest.fixture
def probe() -> Iterator[MallocProbe]:
    opened = MallocProbe()
    yield opened
    opened.close()


def test_blocks_in_use_show_as_in_use(probe: MallocProbe, libc: ctypes.CDLL) -> None:
    before = probe.read()
    blocks = [libc.malloc(BLOCK) for _ in range(COUNT)]
    during = probe.read()
    for block in blocks:
        libc.free(block)

    assert during["malloc_in_use_bytes"] - before["malloc_in_use_bytes"] == pytest.approx(TOTAL, abs=SLACK)


def test_retention_shows_as_free_and_not_as_in_use(probe: MallocProbe, libc: ctypes.CDLL) -> None:
    blocks = [libc.malloc(BLOCK) for _ in range(COUNT)]
    # What lies above the last block in use goes back to the system; pins all the way up leave little of that.
    pins, freed = blocks[::PIN_EVERY], [block for at, block in enumerate(blocks) if at % PIN_EVERY]
    during = probe.read()
    for block in freed:
        libc.free(block)
    after = probe.read()
    for pin in pins:
        libc.free(pin)

    kept = BLOCK * len(freed)
    assert during["malloc_in_use_bytes"] - after["malloc_in_use_bytes"] == pytest.approx(kept, abs=SLACK)
    assert after["malloc_free_bytes"] - during["malloc_free_bytes"] == pytest.approx(kept, abs=SLACK)
    assert after["malloc_arenas_bytes"] == pytest.approx(during["malloc_arenas_bytes"], abs=SLACK)


def test_blocks_of_another_threads_arena_are_counted(probe: MallocProbe, libc: ctypes.CDLL) -> None:
    blocks: list[int] = []
    before = probe.read()["malloc_in_use_bytes"]

    thread = threading.Thread(target=lambda: blocks.extend(libc.malloc(BLOCK) for _ in range(COUNT)))
    thread.start()
    thread.join()
    during = probe.read()["malloc_in_use_bytes"]
    for block in blocks:
        libc.free(block)

    assert during - before == pytest.approx(TOTAL, abs=SLACK)


def test_counts_do_not_wrap_at_four_gib(probe: MallocProbe, libc: ctypes.CDLL) -> None:
    before = probe.read()["malloc_in_use_bytes"]

    block = libc.malloc(6 * GIB)  # never touched, so it takes addresses and no memory
    during = probe.read()["malloc_in_use_bytes"]
    libc.free(block)

    assert during - before == pytest.approx(6 * GIB, abs=SLACK)


def test_the_arenas_hold_what_is_used_and_free_in_them(probe: MallocProbe) -> None:
    figures = probe.read()

    assert figures["malloc_free_bytes"] <= figures["malloc_arenas_bytes"]


def test_python_blocks_follow_small_objects(probe: MallocProbe) -> None:
    before = probe.read()["python_blocks"]
    kept = [object() for _ in range(10_000)]
    during = probe.read()["python_blocks"]
    del kept

    assert during - before == pytest.approx(10_000, abs=500)


def test_python_blocks_are_absent_where_its_allocator_is_off() -> None:
    program = "from phaseprof.probes.malloc import MallocProbe; print(sorted(MallocProbe().read()))"

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"PYTHONMALLOC": "malloc"}
    )

    assert done.stdout.strip() == "['malloc_arenas_bytes', 'malloc_free_bytes', 'malloc_in_use_bytes']"
