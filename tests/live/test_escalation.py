"""The stages of an investigation, with scripted boundaries and small real heaps."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator

import pytest

from phaseprof.live.budget import CREDIT_NS, Budget
from phaseprof.live.escalation import (
    AGAIN_AFTER,
    AGAIN_NS,
    MAX_AT_ONCE,
    OLD_ENOUGH,
    PATIENCE,
    PATIENCE_NS,
    Escalation,
)
from phaseprof.live.families import TypeFamily
from phaseprof.live.investigation import Investigation
from phaseprof.live.survivors import own_bytes
from phaseprof.probes.holding import search
from phaseprof.recording import format as fmt
from phaseprof.recording.model import OUTSIDE


class Episode:
    pass


class Bench:
    """An escalation whose boundaries are called by hand, and what it recorded."""

    def __init__(self, share: float | None = None) -> None:
        self.now = 0
        self.records: list[fmt.Record] = []
        self.budget = Budget(share, lambda: self.now)
        self.escalation = Escalation(self.budget, self.records.append, lambda: self.now)
        self.generation = -1

    def turn(self, *boundaries: tuple[str | None, Callable[[], object]]) -> None:
        """One generation: after each action, a boundary that charges it to its owner."""
        self.generation += 1
        self.escalation.at_boundary(None, self.generation)
        for owner, action in boundaries:
            action()
            self.escalation.at_boundary(owner, self.generation)
        self.escalation.at_generation_end(self.generation)

    def follow_episodes(self) -> Investigation:
        family = TypeFamily("count/user.Episode", [Episode])
        one = Investigation(family.key, family.subject, max(0, self.generation), family=family)
        self.escalation.start(one)
        return one

    def of(self, kind: type) -> list[fmt.Record]:
        return [record for record in self.records if type(record) is kind]


@pytest.fixture
def bench() -> Iterator[Bench]:
    gc.collect()
    yield Bench()


def nothing() -> None:
    pass


def count_births(bench: Bench) -> list[dict[str, float]]:
    return [{p: c for p, (c, _) in b.phases.items()} for b in bench.of(fmt.Births)]  # type: ignore[attr-defined]


# --- whom to look at --------------------------------------------------------------------------------------------------


def test_a_suspect_under_way_is_not_wanted_again(bench: Bench) -> None:
    one = bench.follow_episodes()

    assert not bench.escalation.wants(one.key, 0)
    assert bench.escalation.wants("count/user.Step", 0)


@pytest.mark.parametrize(("later", "wanted"), [(AGAIN_AFTER - 1, False), (AGAIN_AFTER, True)])
def test_one_that_was_looked_at_is_wanted_again_after_a_while(bench: Bench, later: int, wanted: bool) -> None:
    bench.escalation.done["x"] = 5

    assert bench.escalation.wants("x", 5 + later) is wanted


@pytest.mark.parametrize(("max_levels", "wanted"), [(2, True), (20, False)])
def test_one_whose_search_met_its_limit_may_be_asked_about_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, max_levels: int, wanted: bool
) -> None:
    monkeypatch.setattr(search, "MAX_LEVELS", max_levels)
    deep: list[list[list[list[Episode]]]] = [[[[]]]]
    one = bench.follow_episodes()
    while one.key in bench.escalation.open:
        bench.turn(("collect", lambda: deep[0][0][0].append(Episode())))

    assert not bench.escalation.wants(one.key, bench.generation)
    bench.escalation.allow_retries()
    assert bench.escalation.wants(one.key, bench.generation) is wanted


def test_only_so_many_are_looked_at_at_once(bench: Bench) -> None:
    for number in range(MAX_AT_ONCE + 3):
        bench.escalation.start(Investigation(f"x{number}", "x", 0, counter=lambda: 0.0))

    assert len(bench.escalation.open) == MAX_AT_ONCE


def test_boundaries_are_read_only_while_someone_is_under_suspicion(bench: Bench) -> None:
    assert not bench.escalation.looks_at_boundaries
    bench.follow_episodes()
    assert bench.escalation.looks_at_boundaries


# --- births -----------------------------------------------------------------------------------------------------------


def test_survivors_are_charged_to_the_phase_before_the_boundary(bench: Bench) -> None:
    kept: list[Episode] = []
    one = bench.follow_episodes()

    for _ in range(OLD_ENOUGH + 1):
        bench.turn(("collect", lambda: kept.append(Episode())), ("train", Episode))

    assert count_births(bench) == [{"collect": 1.0}]
    assert one.phase == "collect"


def test_what_dies_within_the_turn_is_nobodys(bench: Bench) -> None:
    bench.follow_episodes()

    for _ in range(OLD_ENOUGH + 3):
        bench.turn(("collect", Episode))

    assert bench.of(fmt.Births) == []


def test_what_was_there_before_is_nobodys(bench: Bench) -> None:
    kept = [Episode() for _ in range(5)]
    bench.follow_episodes()

    for _ in range(OLD_ENOUGH + 3):
        bench.turn(("collect", nothing))

    assert len(kept) == 5
    assert bench.of(fmt.Births) == []


def test_patience_has_an_end(bench: Bench) -> None:
    one = bench.follow_episodes()

    for _ in range(PATIENCE + 1):
        bench.turn(("collect", nothing))
    assert one.key in bench.escalation.open
    bench.turn(("collect", nothing))

    assert bench.escalation.open == {}
    assert bench.escalation.done == {one.key: bench.generation}
    bench.escalation.allow_retries()
    assert bench.escalation.wants(one.key, bench.generation)


def test_short_generations_do_not_use_up_patience() -> None:
    bench = Bench(0.5)
    one = bench.follow_episodes()
    one.began_ns = bench.now = 10**12

    for _ in range(10 * PATIENCE):
        bench.now += 1_000_000
        bench.turn(("collect", nothing))
    assert one.key in bench.escalation.open
    bench.now += PATIENCE_NS
    bench.turn(("collect", nothing))

    assert one.key not in bench.escalation.open
    assert not bench.escalation.wants(one.key, bench.generation + AGAIN_AFTER)
    bench.now += AGAIN_NS
    assert bench.escalation.wants(one.key, bench.generation + AGAIN_AFTER)


def test_a_counter_is_charged_by_its_changes(bench: Bench) -> None:
    counter = [100.0]

    def add(amount: float) -> Callable[[], None]:
        return lambda: counter.__setitem__(0, counter[0] + amount)

    bench.escalation.start(Investigation("descriptors", "descriptors", 0, counter=lambda: counter[0]))
    for _ in range(OLD_ENOUGH + 2):
        bench.turn(("open", add(5)), ("close", add(-3)), (None, add(1)))

    (births,) = bench.of(fmt.Births)
    turns = births.after  # type: ignore[attr-defined]
    sums = {phase: change for phase, (change, _) in births.phases.items()}  # type: ignore[attr-defined]
    assert sums == {"open": 5.0 * (turns + 1), "close": -3.0 * (turns + 1), OUTSIDE: 1.0 * (turns + 1)}
    assert bench.escalation.open == {}


def test_a_counter_is_followed_until_it_has_risen(bench: Bench) -> None:
    """What comes in every sixth generation did not come in the first three."""
    counter = [100.0]
    one = Investigation("descriptors", "descriptors", 0, counter=lambda: counter[0], rate=0.5)
    bench.escalation.start(one)
    for turn in range(7):
        assert bench.of(fmt.Births) == []
        bench.turn(("open", (lambda: counter.__setitem__(0, 103.0)) if turn == 6 else nothing), ("other", nothing))

    (births,) = bench.of(fmt.Births)
    assert births.phases == {"open": [3.0, 0.0]}  # type: ignore[attr-defined]


def test_a_counter_that_cannot_be_read_is_not_guessed(bench: Bench) -> None:
    bench.escalation.start(Investigation("descriptors", "descriptors", 0, counter=lambda: None))

    for _ in range(OLD_ENOUGH + 2):
        bench.turn(("open", nothing))

    assert bench.of(fmt.Births) == []


@pytest.mark.parametrize(
    ("job", "expected"),
    [("anything else", {"early": 1.0, "late": 107.0}), ("births: counters", {"early": 1.0, "late": 2.0})],
)
def test_counters_have_a_share_of_their_own(job: str, expected: dict[str, float]) -> None:
    """What happened while that is overspent has no phase."""
    bench = Bench(share=0.02)
    counter = [0.0]
    bench.escalation.start(Investigation("descriptors", "descriptors", 0, counter=lambda: counter[0]))

    def overspend() -> None:
        counter[0] += 100
        bench.budget.charge(job, 10 * CREDIT_NS)

    def recover() -> None:
        counter[0] += 5
        bench.now += 10**12

    def go_on() -> None:
        counter[0] += 2

    bench.turn(("early", lambda: counter.__setitem__(0, 1.0)))
    bench.turn(("late", overspend), ("late", recover))
    bench.turn(("late", go_on))
    bench.turn()

    assert count_births(bench) == [expected]


def test_objects_born_while_the_budget_was_empty_have_no_phase() -> None:
    bench = Bench(share=0.02)
    kept: list[Episode] = []
    bench.follow_episodes()
    bench.now += 10**9

    def overspend() -> None:
        kept.append(Episode())
        bench.budget.charge("user", 10 * CREDIT_NS)

    def recover() -> None:
        bench.now += 10**12

    bench.turn(("unseen", overspend), ("after", recover), ("seen", lambda: kept.append(Episode())))
    for _ in range(OLD_ENOUGH):
        bench.turn()

    assert {tuple(phases) for phases in count_births(bench)} == {("seen",)}


def test_what_died_unseen_is_no_survivor() -> None:
    """Under a budget only the young are looked at, until holders are searched."""
    bench = Bench(share=0.02)
    bench.now += 10**12
    bench.follow_episodes()
    passing: list[Episode] = []
    kept: list[Episode] = []

    bench.turn(
        ("train", lambda: passing.extend(Episode() for _ in range(9))), ("collect", lambda: kept.append(Episode()))
    )
    gc.collect()
    passing.clear()
    for _ in range(OLD_ENOUGH):
        bench.turn()

    assert count_births(bench)[0] == {"train": 9.0, "collect": 1.0}
    assert count_births(bench)[-1] == {"collect": 1.0}


# --- holders ----------------------------------------------------------------------------------------------------------


class Trainer:
    def __init__(self) -> None:
        self.episodes: list[Episode] = []


def test_the_holder_is_told_once_and_the_case_is_closed(bench: Bench) -> None:
    trainer = Trainer()
    one = bench.follow_episodes()

    for _ in range(OLD_ENOUGH + 4):
        bench.turn(("collect", lambda: trainer.episodes.append(Episode())))

    (holder,) = bench.of(fmt.Holder)
    assert ".episodes (list, " in " ".join(holder.steps)  # type: ignore[attr-defined]
    assert holder.explains == holder.asked > 0  # type: ignore[attr-defined]
    assert holder.retained_bytes > 0  # type: ignore[attr-defined]
    assert bench.escalation.done.keys() == {one.key}


def test_what_is_asked_about_is_not_kept_alive(bench: Bench) -> None:
    trainer = Trainer()
    refs: list[weakref.ref[Episode]] = []
    bench.follow_episodes()

    def keep() -> None:
        trainer.episodes.append(Episode())
        refs.append(weakref.ref(trainer.episodes[-1]))

    for _ in range(OLD_ENOUGH + 2):
        bench.turn(("collect", keep))
    trainer.episodes.clear()

    assert [ref() for ref in refs] == [None] * len(refs)


def test_findings_that_are_asked_for_early_bring_what_there_is(bench: Bench) -> None:
    trainer = Trainer()
    bench.follow_episodes()
    for _ in range(OLD_ENOUGH + 1):
        bench.turn(("collect", lambda: trainer.episodes.append(Episode())))
    bench.escalation.hurry()

    bench.escalation.finish()

    assert len(bench.of(fmt.Holder)) == 1


# --- dead cycles ------------------------------------------------------------------------------------------------------


# --- words ------------------------------------------------------------------------------------------------------------


def test_one_survivor_weighs_what_the_others_do_not_share() -> None:
    shared = list(range(1000))
    episodes = [[bytes(10_000), shared] for _ in range(3)]

    each = own_bytes(episodes)

    assert 10_000 <= each < 10_000 + 1000
    assert own_bytes([]) == -1


def test_one_in_a_chain_weighs_one_link() -> None:
    links: list[object] = [None]
    for _ in range(6):
        links.append([bytes(10_000), links[-1]])

    assert 10_000 <= own_bytes(links[1:]) < 10_000 + 1000


def numbers() -> list[object]:
    return list(range(40))
