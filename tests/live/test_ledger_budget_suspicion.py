"""The bookkeeping of the live side, on scripted numbers and a scripted clock."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaseprof.live.budget import CREDIT_NS, HASTE, STEADY, Budget, WholeTurns
from phaseprof.live.ledger import UNSEEN, BirthLedger, DeltaLedger
from phaseprof.live.suspicion import rise, rises_still
from phaseprof.recording.model import OUTSIDE
from phaseprof.recording.series import Series


class Clock:
    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


def alive(*identities: int) -> dict[int, int]:
    return dict.fromkeys(identities, 10)


# --- births -----------------------------------------------------------------------------------------------------


def test_what_was_there_before_has_no_birth() -> None:
    ledger = BirthLedger()

    ledger.see(alive(1, 2), "train", 0)
    ledger.see(alive(1, 2), "train", 1)

    assert ledger.survivors(5, 0) == {}


def test_a_survivor_belongs_to_the_phase_it_was_born_in() -> None:
    ledger = BirthLedger()
    ledger.see(alive(1), None, 0)
    ledger.see(alive(1, 2, 3), "collect", 0)
    ledger.see(alive(1, 2, 3, 4), "train", 0)
    ledger.see(alive(1, 2, 4), None, 1)

    assert ledger.by_phase(1, 1) == {"collect": 1, "train": 1}


def test_age_is_counted_in_generations() -> None:
    ledger = BirthLedger()
    ledger.see(alive(), None, 0)
    ledger.see(alive(1), "train", 3)

    assert [list(ledger.survivors(generation, 2)) for generation in (4, 5)] == [[], [1]]


def test_an_address_used_again_is_another_birth() -> None:
    ledger = BirthLedger()
    ledger.see(alive(), None, 0)
    ledger.see(alive(7), "collect", 0)
    ledger.see(alive(), "collect", 1)
    ledger.see(alive(7), "train", 2)

    assert ledger.survivors(9, 1)[7].phase == "train"


def test_an_old_one_whose_address_is_used_again_is_a_birth() -> None:
    ledger = BirthLedger()
    ledger.see(alive(7), None, 0)
    ledger.see(alive(), None, 0)
    ledger.see(alive(7), "train", 1)

    assert ledger.survivors(9, 1)[7].phase == "train"


def test_a_young_reading_says_nothing_of_the_old() -> None:
    ledger = BirthLedger()
    ledger.see(alive(), None, 0)
    ledger.see(alive(1), "train", 0)

    ledger.see(alive(2), "train", 1, complete=False)

    assert set(ledger.survivors(9, 1)) == {1, 2}


def test_a_young_one_missing_from_a_young_reading_is_dead_unless_it_may_have_moved() -> None:
    for moved, left in ((False, set()), (True, {1})):
        ledger = BirthLedger()
        ledger.see(alive(), None, 0)
        ledger.see(alive(1), "train", 0, complete=False)
        ledger.see(alive(), "train", 0, complete=False, moved=moved)

        assert set(ledger.survivors(9, 1)) == left


def test_one_that_was_old_already_at_its_first_complete_reading_keeps_its_birth() -> None:
    ledger = BirthLedger()
    ledger.see(alive(), None, 0)
    ledger.see(alive(1, 2), "collect", 1, moved=True)
    ledger.see(alive(2), None, 1, complete=False)
    ledger.see(alive(), "train", 1, complete=False)

    ledger.see(alive(1), None, 1)

    assert {i: birth.phase for i, birth in ledger.survivors(9, 1).items()} == {1: "collect"}


def test_outside_phases_has_a_name() -> None:
    ledger = BirthLedger()
    ledger.see(alive(), None, 0)
    ledger.see(alive(1), None, 0)

    assert list(ledger.by_phase(1, 1)) == [OUTSIDE]


@given(st.lists(st.tuples(st.sampled_from([None, "a", "b"]), st.floats(-1e6, 1e6)), min_size=1, max_size=40))
def test_deltas_add_up_to_the_change(readings: list[tuple[str | None, float]]) -> None:
    ledger = DeltaLedger()

    for owner, value in readings:
        ledger.see(value, owner)
    ledger.end_turn(whole=True)

    assert sum(ledger.by_phase().values()) == pytest.approx(readings[-1][1] - readings[0][1], abs=1e-3)


def test_a_delta_belongs_to_the_phase_before_the_reading() -> None:
    ledger = DeltaLedger()

    for owner, value in ((None, 5.0), ("a", 7.0), (None, 6.0), ("a", 8.0)):
        ledger.see(value, owner)

    assert ledger.by_phase() == {}
    ledger.end_turn(whole=True)

    assert ledger.by_phase() == {"a": 4.0, OUTSIDE: -1.0}
    assert ledger.n_turns == 1


def test_generations_whose_end_was_not_measured_count_with_the_next() -> None:
    ledger = DeltaLedger()
    for g in range(4):
        ledger.see(10.0 * g, None)
        ledger.see(10.0 * g + 10.0, "a")

    ledger.end_turn(whole=True, turns=4)

    assert ledger.by_phase()["a"] / ledger.n_turns == 10.0


def test_of_a_turn_that_was_read_in_part_nothing_counts() -> None:
    ledger = DeltaLedger()
    ledger.see(1.0, None)
    ledger.see(5.0, "a")
    ledger.end_turn(whole=False)

    ledger.see(6.0, UNSEEN)
    ledger.see(8.0, "b")
    ledger.end_turn(whole=True)

    assert ledger.by_phase() == {"b": 2.0}
    assert ledger.n_turns == 1


# --- budget -----------------------------------------------------------------------------------------------------


def test_what_fits_into_the_share_of_wall_time_is_admitted() -> None:
    clock = Clock()
    budget = Budget(0.02, clock)
    budget.charge("before", CREDIT_NS)

    assert not budget.admits("job", 2_000_000)
    clock.now = round(100_000_000 / STEADY)
    assert budget.admits("job", 2_000_000)
    assert not budget.admits("job", 2_000_001)
    assert budget.skipped == {"job": 2}


def test_in_haste_more_of_the_share_may_be_spent() -> None:
    clock = Clock()
    budget = Budget(0.02, clock)
    budget.charge("before", CREDIT_NS)
    clock.now = 1_000_000_000

    budget.is_urgent = True

    assert budget.room_ns() == pytest.approx(HASTE * 20_000_000)
    budget.charge("a closer look", round(HASTE * 20_000_000))
    assert budget.room_ns() == pytest.approx(0)
    budget.is_urgent = False
    assert budget.room_ns() < 0


@pytest.fixture
def turns() -> tuple[WholeTurns, Budget, Clock]:
    """A job of 1 ms at each boundary, which may take a fifth of 2 % and 2 ms at first."""
    clock = Clock()
    budget = Budget(0.02, clock)
    return WholeTurns(budget, "job", part=0.2, credit_ns=2_000_000), budget, clock


def pass_boundaries(turns: tuple[WholeTurns, Budget, Clock], turn: int, n: int) -> list[bool]:
    """Return which of ``n`` boundaries of one generation were read; each takes 1 ms."""
    whole, budget, clock = turns
    read = []
    for _ in range(n):
        read.append(whole.admits(turn))
        if read[-1]:
            with budget.spending("job"):
                clock.now += 1_000_000
    return read


def test_a_generation_is_read_when_there_is_room_for_all_of_it(turns: tuple[WholeTurns, Budget, Clock]) -> None:
    clock = turns[2]
    assert pass_boundaries(turns, 0, 3) == [True] * 3

    assert pass_boundaries(turns, 1, 3) == [False] * 3
    clock.now += 700_000_000  # 2.8 ms more: two boundaries' worth
    assert pass_boundaries(turns, 2, 3) == [False] * 3
    clock.now += 300_000_000
    assert pass_boundaries(turns, 3, 3) == [True] * 3


def test_one_that_turns_out_longer_is_given_up(turns: tuple[WholeTurns, Budget, Clock]) -> None:
    whole, _, clock = turns
    assert pass_boundaries(turns, 0, 8) == [True] * 4 + [False] * 4

    assert whole.take_gap()
    assert not whole.take_gap()
    clock.now += 10**12
    assert pass_boundaries(turns, 1, 8) == [True] * 8
    assert not whole.take_gap()


def test_generations_that_were_read_count_once(turns: tuple[WholeTurns, Budget, Clock]) -> None:
    whole = turns[0]
    for turn in (0, 1, 2, 2):
        whole.admits(turn)

    assert (whole.take_whole(), whole.take_whole()) == (3, 1)
    whole.admits(3)
    whole.admits(90)  # of those between, no boundary was passed
    assert whole.take_whole() == 2


def test_one_slow_reading_does_not_switch_the_rest_off(turns: tuple[WholeTurns, Budget, Clock]) -> None:
    whole, budget, clock = turns
    clock.now += 10**9
    for n in range(20):
        assert whole.admits(0)
        with budget.spending("job"):
            clock.now += 3_000_000 if n == 19 else 10_000
    clock.now += 10**9

    assert whole.admits(1)


def test_a_turn_is_whole_when_all_of_it_was_read(turns: tuple[WholeTurns, Budget, Clock]) -> None:
    pass_boundaries(turns, 0, 3)
    assert turns[0].was_whole(0)
    pass_boundaries(turns, 1, 3)
    assert not turns[0].was_whole(1)


def test_without_a_bound_every_boundary_is_read() -> None:
    whole = WholeTurns(Budget(None, Clock()), "job", part=0.2, credit_ns=0)

    assert all(whole.admits(turn) for turn in (0, 0, 1))
    assert not whole.take_gap()


def test_without_a_bound_everything_is_admitted() -> None:
    budget = Budget(None, Clock())
    budget.charge("job", 10**15)

    assert budget.admits("job", 10**15)
    assert budget.room_ns() == float("inf")


def test_the_estimate_is_the_last_cost() -> None:
    clock = Clock()
    budget = Budget(0.5, clock)

    with budget.spending("job"):
        clock.now += 70

    assert (budget.estimate_ns("job", 5), budget.estimate_ns("other", 5)) == (70, 5)


def test_a_job_inside_another_is_charged_once() -> None:
    clock = Clock()
    budget = Budget(0.5, clock)

    with budget.spending("outer"):
        clock.now += 10
        with budget.spending("inner"):
            clock.now += 7
        clock.now += 3
        with budget.spending("inner"):
            clock.now += 5

    assert (budget.spent_ns["outer"], budget.spent_ns["inner"], budget.total_ns) == (13, 12, 25)


def test_a_job_that_fails_is_charged() -> None:
    clock = Clock()
    budget = Budget(0.5, clock)

    with pytest.raises(ZeroDivisionError), budget.spending("job"):
        clock.now += 9
        _ = 1 / 0

    assert budget.total_ns == 9


# --- suspicion --------------------------------------------------------------------------------------------------


def series(*values: float) -> Series:
    made = Series()
    for generation, value in enumerate(values):
        made.put(generation, value)
    return made


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((0, 0, 1, 2, 3), 1.0),
        ((0, 0, 1, 1, 3, 3, 5), 1.0),  # a staircase
        ((9, 9, 5, 5, 5), 0.0),
        ((0, 0, 5, 5, 9), 0.0),  # one step is not enough
        ((5, 9, 9, 9, 9), 0.0),  # rises while warming up only
        ((0, 0, 1, 5, 1, 5), 0.0),  # up and down
        ((6, 5, 7, 6, 8, 7, 9, 8, 10, 9, 11), 0.5),  # two more in every second generation, and one less
        ((6, 5, 7, 6, 7, 5, 7, 6, 7, 5, 7), 0.0),
        ((0, 0, 1, 2), 0.0),  # too short
        ((0, 0, 1, 2, 3, 0), 0.0),  # it fell back
    ],
)
def test_what_is_worth_a_look(values: tuple[float, ...], expected: float) -> None:
    assert rise(series(*values)) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0, 0, 10, 20, 30, 40, 50], True),
        ([0, 0, 10, 10, 10, 50, 50, 50, 50, 90], True),  # a step every fourth generation
        ([0, 0, 10, 20, 30, 30, 30, 30, 30], False),
        ([0, 0, 1, 2, 3, 4, 5], False),
        ([0, 10, 20], False),
    ],
)
def test_haste_ends_where_the_rise_does(values: list[float], expected: bool) -> None:
    series = Series()
    series.extend(range(len(values)), values)

    assert rises_still(series, 5.0) is expected


def test_no_series_is_not_suspicious() -> None:
    assert not rises_still(None, 0.0)
    assert rise(None) == 0.0


def test_what_grew_old_unseen_is_not_taken_for_dead() -> None:
    ledger = BirthLedger()
    ledger.see(alive(), None, 0, complete=False)
    ledger.see(alive(1), "train", 0, complete=False)
    ledger.see(alive(), "train", 0, complete=False, moved=True)

    ledger.see(alive(), None, 0, complete=False)

    assert ledger.by_phase(1, 1)["train"] == 1


def test_an_address_that_is_young_again_is_another_birth() -> None:
    ledger = BirthLedger()
    ledger.see(alive(), None, 0, complete=False)
    ledger.see(alive(1), "train", 0, complete=False)
    ledger.see(alive(), "train", 0, complete=False, moved=True)

    ledger.see(alive(1), "evaluate", 0, complete=False)

    assert set(ledger.by_phase(1, 1)) == {"evaluate"}


@pytest.mark.parametrize("share", [0.02, None])
def test_a_generation_that_is_left_out_is_not_whole_and_leaves_a_gap(share: float | None) -> None:
    clock = Clock()
    turns = WholeTurns(Budget(share, clock), "births: counters", part=0.2, credit_ns=4_000_000)
    assert turns.admits(5)
    assert turns.was_whole(5)

    turns.leave_out(6)

    assert not turns.was_whole(6)
    assert turns.take_gap()
    assert turns.admits(7)
    assert turns.was_whole(7)
