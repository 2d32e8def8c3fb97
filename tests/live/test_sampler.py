"""The sampling thread: what it reads, what it costs, when it is there and when it is not."""

from __future__ import annotations

import gc
import json
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from phaseprof import Profiler
from phaseprof.live.budget import Budget
from phaseprof.live.recorder import Recorder
from phaseprof.live.sampler import MAX_KEPT, SHOWN, THREAD_NAME, Sampler
from phaseprof.live.settings import Settings
from phaseprof.recording.reader import load_run

NEVER_S = 3600.0  # the thread waits longer than any test, so that samples are those that the test takes


class Clock:
    """Nanoseconds that pass only when the test says so."""

    def __init__(self, per_reading_ns: int = 0) -> None:
        self.now_ns = 0
        self.per_reading_ns = per_reading_ns

    def __call__(self) -> int:
        self.now_ns += self.per_reading_ns
        return self.now_ns


def make_sampler(share: float | None = None, clock: Clock | None = None, every_s: float = NEVER_S) -> Sampler:
    clock = clock or Clock()
    return Sampler(Recorder(Settings(), clock, pytest.fail), Budget(share, clock), every_s)


@pytest.fixture
def sampler() -> Iterator[Sampler]:
    made = make_sampler()
    yield made
    made.close()


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == THREAD_NAME]


def wait_for(condition: Callable[[], object]) -> None:
    """Wait until something that a thread does has happened."""
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it did not happen within 20 s"
        threading.Event().wait(0.002)


def test_there_is_no_thread_unless_an_interval_is_given() -> None:
    profiler = Profiler(None, sample_every_s=None)

    try:
        assert threads() == []
    finally:
        profiler.close()


def test_the_thread_is_named_and_ends_with_the_profiler() -> None:
    profiler = Profiler(None, sample_every_s=NEVER_S)
    assert [thread.daemon for thread in threads()] == [True]

    profiler.close()

    assert threads() == []


def test_a_disabled_profiler_has_no_thread() -> None:
    profiler = Profiler(None, sample_every_s=NEVER_S, enabled=False)

    try:
        assert threads() == []
    finally:
        profiler.close()


def test_the_thread_ends_when_its_sampler_is_dropped() -> None:
    sampler = make_sampler(every_s=0.001)
    held = weakref.ref(sampler)

    del sampler

    gc.collect()
    wait_for(lambda: held() is None and threads() == [])


def test_configuring_anew_starts_another_thread_in_place_of_the_first() -> None:
    profiler = Profiler(None, sample_every_s=NEVER_S)
    (first,) = threads()

    profiler.reconfigure(sample_every_s=NEVER_S)

    (second,) = threads()
    profiler.close()
    assert first is not second


def test_the_thread_takes_samples_by_itself(tmp_path: Path) -> None:
    profiler = Profiler(str(tmp_path), sample_every_s=0.001)
    wait_for(lambda: next(iter(tmp_path.glob("*.jsonl"))).read_text().count('"k":"p"') >= 3)

    profiler.close()

    assert load_run(tmp_path).main.series["sample", "rss_bytes"].last > 1_000_000


def test_the_peak_of_a_phase_is_its_largest_sample(sampler: Sampler) -> None:
    sampler.opened("train")
    ballast = b"x" * 64_000_000
    sampler.sample()
    del ballast
    sampler.sample()
    sampler.closed("train")
    sampler.opened("evaluate")
    sampler.sample()

    peaks = sampler.take_peaks()

    assert set(peaks) == {"peak/train_bytes", "peak/evaluate_bytes"}
    assert peaks["peak/train_bytes"] - peaks["peak/evaluate_bytes"] > 50_000_000


def test_peaks_begin_anew_when_they_are_taken(sampler: Sampler) -> None:
    sampler.opened("train")
    sampler.sample()
    sampler.take_peaks()

    assert sampler.take_peaks() == {}


def test_a_phase_that_is_open_twice_is_open_until_both_end(sampler: Sampler) -> None:
    for act in (sampler.opened, sampler.opened, sampler.closed):
        act("train")
    sampler.sample()
    first = sampler.take_peaks()
    sampler.closed("train")
    sampler.sample()

    assert (list(first), sampler.take_peaks()) == (["peak/train_bytes"], {})


def test_the_end_of_a_phase_that_was_not_seen_to_begin_is_ignored(sampler: Sampler) -> None:
    sampler.closed("train")
    sampler.sample()

    assert sampler.take_peaks() == {}


def test_peaks_are_recorded_at_the_end_of_a_generation(tmp_path: Path) -> None:
    profiler = Profiler(str(tmp_path), budget=None, sample_every_s=0.001)

    def n_samples() -> int:
        with profiler.phase("a boundary, which takes over what was sampled"):
            lines = [json.loads(line) for line in next(iter(tmp_path.glob("*.jsonl"))).read_text().splitlines()]
        label = next(line["id"] for line in lines if line.get("role") == "sample")
        return sum(line["k"] == "p" and line["a"] == label for line in lines)

    with profiler.generation(0), profiler.phase("train"):
        before = n_samples()
        wait_for(lambda: n_samples() > before)

    profiler.close()

    process = load_run(tmp_path).main
    peak = process.series["generation end", "peak/train_bytes"].last
    assert peak == pytest.approx(process.series["after train", "rss_bytes"].last, rel=0.5)


def test_sampling_stretches_its_interval_to_keep_within_the_budget() -> None:
    dear = make_sampler(share=0.02, clock=Clock(per_reading_ns=1_000_000), every_s=0.01)
    free = make_sampler(share=None, clock=Clock(per_reading_ns=1_000_000), every_s=NEVER_S)

    try:
        assert free.sample() == NEVER_S
        assert dear.sample() >= 0.001 / (0.02 * 0.25)
    finally:
        dear.close()
        free.close()


def test_the_curve_is_bounded_and_reaches_from_first_to_last() -> None:
    clock = Clock()
    sampler = make_sampler(clock=clock)
    try:
        for second in range(10 * MAX_KEPT):
            clock.now_ns = second * 1_000_000_000
            sampler.sample()
        curve = sampler.take_curve()
    finally:
        sampler.close()

    labels = [float(snapshot.label.split()[1]) for snapshot in curve]
    assert len(curve) <= SHOWN + 1
    assert labels[0] == 0
    assert labels[-1] >= 10 * MAX_KEPT * 0.9
    assert labels == sorted(labels)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_no_thread_and_records_on(tmp_path: Path) -> None:
    profiler = Profiler(str(tmp_path), budget=None, sample_every_s=NEVER_S)
    with profiler.phase("before"):
        pass

    child = os.fork()
    if child == 0:
        status = 1
        try:
            with profiler.generation(0), profiler.phase("in the child"):
                pass
            profiler.close()
            status = len(threads())
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    profiler.close()

    assert os.waitstatus_to_exitcode(status) == 0
    assert sorted(name for p in load_run(tmp_path).processes for name in p.phases) == ["before", "in the child"]
