"""Generations that take longer and longer: what is a slowdown, where the time goes, and what is chance."""

from __future__ import annotations

import random

import pytest

from phaseprof.analysis.findings import find_leaks
from phaseprof.analysis.throughput import find_slowdown
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.records import Evidence, Finding

SECOND = 10**9


def run_of(seconds: list[float], *, items: float = -1.0, phases: dict[str, list[float]] | None = None) -> ProcessRun:
    """A run whose generations take so long, with phases that take their part of each."""
    process = ProcessRun()
    for number, name in enumerate(phases or {}):
        process.add(fmt.Label(number, name, "phase"))
    now = 0
    for g, took in enumerate(seconds):
        process.add(fmt.GenerationBegin(now, g, g + 1))
        at = now
        for number, parts in enumerate((phases or {}).values()):
            process.add(fmt.Point(at, number, fmt.ENTER, g, "100 50 10 0 0 0 0"))
            at += int(parts[g] * SECOND)
            process.add(fmt.Point(at, number, fmt.EXIT, g, "100 50 10 0 0 0 0"))
        now += int(took * SECOND)
        process.add(fmt.GenerationEnd(now, g, took, items))
    process.fold()
    return process


def noisy(n: int, start: float, step: float, noise: float, seed: int = 1) -> list[float]:
    rng = random.Random(seed)
    return [start + step * g + rng.gauss(0, noise) for g in range(n)]


def slowdown(process: ProcessRun) -> Finding | None:
    found = [f for f in find_leaks(process) if f.verdict == "slowdown"]
    assert len(found) <= 1
    return found[0] if found else None


def test_throughput_that_falls_steadily_is_a_finding_of_its_own() -> None:
    found = slowdown(run_of(noisy(30, 0.02, 0.003, 0.0005), items=5120))

    assert found is not None
    assert (found.kind, found.metric, found.slope_unit) == ("throughput", "items_per_s", "items_per_s/generation")
    assert found.slope < 0
    assert found.summary.startswith("Throughput fell from ")
    assert found.since_generation is not None


def test_seconds_are_judged_where_no_items_were_said() -> None:
    found = slowdown(run_of(noisy(30, 1.0, 0.05, 0.01)))

    assert found is not None
    assert found.metric == "generation_seconds"
    assert found.summary.startswith("Generations take longer and longer: ")


@pytest.mark.parametrize("seed", range(20))
def test_noise_is_no_slowdown(seed: int) -> None:
    assert slowdown(run_of(noisy(40, 1.0, 0.0, 0.2, seed), items=100)) is None


@pytest.mark.parametrize(
    "seconds",
    [
        [1.0 + 0.002 * g for g in range(30)],  # 6 %
        [1.0] * 15 + [2.0] * 15,  # another program was started
        [3.0, 2.0, *[1.0] * 28],  # warm-up
        [2.0 - 0.03 * g for g in range(30)],  # faster and faster
        [1.0 + 0.1 * g for g in range(8)],  # too few
    ],
    ids=["below a tenth", "a step", "warm-up", "faster", "too few"],
)
def test_what_is_no_slowdown(seconds: list[float]) -> None:
    assert slowdown(run_of(seconds)) is None


def test_time_for_which_others_had_the_processors_is_no_slowdown() -> None:
    """A program beside takes more and more of them: this one's own time is as ever."""
    waits = [0.05 * g for g in range(30)]
    busy, alone = run_of([1.0 + wait for wait in waits]), run_of([1.0 + wait for wait in waits])
    for g in range(30):
        busy.add(fmt.Metrics(g, g, {"waited_s": sum(waits[: g + 1])}, "generation end"))

    assert slowdown(busy) is None
    assert slowdown(alone) is not None


@pytest.mark.parametrize(("share_waited", "rise", "is_told"), [(0.05, 0.4, True), (0.5, 0.4, False), (0.5, 0.8, True)])
def test_on_a_crowded_machine_only_a_fall_by_a_third_is_told(share_waited: float, rise: float, is_told: bool) -> None:
    """Who shares caches and cores comes and goes, and slows the work itself."""
    took = [(1.0 + rise * g / 30) / (1 - share_waited) for g in range(30)]
    crowded = run_of(took)
    for g in range(30):
        crowded.add(fmt.Metrics(g, g, {"waited_s": share_waited * sum(took[: g + 1])}, "generation end"))

    assert (slowdown(crowded) is not None) is is_told


def test_a_fall_of_a_little_more_than_a_tenth_is_told() -> None:
    assert slowdown(run_of([1.0 + 0.006 * g for g in range(30)])) is not None


def test_the_inner_phase_in_which_the_time_is_lost_is_named() -> None:
    slow = noisy(30, 0.5, 0.05, 0.001)
    process = run_of([0.3 + s for s in slow], phases={"collect": [0.3] * 30, "update": slow})

    found = slowdown(process)

    assert found is not None
    assert found.phase == "update"
    assert "the time is spent in update" in found.summary


def test_what_grows_beside_it_is_named() -> None:
    process = run_of(noisy(30, 0.5, 0.05, 0.001))
    steps = ("module __main__.agent (Agent)", ".history (list, 900)", "[...] Step")
    leak = Finding(
        "leak", "objects", subject="Step", holder=steps,
        evidence=(Evidence("generation end", "count/Step", (0,), (1.0,)),),
    )  # fmt: skip

    (found,) = find_slowdown(process, {}, [leak])

    assert found.summary.endswith("agent.history grows beside it")
    assert "agent.history" in found.advice


def test_garbage_collections_that_take_the_time_are_named() -> None:
    seconds = [0.5 + 0.05 * g for g in range(30)]
    process = run_of(seconds)
    total = 0.0
    for g, took in enumerate(seconds):
        total += took - 0.5
        process.add(fmt.Metrics(0, g, {"gc/gc_pause_s": total}))

    (found,) = find_slowdown(process, {}, [])

    assert "the time of garbage collections" in found.summary


def test_generations_of_less_than_a_millisecond_are_judged_in_stretches() -> None:
    seconds = [0.0009, 0.0003, 0.0002, 1e-6, 1e-6, 1e-6, 1e-6, 0.0003, 0.0001, 0.0034, 0.001, 0.0003, 0.001, 0.001]
    assert slowdown(run_of(seconds)) is None, "all of it lasts 9 ms"

    found = slowdown(run_of(noisy(400, 0.001, 0.00001, 0.0002)))
    assert found is not None
    assert len(found.evidence[0].values) == 100, "stretches of four generations"
    assert found.slope == pytest.approx(0.00001, rel=0.1)
