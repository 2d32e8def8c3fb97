"""From a whole recording to its findings: each leak once, and nothing of a healthy run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import astuple

import pytest
from scripted_runs import EACH, LAST, LOSSES, Curve, born, dead, held, record, rising

from phaseprof.analysis.findings import MOST_FINDINGS, find_leaks
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.records import Finding

EPISODES, STEPS = "watched/Episode", "watched/Step"
SECOND_PLACE = ("agent (Agent)", ".memory (list, 40)", "[-1] Step")


def kept(slope: float = 1.0, *, each: int = EACH, **metrics: Curve) -> ProcessRun:
    """A run that keeps episodes of ``each`` bytes in a list."""
    return watching({EPISODES: rising(slope), **metrics}, [held(EPISODES, each=each), born(EPISODES, train=9)])


def watching(metrics: Mapping[str, Curve], extra: Iterable[fmt.Record] = (), *, n: int = LAST + 1) -> ProcessRun:
    """A run in which the classes were watched of which counts were read; no number of them was expected."""
    names = [key.removeprefix("watched/") for key in metrics if key.startswith("watched/")]
    return record(metrics, [*map(fmt.Watch, names), *extra], n=n)


def only(process: ProcessRun) -> Finding:
    (finding,) = find_leaks(process)
    return finding


# --- one leak, one finding --------------------------------------------------------------------------------------------


def test_a_kept_list_is_one_finding_with_everything_in_it() -> None:
    finding = only(kept(3.0))

    assert (finding.verdict, finding.kind, finding.subject, finding.phase) == ("leak", "objects", "Episode", "train")
    assert finding.holder == LOSSES
    assert (finding.metric, finding.slope_unit) == (EPISODES, "objects/generation")
    assert finding.slope == pytest.approx(3.0)
    assert finding.slope_low <= finding.slope <= finding.slope_high
    assert finding.since_generation == 0
    assert 0.5 < finding.confidence <= 1
    assert "leaks: +3 objects (about 192.00 KiB) a generation since" in finding.summary


def test_two_leaks_are_two_findings() -> None:
    process = watching(
        {EPISODES: rising(1), STEPS: rising(1)},
        [held(EPISODES), held(STEPS, SECOND_PLACE, item="user.Step", length=40)],
    )

    assert {finding.subject for finding in find_leaks(process)} == {"Episode", "Step"}


@pytest.mark.parametrize(
    "curve",
    [100.0, lambda g: 100.0 - g, lambda g: 100.0 + min(g, 5), lambda g: 100.0 + g % 4, lambda g: 100.0 + (g > 9)],
    ids=["flat", "falls", "fills in the warm-up", "sawtooth", "step"],
)
def test_a_healthy_run_is_silent(curve: Curve) -> None:
    process = watching({EPISODES: curve, "malloc_in_use_bytes": 1e8}, [held(EPISODES)])

    assert not [f for f in find_leaks(process) if f.verdict in ("leak", "growing", "filling")]


def test_an_empty_recording_has_no_findings() -> None:
    assert find_leaks(ProcessRun()) == ()


def test_a_leak_that_begins_late_says_when() -> None:
    process = watching({EPISODES: lambda g: 100.0 + 5 * max(0, g - 8)}, [held(EPISODES)])

    assert only(process).since_generation in (8, 9)


# --- the phase --------------------------------------------------------------------------------------------------------


def test_without_births_the_allocators_counters_tell_the_phase() -> None:
    process = watching(
        {EPISODES: rising(1), "python_blocks": rising(10)},
        [held(EPISODES), born("python_blocks", 1, evaluate=10, train=3)],
    )

    assert only(process).phase == "evaluate"


def test_births_go_before_counters() -> None:
    process = watching(
        {EPISODES: rising(1), "python_blocks": rising(10)},
        [held(EPISODES), born(EPISODES, train=3), born("python_blocks", 1, evaluate=10)],
    )

    assert only(process).phase == "train"


# --- what is negligible ----------------------------------------------------------------------------------------------


def test_little_that_was_watched_is_reported() -> None:
    assert only(kept(1.0, each=10)).verdict == "leak"


@pytest.mark.parametrize(("least", "is_told"), [(None, False), (0, True), (999, True), (1001, False)])
def test_growth_is_reported_from_what_was_asked_for_on(least: float | None, is_told: bool) -> None:
    """A kilobyte a generation is 20 KB so far, which nobody feels."""
    came = [("app.Rollout", 10, 10_000)]
    place = fmt.Place(["module __main__.t (Trainer)", ".memory (list, 64)"], "list", 1, 10_000, 0, came, came)
    looks = fmt.Places(0, LAST, LAST - 10, 10_000, [place])

    found = find_leaks(record({"malloc_in_use_bytes": rising(1000.0, 1e8)}, [looks]), least_bytes=least)

    assert bool(found) is is_told


# --- bounds -----------------------------------------------------------------------------------------------------------


def bounded(length: int, bound: int, slope: float = 10.0) -> Finding:
    holder = held(EPISODES, bound=bound, bound_length=length, each=9999)
    return only(watching({EPISODES: rising(slope)}, [holder]))


def test_below_its_bound_a_container_is_filling_and_says_until_when() -> None:
    finding = bounded(300, 1000)

    assert finding.verdict == "filling"
    assert finding.summary.endswith("(bound 1,000, 300 now, full in about 70 generations)")


@pytest.mark.parametrize(("left", "verdict"), [(1e9, "filling"), (1e5, "leak")])
def test_a_container_of_watched_objects_that_memory_does_not_last_to_fill_leaks(left: float, verdict: str) -> None:
    holder = held(EPISODES, bound=1000, bound_length=300, each=9999)

    assert only(watching({EPISODES: rising(10.0), "available_bytes": left}, [holder])).verdict == verdict


@pytest.mark.parametrize(("length", "verdict"), [(999, "filling"), (1000, "leak"), (1001, "leak")])
def test_at_its_bound_a_container_whose_items_grow_leaks(length: int, verdict: str) -> None:
    assert bounded(length, 1000).verdict == verdict


def test_a_leak_in_a_full_container_says_so() -> None:
    assert bounded(1000, 1000).summary.endswith("(the container is at its bound of 1,000: its items grow)")


def test_a_bound_of_nothing_is_no_bound() -> None:
    assert bounded(0, 0).verdict == "leak"
    assert bounded(-1, -1).verdict == "leak"


def test_filling_is_told_beside_a_leak() -> None:
    process = watching(
        {EPISODES: rising(9), STEPS: rising(9)},
        [held(EPISODES), held(STEPS, SECOND_PLACE, item="user.Step", length=40, bound=99, bound_length=40)],
    )

    assert [finding.verdict for finding in find_leaks(process)] == ["leak", "filling"]


# --- dead cycles ------------------------------------------------------------------------------------------------------


def cycles(n: int = LAST + 1, **metrics: Curve) -> tuple[Finding, ...]:
    return find_leaks(watching({EPISODES: rising(9), **metrics}, [dead(EPISODES), born(EPISODES, train=9)], n=n))


def test_dead_cycles_are_garbage_that_nobody_holds() -> None:
    (finding,) = cycles()

    assert (finding.verdict, finding.kind, finding.subject, finding.holder) == ("leak", "garbage", "Episode", ())


def test_a_bound_above_dead_cycles_does_not_make_them_fill() -> None:
    holder = held(EPISODES, ("garbage (deque, 40)", "[-1] Episode"), root="garbage", bound=100, bound_length=40)

    assert only(watching({EPISODES: rising(9)}, [holder])).verdict == "leak"


@pytest.mark.parametrize(("n", "verdict"), [(11, "growing"), (12, "leak")])
def test_garbage_needs_time_to_show_its_teeth(n: int, verdict: str) -> None:
    (finding,) = cycles(n=n)

    assert finding.verdict == verdict


def test_collections_of_the_programs_own_make_a_sawtooth() -> None:
    assert cycles(after_full_collection=lambda g: float(g == 9)) == ()


# --- watched classes --------------------------------------------------------------------------------------------------


def watched(values: list[float], *extra: fmt.Record, bound: int = 2) -> tuple[Finding, ...]:
    name = "watched/TradingEnvironment"
    told = fmt.Watch("TradingEnvironment", bound, bound)
    process = record({name: lambda g: values[g]}, [told, *extra], n=len(values))
    broken = next((g for g, value in enumerate(values) if value != bound), None)
    if broken is not None:
        last = len(values) - 1
        process.add(
            fmt.Violation(0, last, "TradingEnvironment", int(values[-1]), bound, bound, "evaluate", broken)
        )  # fmt: skip
    return find_leaks(process)


def test_a_broken_expectation_says_expected_found_since_and_phase() -> None:
    (finding,) = watched([2, 2, 3, 3, 3, 3, 3, 3, 3])

    assert (finding.verdict, finding.phase, finding.since_generation) == ("expectation", "evaluate", 2)
    assert "expected exactly 2, found 3 (made in evaluate); first seen broken in generation 2" in str(finding)
    assert finding.evidence[0].values == (2, 2, 3, 3, 3, 3, 3, 3, 3)


def test_an_expectation_that_holds_again_is_told_no_more() -> None:
    assert watched([2, 2, 3, 3, 2, 2, 2, 2, 2]) == ()


def test_too_few_break_it_too() -> None:
    (finding,) = watched([2, 2, 1, 1, 1, 1, 1, 1, 1])

    assert "expected exactly 2, found 1" in finding.summary


def test_a_leak_that_names_the_class_covers_its_broken_expectation() -> None:
    key = "watched/TradingEnvironment"
    steps = ("trainer (Trainer)", ".envs (list, 82)", "[-1] TradingEnvironment")

    (finding,) = watched([2.0 + 16 * g for g in range(12)], held(key, steps, item="env.TradingEnvironment"))

    assert (finding.verdict, finding.subject) == ("leak", "TradingEnvironment")


@pytest.mark.parametrize(("values", "is_leak"), [([4, 8, 12], True), ([2, 8, 12], False), ([4, 8, 8], False)])
def test_three_readings_further_and_further_beyond_the_bound_are_a_leak(values: list[float], is_leak: bool) -> None:
    key = "watched/TradingEnvironment"
    holder = held(key, ("trainer (Trainer)", ".envs (list, 82)"), item="env.TradingEnvironment")

    verdicts = {f.verdict for f in watched(values, holder)}

    assert ("leak" in verdicts) is is_leak


def test_two_will_do_where_survivors_were_followed_from_birth() -> None:
    key = "watched/TradingEnvironment"
    holder = held(key, ("trainer (Trainer)", ".envs (list, 82)"), item="env.TradingEnvironment")

    (finding,) = watched([2, 8, 12], holder, born(key, evaluate=4))

    assert (finding.verdict, finding.phase) == ("leak", "evaluate")


# --- tracked names ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("slope", "is_told"), [(4.99e6, False), (5.0e6, True)])
def test_a_tracked_name_over_the_threshold_is_told(slope: float, is_told: bool) -> None:
    found = find_leaks(record({"tracked/experience": rising(slope, 0.0)}))

    assert bool(found) is is_told
    if found:
        assert (found[0].subject, found[0].kind) == ("experience", "container")
        assert "(rule: tracked size over 5 MB a generation)" in found[0].summary


def test_the_threshold_is_the_callers() -> None:
    process = record({"tracked/experience": rising(1e6, 0.0)})

    assert find_leaks(process, leak_threshold_mb=1.0)
    assert not find_leaks(process, leak_threshold_mb=1.01)


def test_a_leak_that_was_found_names_it_better() -> None:
    process = kept(3.0, **{"tracked/experience": rising(9e6, 0.0)})

    assert only(process).subject == "Episode"


def test_of_tracked_names_the_part_that_grows_is_told_and_not_the_whole() -> None:
    process = record({
        "tracked/experience": rising(9.1e6, 0.0), "tracked/experience.obs": rising(9e6, 0.0),
        "tracked/stats": rising(6e6, 0.0),
    })  # fmt: skip

    assert [f.subject for f in find_leaks(process)] == ["experience.obs", "stats"]


def test_two_parts_that_grow_are_told_with_the_whole_that_is_more_than_either() -> None:
    process = record({
        "tracked/run": rising(20e6, 0.0), "tracked/run.obs": rising(9e6, 0.0), "tracked/run.rewards": rising(9e6, 0.0),
    })  # fmt: skip

    assert {f.subject for f in find_leaks(process)} == {"run", "run.obs", "run.rewards"}


@pytest.mark.parametrize(
    ("name", "memory", "is_told"),
    [("t.memory", 8e6, True), ("replay", 8e6, True), ("replay", 16e6, False)],
)
def test_a_tracked_name_is_not_told_beside_the_place_that_is_the_same(name: str, memory: float, is_told: bool) -> None:
    """By its name on the path, or since memory grew by no more than either."""
    steps = ["module __main__.t (Trainer)", ".memory (list, 64)"]
    rollouts = ("app.Rollout", 10, 80_000_000)
    place = fmt.Place(steps, "list", 1, 80_000_000, 0, [rollouts], [rollouts])
    looks = fmt.Places(0, LAST, LAST - 10, 80_000_000, [place])
    metrics = {"malloc_in_use_bytes": rising(memory, 1e8), f"tracked/{name}": rising(8e6, 0.0)}

    found = find_leaks(record(metrics, [looks]))

    assert (f"Tracked {name!r}" not in " ".join(f.summary for f in found)) is is_told
    assert any(f.holder == tuple(steps) for f in found)


# --- order ------------------------------------------------------------------------------------------------------------


def test_what_ends_the_run_first_comes_first() -> None:
    process = watching(
        {EPISODES: rising(1), STEPS: rising(100), "available_bytes": 1e9},
        [held(EPISODES), held(STEPS, SECOND_PLACE, item="user.Step", length=40)],
    )
    process.add(fmt.GenerationBegin(0, 0))
    process.add(fmt.GenerationEnd(0, 0, 10.0))

    first, second = find_leaks(process)

    assert (first.subject, second.subject) == ("Step", "Episode")
    assert first.eta_s == pytest.approx(1e9 / (100 * EACH) * 10, rel=0.01)
    assert second.eta_s == pytest.approx(100 * first.eta_s, rel=0.01)


def test_at_most_ten_are_told() -> None:
    names = [f"watched/Type{n}" for n in range(MOST_FINDINGS + 3)]
    holders = [held(name, (f"m{n} (list, 82)", "[-1]"), item=name) for n, name in enumerate(names)]

    assert len(find_leaks(watching({name: rising(3) for name in names}, holders))) == MOST_FINDINGS


def test_growing_is_told_only_where_nothing_leaks() -> None:
    still_growing = {STEPS: lambda g: 100.0 + min(g, LAST - 1)}  # one rise has not come
    place = held(STEPS, SECOND_PLACE, item="user.Step", length=40)

    alone = find_leaks(watching({**still_growing}, [place]))
    beside = find_leaks(watching({EPISODES: rising(3), **still_growing}, [place, held(EPISODES)]))

    assert [f.verdict for f in alone] == ["growing"]
    assert [f.verdict for f in beside] == ["leak"]


def test_findings_are_data_without_objects() -> None:
    flat = astuple(only(kept(3.0)))

    assert all(type(part) in (str, float, int, tuple, type(None)) for part in flat)
