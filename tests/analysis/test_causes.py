"""Symptoms of one leak are one cause; what has another holder is another."""

from __future__ import annotations

import pytest
from scripted_runs import LOSSES, born, dead, held, in_c, symptom

from phaseprof.analysis.causes import Cause, is_plumbing, join, place_of
from phaseprof.analysis.symptoms import Symptom
from phaseprof.recording import format as fmt

EPISODES, STEPS = "count/user.Episode", "count/user.Step"


def joined(*symptoms: Symptom) -> list[Cause]:
    return join({s.key: s for s in symptoms})


def keys(causes: list[Cause]) -> list[list[str]]:
    return [sorted(cause.symptoms) for cause in causes]


def collected(key: str, asked: int, freed: int) -> fmt.Collected:
    return fmt.Collected(0, 9, key, asked, freed)


# --- one holder, one cause --------------------------------------------------------------------------------------------


def test_what_shares_a_holder_is_one_cause() -> None:
    causes = joined(symptom(EPISODES, holder=held(EPISODES)), symptom(STEPS, 9.0, holder=held(STEPS)))

    assert keys(causes) == [[EPISODES, STEPS]]


def test_two_places_are_two_causes() -> None:
    other = ("agent (Agent)", ".memory (list, 40)", "[-1] Step")

    causes = joined(
        symptom(EPISODES, holder=held(EPISODES)), symptom(STEPS, holder=held(STEPS, other, length=40))
    )  # fmt: skip

    assert keys(causes) == [[STEPS], [EPISODES]]


def test_lengths_and_indexes_do_not_tell_places_apart() -> None:
    later = ("trainer (Trainer)", ".stats (Stats)", ".losses (list, 9,091)", "[17] Step")

    causes = joined(
        symptom(EPISODES, holder=held(EPISODES)), symptom(STEPS, holder=held(STEPS, later, length=9091))
    )  # fmt: skip

    assert len(causes) == 1


def test_the_place_ends_at_the_growing_container() -> None:
    record = held(EPISODES, (*LOSSES, ".frames (list, 3)", "[0] Frame"))

    assert place_of(record) == ("trainer Trainer", ".stats Stats", ".losses list")


def test_without_a_container_the_place_is_the_whole_path() -> None:
    assert len(place_of(held(EPISODES, container=""))) == len(LOSSES)


def test_a_place_inside_another_joins_the_outer_one() -> None:
    inner = (*LOSSES[:3], "[-1] Episode", ".steps (dict, 9)", "['a'] Step")

    causes = joined(
        symptom(EPISODES, holder=held(EPISODES)),
        symptom(STEPS, holder=held(STEPS, inner, container="builtins.dict", length=9)),
    )

    assert keys(causes) == [[EPISODES, STEPS]]


def test_what_an_lru_cache_holds_is_one_leak_with_its_table() -> None:
    steps = ("Policy.features (lru_cache, 2,036 entries)", "key (tuple, 2)", "[0] Policy")
    table = ("Policy.features (lru_cache, 1,781 entries)", "table (dict, 1,781)")
    key = "container/dict@7f"

    causes = joined(
        symptom(EPISODES, holder=held(EPISODES, steps, container="functools._lru_cache_wrapper", length=2036)),
        symptom(key, holder=held(key, table, container="dict", length=1781)),
    )

    assert keys(causes) == [[key, EPISODES]]


def test_a_place_beside_another_is_no_place_inside_it() -> None:
    beside = (*LOSSES[:2], ".rewards (list, 82)", "[-1] Step")

    assert len(joined(symptom(EPISODES, holder=held(EPISODES)), symptom(STEPS, holder=held(STEPS, beside)))) == 2


def test_an_outer_place_that_ends_at_what_only_carries_gives_way_to_the_inner() -> None:
    carrier = held("count/builtins.function", LOSSES[:2], item="builtins.function", container="")
    inner = held(EPISODES)

    (cause,) = joined(symptom("count/builtins.function", holder=carrier), symptom(EPISODES, holder=inner))

    assert cause.holder is inner


@pytest.mark.parametrize("order", [1, -1])
def test_the_holder_of_the_users_own_type_tells_most(order: int) -> None:
    own, plumbing = held(EPISODES), held("count/builtins.cell", each=9999)
    both = [symptom(EPISODES, holder=own), symptom("count/builtins.cell", holder=plumbing)]

    (cause,) = joined(*both[::order])

    assert cause.holder is own


@pytest.mark.parametrize("order", [1, -1])
def test_among_equals_the_heavier_tells_more(order: int) -> None:
    light, heavy = held(EPISODES, each=10), held(STEPS, each=1000)
    both = [symptom(EPISODES, holder=light), symptom(STEPS, holder=heavy)]

    (cause,) = joined(*both[::order])

    assert cause.holder is heavy


def test_an_empty_path_swallows_nothing() -> None:
    nowhere = held(STEPS, [], root="outside Python", container="")

    assert len(joined(symptom(STEPS, holder=nowhere), symptom(EPISODES, holder=held(EPISODES)))) == 2


def test_what_does_not_rise_is_no_part_of_a_cause() -> None:
    assert joined(symptom(EPISODES, 0.0, holder=held(EPISODES))) == []


def test_without_holders_each_is_alone() -> None:
    assert keys(joined(symptom(EPISODES), symptom(STEPS))) == [[EPISODES], [STEPS]]


# --- orphans ----------------------------------------------------------------------------------------------------------


def rooted(slope: float = 10.0, phase: str = "train") -> Symptom:
    return symptom(EPISODES, slope, holder=held(EPISODES), births=born(EPISODES, **{phase: 9}))


@pytest.mark.parametrize("orphan", [None, in_c(STEPS)])
def test_an_orphan_born_in_the_same_phase_is_adopted(orphan: fmt.Holder | None) -> None:
    causes = joined(rooted(), symptom(STEPS, 10.0, holder=orphan, births=born(STEPS, train=9)))

    assert keys(causes) == [[EPISODES, STEPS]]


def test_an_orphan_of_another_phase_is_not() -> None:
    causes = joined(rooted(), symptom(STEPS, 10.0, holder=in_c(STEPS), births=born(STEPS, evaluate=9)))

    assert len(causes) == 2


def test_plumbing_without_births_joins_any_leak() -> None:
    causes = joined(rooted(), symptom("count/builtins.dict", 10.0))

    assert keys(causes) == [["count/builtins.dict", EPISODES]]


def test_the_users_own_type_without_births_does_not() -> None:
    assert len(joined(rooted(), symptom(STEPS, 10.0))) == 2


def test_confirmed_garbage_is_never_adopted() -> None:
    cycles = symptom(
        STEPS, 10.0, holder=dead(STEPS), births=born(STEPS, train=9), collected=collected(STEPS, 10, 10)
    )  # fmt: skip

    assert len(joined(rooted(), cycles)) == 2


def test_garbage_that_no_collection_freed_is_adopted() -> None:
    """What looks dead, and outlives a collection, is held where nobody sees it: by C++ behind the leak."""
    not_dead = symptom(
        STEPS, 10.0, holder=dead(STEPS), births=born(STEPS, train=9), collected=collected(STEPS, 10, 0)
    )  # fmt: skip

    assert keys(joined(rooted(), not_dead)) == [[EPISODES, STEPS]]


# --- dead cycles ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("freed", "is_garbage"), [(2, False), (3, True), (10, True)])
def test_a_collection_must_free_three_in_ten(freed: int, is_garbage: bool) -> None:
    (cause,) = joined(symptom(EPISODES, holder=dead(EPISODES), collected=collected(EPISODES, 10, freed)))

    assert (cause.is_garbage, cause.is_confirmed_garbage) == (is_garbage, is_garbage)


def test_unconfirmed_garbage_is_garbage_by_its_root() -> None:
    (cause,) = joined(symptom(EPISODES, holder=dead(EPISODES)))

    assert (cause.is_garbage, cause.is_confirmed_garbage, cause.is_rooted) == (True, False, False)


def test_a_collection_that_was_asked_about_nothing_says_nothing() -> None:
    (cause,) = joined(symptom(EPISODES, holder=held(EPISODES), collected=collected(EPISODES, 0, 0)))

    assert not cause.is_garbage
    assert cause.is_rooted


def test_all_dead_cycles_are_one_cause() -> None:
    confirmed = symptom(EPISODES, holder=dead(EPISODES), collected=collected(EPISODES, 10, 9))
    beside = symptom(STEPS, holder=dead(STEPS))

    (cause,) = joined(confirmed, beside)

    assert cause.is_confirmed_garbage
    assert set(cause.symptoms) == {EPISODES, STEPS}


# --- one leak, several holders ---------------------------------------------------------------------------------------


def test_dead_cycles_of_one_phase_are_one_cause_before_any_collection() -> None:
    causes = joined(
        symptom(EPISODES, holder=dead(EPISODES), births=born(EPISODES, train=9)),
        symptom(STEPS, holder=dead(STEPS), births=born(STEPS, train=9)),
        symptom("count/user.Plan", holder=dead("count/user.Plan"), births=born("count/user.Plan", imagine=9)),
    )

    assert keys(causes) == [[EPISODES, STEPS], ["count/user.Plan"]]


@pytest.mark.parametrize(("phase", "n_causes"), [("train", 1), ("evaluate", 2)])
def test_what_the_growing_objects_hold_is_theirs(phase: str, n_causes: int) -> None:
    inside = ("registry (method Episode.close)", ".__self__ (Episode)", ".frames ndarray")
    arrays = held("arrays", inside, item="ndarray", container="", length=-1)

    causes = joined(
        symptom(EPISODES, holder=held(EPISODES), births=born(EPISODES, train=9)),
        symptom("arrays_bytes", 1e6, holder=arrays, births=born("arrays", **{phase: 9})),
    )

    assert len(causes) == n_causes


KEPT = "container/list@7f"


@pytest.mark.parametrize(("slope", "n_causes"), [(5_000.0, 1), (5_200.0, 2)])
@pytest.mark.parametrize("grown", [
    [symptom(EPISODES, holder=held(EPISODES, each=4096), births=born(EPISODES, select=9))],
    [
        symptom(EPISODES, holder=held(EPISODES, each=9), births=born(EPISODES, select=9)),
        symptom(KEPT, holder=held(KEPT, each=40 * 4096, length=40)),
    ],
])  # fmt: skip
def test_memory_that_counted_objects_or_items_account_for_is_theirs(
    grown: list[Symptom], slope: float, n_causes: int
) -> None:
    of_optimizer = held("storages", ("optimizer (SGD)", ".state (dict, 6)", "[...] Tensor"), item="Tensor", length=6)

    causes = joined(
        *grown,
        symptom("storages/cpu_bytes", slope, holder=of_optimizer, births=born("storages", train=9)),
    )

    assert len(causes) == n_causes


LISTS = ("container/list@7f", "container/list@8f")


# --- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("root", ["outside Python", "garbage", "unknown (search stopped)", ""])
def test_these_are_no_roots(root: str) -> None:
    assert not Cause(held(EPISODES, root=root)).is_rooted


@pytest.mark.parametrize(
    ("subject", "expected"),
    [("list", True), ("cell", True), ("MulBackward0", True), ("AccumulateGrad", True), ("UntypedStorage", True),
     ("threading.Event", True), ("game.Event", False),
     ("Episode", False), ("Tensor", False), ("ndarray", False), ("Backward", False), ("FeedBackward", False)],
)  # fmt: skip
def test_what_only_carries_others(subject: str, expected: bool) -> None:
    assert is_plumbing(subject) is expected


# --- memory and what shows it -----------------------------------------------------------------------------------------

STORAGES, GRAPH, TENSORS = "storages/cpu_bytes", "graph_nodes", "count/torch.Tensor"


def test_a_kept_graph_accounts_for_the_storages_it_saved() -> None:
    state = held("graph", ("trainer (Trainer)", ".state (Tensor)", "autograd graph Tensor"), item="Tensor", length=-1)
    path = ("trainer (Trainer)", ".agents (list, 16)", "[...] Parameter")
    params = held("storages", path, item="Parameter", length=16)

    causes = joined(
        symptom(STORAGES, 1e6, holder=params, births=born("storages", train=9)),
        symptom(GRAPH, 400.0, holder=state),
    )

    assert keys(causes) == [[GRAPH, STORAGES]]
    assert causes[0].holder is state


@pytest.mark.parametrize(("phase", "n_causes"), [("train", 1), ("evaluate", 2)])
def test_rings_in_c_are_one_cause_wherever_they_were_entered(phase: str, n_causes: int) -> None:
    causes = joined(
        symptom(TENSORS, 9.0, holder=dead(TENSORS), births=born(TENSORS, train=9)),
        symptom(GRAPH, 40.0, holder=in_c("graph"), births=born("graph", **{phase: 9})),
    )

    assert len(causes) == n_causes


def test_a_graph_that_was_not_followed_joins_the_tensors_that_somebody_holds() -> None:
    causes = joined(
        symptom(TENSORS, 9.0, holder=held(TENSORS, item="Tensor"), births=born(TENSORS, train=9)),
        symptom(GRAPH, 40.0, holder=in_c("graph")),
    )

    assert keys(causes) == [[TENSORS, GRAPH]]


def test_a_leak_is_no_part_of_what_is_not() -> None:
    short = symptom(EPISODES, holder=held(EPISODES), births=born(EPISODES, train=9), n=3)
    inside = ("cache (Cache)", ".items (dict, 82)", "[...] (Episode)", ".frames ndarray")

    causes = joined(
        short,
        symptom("arrays_bytes", 1e6, holder=held("arrays", inside, item="ndarray"), births=born("arrays", train=9)),
    )

    assert len(causes) == 2


def test_what_a_collection_freed_is_garbage_though_its_sample_had_no_common_holder() -> None:
    lost = held(EPISODES, root="unknown (search stopped)")
    lost.explains = 1
    few = symptom(EPISODES, 9.0, holder=lost, collected=collected(EPISODES, 7, 6), n=3)

    (cause,) = joined(few)

    assert few.judgement.verdict == "too short"
    assert cause.is_confirmed_garbage


CONTEXT = "torch.autograd.function.ClipBackward"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("inspect.Parameter", True), ("torch.nn.parameter.Parameter", False),
        ("_frozen_importlib_external.FileFinder", True), ("importlib.machinery.ModuleSpec", True),
        ("user.FileFinder", False), ("FileFinder", False),
    ],
)  # fmt: skip
def test_what_imports_leave_is_plumbing(name: str, expected: bool) -> None:
    assert is_plumbing(name) is expected


@pytest.mark.parametrize(("owner", "n_causes"), [(".stats (Stats)", 1), (".agent (Agent)", 2)])
def test_two_lists_of_one_object_are_one_cause(owner: str, n_causes: int) -> None:
    owners, names = (".stats (Stats)", owner), (".x (list, 82)", ".y (list, 9)")
    paths = [("trainer (Trainer)", of, name) for of, name in zip(owners, names, strict=True)]

    causes = joined(*(
        symptom(key, holder=held(key, path, item="list", length=length), births=born(key, train=9))
        for key, path, length in zip(LISTS, paths, (82, 9), strict=True)
    ))  # fmt: skip

    assert len(causes) == n_causes
