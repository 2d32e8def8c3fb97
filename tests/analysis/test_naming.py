"""What a cause is called: kind, subject, phase, bytes a generation, advice, and the sentence."""

from __future__ import annotations

import pytest
from scripted_runs import LOSSES, born, dead, held, symptom

from phaseprof.analysis.causes import Cause
from phaseprof.analysis.naming import (
    ADVICE,
    advise,
    bytes_per_generation,
    counted_phase,
    main_symptom,
    name_kind,
    name_phase,
    summarise,
)
from phaseprof.analysis.symptoms import Symptom
from phaseprof.records import KINDS, Finding

EPISODES = "count/user.Episode"
TENSORS = "count/torch.Tensor"


def cause(item: str, *symptoms: Symptom, container: str = "builtins.list") -> Cause:
    return Cause(held("x", item=item, container=container), {s.key: s for s in symptoms})


def of(*keys: str) -> list[Symptom]:
    return [symptom(key) for key in keys]


# --- kind and subject -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "keys", "expected"),
    [
        ("user.Episode", [EPISODES], ("objects", "Episode")),
        ("user.Episode", [EPISODES, "storages/cpu_bytes", "arrays_bytes"], ("objects", "Episode")),
        ("torch.Tensor", [TENSORS], ("tensors", "Tensor")),
        ("torch.Tensor", ["graph_nodes", "storages/cpu_bytes"], ("autograd graph", "Tensor")),
        ("builtins.tuple", ["graph_nodes", EPISODES], ("autograd graph", "Tensor")),
        ("user.Episode", ["graph_nodes", EPISODES], ("objects", "Episode")),
        ("numpy.ndarray", ["arrays_bytes"], ("arrays", "ndarray")),
        ("threading.Thread", [EPISODES], ("threads", "Thread")),
        ("socket.socket", ["count/socket.socket"], ("descriptors", "socket")),
        ("builtins.dict", ["storages/cpu_bytes", "arrays_bytes"], ("tensors", "Tensor")),
        ("builtins.dict", ["arrays_bytes", EPISODES], ("arrays", "ndarray")),
        ("builtins.dict", [EPISODES, TENSORS], ("objects", "Episode")),
        ("builtins.dict", [TENSORS, "count/builtins.cell"], ("tensors", "Tensor")),
        ("builtins.str", ["container/list@7f"], ("container", "list")),
        ("builtins.str", ["count/builtins.cell"], ("container", "list")),
    ],
)
def test_kind_and_subject(item: str, keys: list[str], expected: tuple[str, str]) -> None:
    assert name_kind(cause(item, *of(*keys))) == expected


def test_without_a_holder_the_types_speak() -> None:
    assert name_kind(Cause(None, {s.key: s for s in of(EPISODES)})) == ("objects", "Episode")
    assert name_kind(Cause(None, {s.key: s for s in of("count/builtins.dict")})) == ("container", "dict")
    assert name_kind(Cause(None, {s.key: s for s in of("count/builtins.cell")})) == ("objects", "cell")


@pytest.mark.parametrize(
    ("keys", "subject"),
    [([EPISODES, "count/builtins.dict"], "Episode"), (["storages/cpu_bytes"], "Tensor"), ([TENSORS], "Tensor")],
)
def test_dead_cycles_are_garbage_whatever_is_in_them(keys: list[str], subject: str) -> None:
    found = Cause(dead("x"), {s.key: s for s in of(*keys)})

    assert name_kind(found) == ("garbage", subject)


@pytest.mark.parametrize(("light", "heavy"), [(10, 1000), (1000, 10)])
def test_of_two_types_of_the_users_the_heavier_is_named(light: int, heavy: int) -> None:
    one = symptom(EPISODES, holder=held(EPISODES, each=light))
    two = symptom("count/user.Step", holder=held("count/user.Step", each=heavy))

    assert name_kind(cause("builtins.dict", one, two))[1] == ("Step" if heavy > light else "Episode")


# --- the series that speaks -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "subject", "expected"),
    [
        ("objects", "Episode", EPISODES), ("tensors", "Tensor", "storages/cpu_bytes"),
        ("autograd graph", "Tensor", "graph_nodes"), ("arrays", "ndarray", "arrays_bytes"),
        ("container", "list", "container/list@7f"),
    ],
)  # fmt: skip
def test_the_series_of_its_kind_speaks(kind: str, subject: str, expected: str) -> None:
    every = of("container/list@7f", "graph_nodes", "arrays_bytes", "storages/cpu_bytes", EPISODES)

    assert main_symptom(cause("x", *every), kind, subject).key == expected


def test_a_series_that_leaks_speaks_before_one_that_is_too_short() -> None:
    short = symptom("arrays_bytes", n=4)

    assert main_symptom(cause("x", short, symptom(EPISODES)), "arrays", "ndarray").key == EPISODES


# --- bytes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "slope", "expected"),
    [
        ("storages/cpu_bytes", 5e6, 5e6), ("arrays_bytes", 7e6, 7e6), ("graph_bytes", 100.0, 100.0),
        ("graph_nodes", 3.0, 2100.0), (EPISODES, 2.0, 400.0), ("container/list@7f", 4.0, 256.0),
        ("tracked/x", 9e3, 9e3), ("threads", 3.0, 0.0),
    ],
)  # fmt: skip
def test_bytes_of_one_series(key: str, slope: float, expected: float) -> None:
    assert bytes_per_generation(Cause(None, {key: symptom(key, slope)})) == pytest.approx(expected)


def test_objects_weigh_what_one_was_measured_to_retain() -> None:
    weighed = symptom(EPISODES, 2.0, holder=held(EPISODES, each=5000))

    assert bytes_per_generation(Cause(None, {EPISODES: weighed})) == pytest.approx(10_000)


@pytest.mark.parametrize(("whole", "item"), [(82_000, 1000), (82 * 64, 64), (82, 64), (-1, 64)])
def test_items_of_a_container_weigh_their_share_and_no_less_than_64_bytes(whole: int, item: int) -> None:
    key = "container/list@7f"
    weighed = symptom(key, 3.0, holder=held(key, each=whole, length=82))

    assert bytes_per_generation(Cause(None, {key: weighed})) == pytest.approx(3 * item)


def test_symptoms_of_one_leak_are_not_added_up() -> None:
    both = {s.key: s for s in (symptom("storages/cpu_bytes", 5e6), symptom("arrays_bytes", 3e6))}

    assert bytes_per_generation(Cause(None, both)) == pytest.approx(5e6)


# --- the phase --------------------------------------------------------------------------------------------------------


def test_the_main_symptoms_phase_goes_first() -> None:
    main = symptom(EPISODES, births=born(EPISODES, train=3))
    other = symptom(TENSORS, births=born(TENSORS, evaluate=3))

    assert name_phase(cause("x", other, main), main) == "train"


def test_another_symptom_tells_the_phase_where_the_main_one_does_not() -> None:
    main = symptom(EPISODES)
    plumbing = symptom("count/builtins.dict", births=born("x", evaluate=3))
    telling = symptom(TENSORS, births=born("x", train=3))

    assert name_phase(cause("x", main, plumbing, telling), main) == "train"
    assert name_phase(cause("x", main), main) is None


def test_the_allocators_counters_tell_a_phase_too() -> None:
    blocks = symptom("python_blocks", 10.0, births=born("python_blocks", 1, train=10))

    assert counted_phase({"python_blocks": blocks}) == "train"
    assert counted_phase({"malloc_in_use_bytes": symptom("malloc_in_use_bytes"), "python_blocks": blocks}) == "train"
    assert counted_phase({}) is None


# --- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_advice_without_gaps(kind: str) -> None:
    told = advise(kind, "Episode", LOSSES)

    assert told.endswith(".")
    assert "{" not in told


def test_advice_says_where() -> None:
    assert ".stats (Stats) .losses (list, 82)" in advise("objects", "Episode", LOSSES)
    assert "its holder" in advise("objects", None, ())
    assert set(ADVICE) == {*KINDS, "unseen", "logged"}


def finding(verdict: str = "leak", **fields: object) -> Finding:
    given = {"slope": 16.0, "slope_unit": "objects/generation", "since_generation": 4, **fields}
    return Finding(verdict, "objects", "train", "Episode", LOSSES, **given)  # type: ignore[arg-type]


def test_the_sentence_of_a_leak() -> None:
    told = summarise(finding(eta_s=7200.0), 65536)

    assert told == (
        "Episode (objects) born in phase 'train' leaks: +16.0 objects a generation, about 64.00 KiB a generation"
        " since generation 4; held by trainer (Trainer) .stats (Stats) .losses (list, 82) [-1] Episode"
        "; memory ends in about 2 h 0 min"
    )


@pytest.mark.parametrize(
    ("verdict", "word"), [("filling", "fills up"), ("growing", "grows, not (yet) a leak"), ("step", "step")]
)
def test_the_verb_is_the_verdicts(verdict: str, word: str) -> None:
    assert f" {word}: " in summarise(finding(verdict), 0)


def test_bytes_are_told_once() -> None:
    told = summarise(finding(slope=65536.0, slope_unit="bytes/generation"), 65536)

    assert told.count("a generation") == 1
