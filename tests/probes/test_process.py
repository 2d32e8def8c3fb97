"""Memory of the process: what a leak moves, and what only looks like one."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import pytest
from in_child import run_in_child

from phaseprof.errors import ProbeUnavailable
from phaseprof.probes.process import PsutilProcessProbe, StatmProbe, open_process_probe, parse_statm
from phaseprof.units import MIB

PAGE = os.sysconf("SC_PAGE_SIZE")
SIZE = 32 * MIB
SLACK = 3 * MIB


@pytest.fixture
def probe():
    opened = StatmProbe()
    yield opened
    opened.close()


def moved(before, after) -> dict[str, int]:
    return {metric: after[metric] - before[metric] for metric in after}


def test_statm_is_parsed_page_by_page() -> None:
    assert parse_statm(b"1000 300 120 1 0 400 0\n") == {
        "rss_bytes": 300 * PAGE,
        "anonymous_bytes": 180 * PAGE,
        "file_and_shm_bytes": 120 * PAGE,
        "vms_bytes": 1000 * PAGE,
    }


@pytest.mark.parametrize("text", [b"", b"12 13", b"hello world again", b"\x00\xff\xfe"])
def test_what_is_no_statm_is_refused(text: bytes) -> None:
    with pytest.raises(ProbeUnavailable, match="statm"):
        parse_statm(text)


def test_raw_reading_parses_to_the_same_metrics(probe: StatmProbe) -> None:
    assert set(parse_statm(probe.read_raw())) == set(probe.read())


def test_a_private_allocation_moves_anonymous_bytes(probe: StatmProbe) -> None:
    text = b"x" * SIZE
    before = probe.read()
    with mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as block:
        block.write(text)
        change = moved(before, probe.read())

    assert change["anonymous_bytes"] == pytest.approx(SIZE, abs=SLACK)
    assert abs(change["file_and_shm_bytes"]) < SLACK


def test_a_mapped_file_does_not_move_anonymous_bytes(probe: StatmProbe, tmp_path: Path) -> None:
    path = tmp_path / "data.bin"
    with path.open("wb") as file:
        for _ in range(SIZE // MIB):
            file.write(b"x" * MIB)

    before = probe.read()
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as block:
        assert sum(block[::PAGE]) == ord("x") * SIZE // PAGE
        change = moved(before, probe.read())

    assert change["file_and_shm_bytes"] == pytest.approx(SIZE, abs=SLACK)
    assert abs(change["anonymous_bytes"]) < SLACK


def test_shared_pages_do_not_move_anonymous_bytes(probe: StatmProbe) -> None:
    before = probe.read()
    with mmap.mmap(-1, SIZE) as block:
        block.write(b"x" * SIZE)
        change = moved(before, probe.read())

    assert change["file_and_shm_bytes"] == pytest.approx(SIZE, abs=SLACK)
    assert abs(change["anonymous_bytes"]) < SLACK


@pytest.mark.parametrize("kind", [StatmProbe, PsutilProcessProbe])
def test_a_forked_child_reads_itself(kind: type[StatmProbe]) -> None:
    probe = kind()

    def grow_in_child() -> int:
        before = probe.read()["anonymous_bytes"]
        with mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as block:
            block.write(b"x" * SIZE)
            return probe.read()["anonymous_bytes"] - before

    try:
        assert run_in_child(grow_in_child) == pytest.approx(SIZE, abs=SLACK)
    finally:
        probe.close()


def test_a_child_that_was_reopened_by_hand_reads_itself(probe: StatmProbe) -> None:
    def reopen_and_read() -> list[int]:
        probe.reopen()
        raw = probe.read_raw()
        with open("/proc/self/statm", "rb") as own:
            return [int(raw.split()[0]), int(own.read().split()[0])]

    through_probe, directly = run_in_child(reopen_and_read)  # type: ignore[misc]

    assert abs(through_probe - directly) < MIB // PAGE


def test_psutil_gives_the_same_figures() -> None:
    statm, psutil = StatmProbe(), PsutilProcessProbe()

    ours, theirs = statm.read(), psutil.read()
    statm.close()

    assert set(ours) == set(theirs)
    for metric in ours:
        assert ours[metric] == pytest.approx(theirs[metric], abs=2 * MIB), metric


def test_the_fast_probe_is_chosen_where_it_works() -> None:
    probe = open_process_probe()

    assert isinstance(probe, StatmProbe)
    probe.close()
