"""From a whole recording to its findings: each leak once, and nothing of a healthy run."""

from __future__ import annotations

from dataclasses import astuple

import pytest
from scripted_runs import EACH, END, LAST, LOSSES, MIB, Curve, born, dead, held, in_c, record, rising

from phaseprof.analysis.findings import (
    MOST_FINDINGS,
    find_leaks,
    unit_of,
)
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.records import Finding

EPISODES = "count/user.Episode"
SECOND_PLACE = ("agent (Agent)", ".memory (list, 40)", "[-1] Step")


def kept(slope: float = 1.0, *, each: int = EACH, **metrics: Curve) -> ProcessRun:
    """A run that keeps episodes of ``each`` bytes in a list."""
    return record({EPISODES: rising(slope), **metrics}, [held(EPISODES, each=each), born(EPISODES, train=9)])


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


def test_symptoms_of_one_leak_are_one_finding() -> None:
    everywhere = {
        EPISODES: rising(4), "count/builtins.dict": rising(4), "storages/cpu_bytes": rising(4 * MIB),
        "malloc_in_use_bytes": rising(4 * MIB), "anonymous_bytes": rising(4 * MIB), "python_blocks": rising(60),
        "rss_bytes": rising(4 * MIB), "container/list@7f": rising(4),
    }  # fmt: skip
    evidence = [held(key) for key in (EPISODES, "count/builtins.dict", "storages", "container/list@7f")]

    finding = only(record(everywhere, [*evidence, born(EPISODES, train=9)]))

    assert (finding.verdict, finding.subject) == ("leak", "Episode")


def test_two_leaks_are_two_findings() -> None:
    process = record(
        {EPISODES: rising(1), "count/user.Step": rising(1)},
        [held(EPISODES), held("count/user.Step", SECOND_PLACE, item="user.Step", length=40)],
    )

    assert {finding.subject for finding in find_leaks(process)} == {"Episode", "Step"}


@pytest.mark.parametrize(
    "curve",
    [100.0, lambda g: 100.0 - g, lambda g: 100.0 + min(g, 5), lambda g: 100.0 + g % 4, lambda g: 100.0 + (g > 9)],
    ids=["flat", "falls", "fills in the warm-up", "sawtooth", "step"],
)
def test_a_healthy_run_is_silent(curve: Curve) -> None:
    process = record({EPISODES: curve, "malloc_in_use_bytes": 1e8}, [held(EPISODES)])

    assert not [f for f in find_leaks(process) if f.verdict in ("leak", "growing", "filling")]


def test_an_empty_recording_has_no_findings() -> None:
    assert find_leaks(ProcessRun()) == ()


def test_the_evidence_is_the_series_that_voted_and_others_of_the_cause() -> None:
    process = record(
        {EPISODES: rising(1), "storages/cpu_bytes": rising(MIB)}, [held(EPISODES), held("storages")]
    )  # fmt: skip

    first, second = only(process).evidence

    assert (first.point, first.metric, first.values[-1]) == (END, EPISODES, 100.0 + LAST)
    assert second.metric == "storages/cpu_bytes"


def test_a_leak_that_begins_late_says_when() -> None:
    process = record({EPISODES: lambda g: 100.0 + 5 * max(0, g - 8)}, [held(EPISODES)])

    assert only(process).since_generation in (8, 9)


def test_a_graph_is_named_before_the_tensors_in_it() -> None:
    losses = (*LOSSES[:3], "[-1] Tensor")
    process = record(
        {"graph_nodes": rising(30), "storages/cpu_bytes": rising(MIB), "count/torch.Tensor": rising(1)},
        [held(key, losses, item="torch.Tensor") for key in ("graph", "storages", "count/torch.Tensor")],
    )

    finding = only(process)

    assert (finding.kind, finding.subject, finding.slope_unit) == ("autograd graph", "Tensor", "nodes/generation")


# --- the phase --------------------------------------------------------------------------------------------------------


def test_without_births_the_allocators_counters_tell_the_phase() -> None:
    process = record(
        {EPISODES: rising(1), "python_blocks": rising(10)},
        [held(EPISODES), born("python_blocks", 1, evaluate=10, train=3)],
    )

    assert only(process).phase == "evaluate"


def test_births_go_before_counters() -> None:
    process = record(
        {EPISODES: rising(1), "python_blocks": rising(10)},
        [held(EPISODES), born(EPISODES, train=3), born("python_blocks", 1, evaluate=10)],
    )

    assert only(process).phase == "train"


# --- what is negligible ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("each", "is_told"), [(52_428, False), (52_429, True)])
def test_what_came_to_less_than_1_mib_so_far_is_negligible(each: int, is_told: bool) -> None:
    assert bool(find_leaks(kept(1.0, each=each))) is is_told


def test_little_that_was_watched_is_reported() -> None:
    process = kept(1.0, each=10)
    process.add(fmt.Watch("Episode"))

    assert only(process).verdict == "leak"


def test_all_growth_is_reported_on_demand() -> None:
    (finding,) = find_leaks(kept(1.0, each=10), least_bytes=0)

    assert finding.verdict == "leak"


def test_what_lasts_for_years_is_growing() -> None:
    process = kept(1.0, available_bytes=1e15)
    process.add(fmt.GenerationBegin(0, 0))
    process.add(fmt.GenerationEnd(0, 0, 10.0))

    assert only(process).verdict == "growing"


# An object whose own size was not measured is charged 200 bytes.
@pytest.mark.parametrize(("slope", "is_told"), [(262.0, False), (263.0, True)])
@pytest.mark.parametrize("key", ["count/builtins.dict", EPISODES])
def test_what_nobody_holds_must_be_many(key: str, slope: float, is_told: bool) -> None:
    assert bool(find_leaks(record({key: rising(slope)}))) is is_told


@pytest.mark.parametrize(
    "holder",
    [in_c("count/builtins.dict", each=18_000_000), held("count/builtins.dict", item="dict", each=18_000_000)],
)
@pytest.mark.parametrize(("in_use", "is_told"), [(2e3, False), (16_300, False), (1e5, True)])
def test_plumbing_brought_no_more_than_memory_in_use_grew_by(
    holder: fmt.Holder, in_use: float, is_told: bool
) -> None:
    """One dict that reaches half the heap says nothing of what two dicts a generation take."""
    key = "count/builtins.dict"
    process = record({key: rising(2), "malloc_in_use_bytes": rising(in_use, 1e8)}, [holder])

    assert any(f.metric == key for f in find_leaks(process)) is is_told


@pytest.mark.parametrize("curve", [1e8, lambda g: 1e8 + 1e6 * (g > 9), lambda g: 1e8 - 1e5 * g])
def test_plumbing_brought_nothing_where_memory_in_use_is_at_rest(curve: Curve) -> None:
    key = "count/builtins.dict"
    figures = {key: rising(2), "malloc_in_use_bytes": curve}

    assert find_leaks(record(figures, [in_c(key, each=18_000_000)])) == ()


@pytest.mark.parametrize("fell_at", [9, 15])
@pytest.mark.parametrize(("each_gains", "is_told"), [(250_000, True), (0, False)])
def test_a_collection_of_what_lay_there_before_takes_no_leak_back(
    fell_at: int, each_gains: int, is_told: bool
) -> None:
    """Memory in use ends far below where it began, and yet each generation gained what the dict gained."""
    key = "container/dict@7f"
    holder = held(key, item="list", container="builtins.dict", length=10, each=12_000_000)
    in_use = lambda g: 1e8 + each_gains * g - 8e7 * (g >= fell_at)  # noqa: E731

    found = find_leaks(record({key: rising(1), "malloc_in_use_bytes": in_use}, [holder]))

    assert any(f.metric == key for f in found) is is_told


def test_what_two_looks_saw_coming_counts_before_any_estimate() -> None:
    """Eight names of a table were asked about; the objects under them take more than that."""
    place = fmt.Place(["module logging.Logger.manager"], "dict", 1, 950_000, 0, [("user.Episode", 20, 950_000)], [])
    looks = fmt.Places(0, LAST, 9, 950_000, [place])

    assert only(record({EPISODES: rising(2)}, [held(EPISODES, each=200), looks])).subject == "Episode"


@pytest.mark.parametrize(("item", "kib", "free_gib", "beside", "verdicts"), [
    ("float", 60, 30, 0, []), ("", 60, 30, 0, []), ("list", 60, 30, 0, []),  # memory lasts for six days
    ("float", 60, 20, 0, ["leak"]), ("list", 60, 20, 0, ["leak"]), ("app.Episode", 60, 30, 0, ["leak"]),
    ("float", 12, 4, 0, []), ("builtins.list", 12, 4, 0, []),  # 240 KiB so far
    ("float", 60, 20, 1e6, ["leak"]), ("float", 60, 20, 1e7, []),  # 6 % of what memory grows by, and 0.6 %
])  # fmt: skip
def test_a_log_is_a_leak_if_memory_ends_within_days_it_came_to_something_and_nothing_fills_memory_before(
    item: str, kib: int, free_gib: int, beside: float, verdicts: list[str]
) -> None:
    """Some KiB in each second, as losses kept with ``.item()`` come to."""
    key = "container/list@7f"
    steps = ("trainer (Trainer)", ".losses (list, 3,840)", f"[-1] {item}")
    holder = held(key, steps, item=item, each=3840 * 64, length=3840)
    in_use = {"malloc_in_use_bytes": rising(beside, 1e8)} if beside else {}
    process = record({key: rising(16 * kib), "available_bytes": free_gib * 2.0**30, **in_use}, [holder])
    for g in range(LAST + 1):
        process.add(fmt.GenerationBegin(g * 10**9, g, g))
        process.add(fmt.GenerationEnd((g + 1) * 10**9, g, 1.0, -1.0))

    assert [f.verdict for f in find_leaks(process) if f.metric == key and f.verdict == "leak"] == verdicts


# --- bounds -----------------------------------------------------------------------------------------------------------


def bounded(length: int, bound: int, slope: float = 10.0) -> Finding:
    holder = held(EPISODES, bound=bound, bound_length=length, each=9999)
    return only(record({EPISODES: rising(slope)}, [holder]))


def test_below_its_bound_a_container_is_filling_and_says_until_when() -> None:
    finding = bounded(300, 1000)

    assert finding.verdict == "filling"
    assert finding.summary.endswith("(bound 1,000, 300 now, full in about 70 generations)")


@pytest.mark.parametrize(("length", "verdict"), [(999, "filling"), (1000, "leak"), (1001, "leak")])
def test_at_its_bound_a_container_whose_items_grow_leaks(length: int, verdict: str) -> None:
    assert bounded(length, 1000).verdict == verdict


def test_a_leak_in_a_full_container_says_so() -> None:
    assert bounded(1000, 1000).summary.endswith("(the container is at its bound of 1,000: its items grow)")


def test_a_bound_of_nothing_is_no_bound() -> None:
    assert bounded(0, 0).verdict == "leak"
    assert bounded(-1, -1).verdict == "leak"


def test_filling_is_told_beside_a_leak() -> None:
    process = record(
        {EPISODES: rising(9), "count/user.Step": rising(9)},
        [held(EPISODES), held("count/user.Step", SECOND_PLACE, item="user.Step", length=40, bound=99, bound_length=40)],
    )

    assert [finding.verdict for finding in find_leaks(process)] == ["leak", "filling"]


def test_a_counter_that_began_to_rise_late_does_not_outlive_a_bound() -> None:
    process = ProcessRun()
    for g in range(60):
        process.add(fmt.Metrics(g, g, {"malloc_in_use_bytes": 1e8 + 1e5 * max(0, g - 45)}))
    for g in (58, 59):
        process.add(fmt.Metrics(g, g, {"n_objects": 1e5, EPISODES: 10.0 * g}))
    process.add(held(EPISODES, bound=12, bound_length=12, each=9999))

    assert next(f for f in find_leaks(process) if f.subject == "Episode").verdict != "leak"


# --- dead cycles ------------------------------------------------------------------------------------------------------


def cycles(n: int = LAST + 1, freed: int | None = 6, **metrics: Curve) -> tuple[Finding, ...]:
    extra: list[fmt.Record] = [dead(EPISODES), born(EPISODES, train=9)]
    if freed is not None:
        extra.append(fmt.Collected(0, n - 1, EPISODES, 6, freed))
    return find_leaks(record({EPISODES: rising(9), **metrics}, extra, n=n))


@pytest.mark.parametrize("freed", [6, None])
def test_dead_cycles_are_garbage_that_nobody_holds(freed: int | None) -> None:
    (finding,) = cycles(freed=freed)

    assert (finding.verdict, finding.kind, finding.subject, finding.holder) == ("leak", "garbage", "Episode", ())


def test_what_a_collection_does_not_free_is_no_garbage() -> None:
    (finding,) = cycles(freed=0)

    assert finding.kind == "objects"


def test_a_bound_above_dead_cycles_does_not_make_them_fill() -> None:
    holder = held(EPISODES, ("garbage (deque, 40)", "[-1] Episode"), root="garbage", bound=100, bound_length=40)

    assert only(record({EPISODES: rising(9)}, [holder])).verdict == "leak"


@pytest.mark.parametrize(("n", "verdict"), [(11, "growing"), (12, "leak")])
def test_garbage_needs_time_to_show_its_teeth(n: int, verdict: str) -> None:
    (finding,) = cycles(n=n)

    assert finding.verdict == verdict


def test_collections_of_the_programs_own_make_a_sawtooth() -> None:
    assert cycles(after_full_collection=lambda g: float(g == 9)) == ()


@pytest.mark.parametrize("flagged", [LAST - 1, LAST])
def test_our_own_confirming_collection_does_not(flagged: int) -> None:
    """It is seen by the reading of the next generation, or the same."""
    taken = fmt.Collected(0, LAST - 1, EPISODES, 6, 6)
    figures = {EPISODES: rising(9), "after_full_collection": lambda g: float(g == flagged)}

    assert only(record(figures, [dead(EPISODES), taken])).kind == "garbage"


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
    process = record(
        {EPISODES: rising(1), "count/user.Step": rising(100), "available_bytes": 1e9},
        [held(EPISODES), held("count/user.Step", SECOND_PLACE, item="user.Step", length=40)],
    )
    process.add(fmt.GenerationBegin(0, 0))
    process.add(fmt.GenerationEnd(0, 0, 10.0))

    first, second = find_leaks(process)

    assert (first.subject, second.subject) == ("Step", "Episode")
    assert first.eta_s == pytest.approx(1e9 / (100 * EACH) * 10, rel=0.01)
    assert second.eta_s == pytest.approx(100 * first.eta_s, rel=0.01)


def test_at_most_ten_are_told() -> None:
    names = [f"count/user.Type{n}" for n in range(MOST_FINDINGS + 3)]
    holders = [held(name, (f"m{n} (list, 82)", "[-1]"), item=name) for n, name in enumerate(names)]

    assert len(find_leaks(record({name: rising(3) for name in names}, holders))) == MOST_FINDINGS


def test_growing_is_told_only_where_nothing_leaks() -> None:
    still_growing = {"count/user.Step": lambda g: 100.0 + min(g, LAST - 1)}  # one rise has not come
    place = held("count/user.Step", SECOND_PLACE, item="user.Step", length=40)

    alone = find_leaks(record({**still_growing}, [place]))
    beside = find_leaks(record({EPISODES: rising(3), **still_growing}, [place, held(EPISODES)]))

    assert [f.verdict for f in alone] == ["growing"]
    assert [f.verdict for f in beside] == ["leak"]


def test_findings_are_data_without_objects() -> None:
    flat = astuple(only(kept(3.0)))

    assert all(type(part) in (str, float, int, tuple, type(None)) for part in flat)


@pytest.mark.parametrize(
    ("metric", "unit"),
    [
        ("arrays_bytes", "bytes"), ("tracked/experience", "bytes"), ("graph_nodes", "nodes"),
        ("container/list@7f", "items"), (EPISODES, "objects"), ("watched/Episode", "objects"),
    ],
)  # fmt: skip
def test_the_unit_of_a_slope(metric: str, unit: str) -> None:
    assert unit_of(metric) == f"{unit}/generation"


def test_what_c_holds_alone_is_told_with_that_holder() -> None:
    process = record({EPISODES: rising(3)}, [in_c(EPISODES), born(EPISODES, train=9)])

    assert only(process).holder == ("outside Python", "user.Episode".rpartition(".")[2])


# 64 bytes an object at least: of the program's own classes 16 KiB are enough, of a library's it takes a mebibyte.
@pytest.mark.parametrize(("kind", "slope", "is_told"), [
    ("__main__.Env", 50, True), ("__main__.Env", 3, False), ("trainer.envs.Env", 50, True),
    ("library.Trial", 50, False), ("library.Trial", 900, True),
])  # fmt: skip
def test_objects_of_the_programs_own_classes_are_told_long_before_they_are_felt(
    kind: str, slope: float, is_told: bool
) -> None:
    own = [fmt.Program(["trainer"]), held(f"count/{kind}", item=kind, each=72)]

    found = find_leaks(record({f"count/{kind}": rising(slope)}, own))

    assert ("leak" in {f.verdict for f in found}) is is_told


def test_no_counter_of_memory_speaks_against_objects_of_the_programs_own_classes() -> None:
    key = "count/__main__.Env"
    step = lambda g: 1e8 + 1e5 * (g > 6)  # noqa: E731

    found = find_leaks(record({key: rising(50), "malloc_in_use_bytes": step}, [held(key, item="Env", each=72)]))

    assert [(f.verdict, f.subject) for f in found] == [("leak", "Env")]
