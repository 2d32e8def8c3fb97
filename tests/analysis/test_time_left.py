"""How long until memory ends."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from phaseprof.analysis.limits import Horizon
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun

SECOND = 10**9


def run_of(seconds: Sequence[float], *, left: float | None = None, items: float = -1.0) -> ProcessRun:
    process = ProcessRun()
    for g, took in enumerate(seconds):
        process.add(fmt.GenerationBegin(g, g))
        process.add(fmt.GenerationEnd(g, g, took, items))
        if left is not None:
            process.add(fmt.Metrics(g, g, {"available_bytes": left}))
    return process


def test_what_is_left_by_the_rate_by_the_time_of_a_generation() -> None:
    horizon = Horizon(run_of([10.0] * 5, left=1e9))

    assert horizon.seconds_left(1e6) == pytest.approx(10_000)


def test_the_median_generation_counts() -> None:
    assert Horizon(run_of([10.0, 10.0, 500.0], left=1e9)).generation_s == 10.0


def test_only_the_newest_fifty_generations_count() -> None:
    assert Horizon(run_of([100.0] * 60 + [1.0] * 50, left=1e9)).generation_s == 1.0


def test_the_newest_reading_of_what_is_left_counts() -> None:
    process = run_of([10.0] * 3, left=1e9)
    process.add(fmt.Metrics(3, 3, {"available_bytes": 5e8}))

    assert Horizon(process).seconds_left(1e6) == pytest.approx(5_000)


@pytest.mark.parametrize("rate", [0.0, -1e6])
def test_without_growth_memory_never_ends(rate: float) -> None:
    assert Horizon(run_of([10.0], left=1e9)).seconds_left(rate) is None


def test_an_unknown_limit_or_time_gives_no_answer() -> None:
    assert Horizon(run_of([10.0])).seconds_left(1e6) is None
    assert Horizon(ProcessRun()).seconds_left(1e6) is None


def test_without_declared_generations_the_recordings_own_time_counts() -> None:
    process = ProcessRun()
    process.add(fmt.Header(1, "0", 1, 0.0, 50 * SECOND, 4096))
    for g in range(11):
        process.add(fmt.Metrics(50 * SECOND + g * 4 * SECOND, g, {"available_bytes": 1e9}))

    assert Horizon(process).generation_s == pytest.approx(4.0)


def test_one_turn_alone_implies_no_time() -> None:
    process = ProcessRun()
    process.add(fmt.Header(1, "0", 1, 0.0, 0, 4096))
    process.add(fmt.Metrics(SECOND, 0, {"available_bytes": 1e9}))

    assert Horizon(process).generation_s is None


@pytest.mark.parametrize(("rate", "is_material"), [(2010.0, True), (1990.0, False)])
def test_a_leak_matters_if_it_takes_a_five_thousandth_of_what_is_left_in_an_hour(
    rate: float, is_material: bool
) -> None:
    horizon = Horizon(run_of([36.0] * 5, left=1e9))  # a hundred generations an hour

    assert horizon.is_material(rate) is is_material


def test_what_is_unknown_is_material() -> None:
    assert Horizon(ProcessRun()).is_material(1.0)


# --- whether it is felt -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seconds", "rate", "is_felt"), [(0.02, 6e3, True), (3600.0, 6e3, False), (3600.0, 1e9, True)])
def test_what_a_generation_lasts_does_not_matter(seconds: float, rate: float, is_felt: bool) -> None:
    """Bytes an hour against what is left, and 9 MB so far or more."""
    horizon = Horizon(run_of([seconds] * 1500, left=64e9))

    assert horizon.is_felt(rate, 0) is is_felt


@pytest.mark.parametrize(("since", "is_felt"), [(0, True), (1400, False)])
def test_it_must_have_come_to_something(since: int, is_felt: bool) -> None:
    assert Horizon(run_of([0.01] * 1500, left=64e9)).is_felt(1000.0, since) is is_felt


@pytest.mark.parametrize(("n_metrics", "is_felt"), [(10, True), (1000, False)])
def test_what_the_recording_keeps_is_nobodys(n_metrics: int, is_felt: bool) -> None:
    process = run_of([0.01] * 300, left=64e9)
    for g in range(300):
        process.add(fmt.Metrics(g, g, {f"loss {n}": 1.0 for n in range(n_metrics)}))

    assert Horizon(process).is_felt(2e4, 0, metric="malloc_in_use_bytes") is is_felt
