"""The ring that a thread without the interpreter's lock fills with readings."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import pytest

from phaseprof.native.extension import Samples, make_samples, passes_in_python
from phaseprof.probes.process import parse_statm

MS, LONG_NS = 1_000_000, 3_600_000_000_000


@pytest.fixture
def statm() -> Iterator[int]:
    fd = os.open("/proc/self/statm", os.O_RDONLY)
    yield fd
    os.close(fd)


@pytest.fixture
def samples(statm: int) -> Samples:
    made = make_samples(statm)
    if made is None:
        pytest.skip("the extension is not there")
    return made


def test_samples_bear_the_clock_of_records_and_come_oldest_first(samples: Samples) -> None:
    began = time.perf_counter_ns()

    assert samples.gather(MS, 5 * MS)

    taken = samples.take()
    clocks = [began, *(clock for clock, _ in taken), time.perf_counter_ns()]
    assert clocks == sorted(clocks)
    assert all(parse_statm(text)["rss_bytes"] > 1_000_000 for _, text in taken)


def test_what_was_taken_is_not_taken_again(samples: Samples) -> None:
    samples.gather(MS, 0)
    assert samples.is_waiting
    samples.take()

    assert (samples.is_waiting, samples.take()) == (False, [])


def test_it_comes_back_before_the_ring_is_full_however_long_it_may_hold(samples: Samples) -> None:
    assert samples.gather(MS // 100, LONG_NS)

    assert len(samples.take()) == 64


def test_samples_can_be_taken_while_it_gathers(samples: Samples) -> None:
    thread = threading.Thread(target=samples.gather, args=(10 * MS, LONG_NS), daemon=True)
    thread.start()
    until = time.monotonic() + 20
    taken: list[tuple[int, bytes]] = []
    while len(taken) < 3 and time.monotonic() < until:
        taken += samples.take()
        threading.Event().wait(0.002)
    was_gathering = thread.is_alive()
    samples.stop()
    thread.join(20)

    assert was_gathering
    assert [clock for clock, _ in taken] == sorted(clock for clock, _ in taken)


def test_once_stopped_it_comes_back_and_samples_no_more(samples: Samples) -> None:
    samples.stop()

    assert not samples.gather(LONG_NS, LONG_NS)
    assert not samples.is_waiting


def test_a_file_that_cannot_be_read_is_an_error() -> None:
    reading, writing = os.pipe()
    samples = make_samples(reading)
    os.close(reading)
    os.close(writing)
    if samples is None:
        pytest.skip("the extension is not there")

    with pytest.raises(OSError, match=r"Bad file descriptor|Illegal seek"):
        samples.gather(MS, 0)


def test_there_are_none_where_everything_runs_in_python(statm: int) -> None:
    with passes_in_python():
        assert make_samples(statm) is None
