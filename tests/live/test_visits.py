"""Visits that are only counted: how many, what they stand for, and which visits are recorded all the same."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaseprof import Profiler, load
from phaseprof.live.scopes import CheckpointScope, CountedScope, GenerationScope, PhaseScope
from phaseprof.live.session import Session
from phaseprof.live.settings import Settings
from phaseprof.live.unread import MOST_ASKED, UNSEEN, Unread
from phaseprof.live.visits import FIRST_TURNS, FULL_DETAIL, LONGEST_NS, SHORTEST_NS, Pace, Visited
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun

MS = 1_000_000


class Clock:
    """Stands still unless it is moved."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def session(clock: Clock, tmp_path: Path) -> Session:
    return Session(Settings(run=str(tmp_path / "run")), clock)


def read(session: Session, tmp_path: Path) -> ProcessRun:
    session.close()
    return load(tmp_path / "run").main


# --- phases that ran unread -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_labels", "counted", "owner"), [(2, 0, None), (2, 1, UNSEEN), (MOST_ASKED + 1, 0, UNSEEN)])
def test_where_visits_were_only_counted_the_time_between_is_nobodys(
    clock: Clock, n_labels: int, counted: int, owner: str | None
) -> None:
    pace = Pace(0.02, clock)
    labels = {f"phase {n}": Visited(f"phase {n}", "phase") for n in range(n_labels)}
    unread = Unread(clock, labels, pace)
    pace.n_points = FULL_DETAIL
    pace.admits(labels["phase 0"], clock.now, n_labels)
    for _ in range(counted):
        labels["phase 1"].count()

    assert unread.owner("phase 0") == "phase 0"
    assert unread.owner(None) == owner


def test_where_every_visit_is_recorded_the_time_between_is_outside(clock: Clock) -> None:
    pace, label = Pace(0.02, clock), Visited("phase", "phase")
    unread = Unread(clock, {"phase": label}, pace)

    pace.admits(label, clock.now, 1)

    assert unread.owner(None) is None


# --- the pace ---------------------------------------------------------------------------------------------------------


def test_without_a_budget_every_visit_is_due() -> None:
    pace = Pace(None, lambda: 0)
    pace.n_points = 10 * FULL_DETAIL

    assert pace.next_due(5, 1000) == 0


def test_while_there_is_room_every_visit_is_due(clock: Clock) -> None:
    pace = Pace(0.02, clock)

    assert pace.next_due(0, 1) == 0


def test_a_label_waits_as_long_as_one_visit_of_each_takes_to_earn(clock: Clock) -> None:
    pace = Pace(0.02, clock)
    pace.n_points = 1000
    few, many = pace.next_due(0, 1), pace.next_due(0, 1000)

    assert few == SHORTEST_NS
    assert many > 1000 * 2 * pace.point_ns / 0.02


def test_no_label_waits_for_ever(clock: Clock) -> None:
    pace = Pace(1e-6, clock)
    pace.n_points = 10**6

    assert pace.next_due(0, 2000) == LONGEST_NS


def test_room_comes_back_with_time_that_the_program_ran(clock: Clock) -> None:
    pace = Pace(0.02, clock)
    pace.n_points = 2000
    later = 10_000 * MS

    assert pace.next_due(0, 1) > 0
    assert pace.next_due(later, 1) == 0
    pace.waited_ns = later  # others had the processor
    assert pace.next_due(later, 1) > later


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20))
def test_what_is_taken_adds_up_to_what_was_counted(rounds: list[int]) -> None:
    label = Visited("train", "phase")
    written, stood_for = 0, 0
    for n in rounds:
        for _ in range(n):
            label.count()
        written += label.take_count()
        stood_for += label.take_weight()

    assert written == sum(rounds)
    assert stood_for == sum(rounds) + len(rounds)


# --- scopes -----------------------------------------------------------------------------------------------------------


def visit(session: Session, name: str = "train") -> None:
    with PhaseScope(session, name, None):
        pass


def test_short_visits_are_counted_to_the_last_one(session: Session, clock: Clock, tmp_path: Path) -> None:
    for _ in range(100_000):
        clock.now += MS // 10
        visit(session)

    process = read(session, tmp_path)
    assert process.phases["train"].visits == 100_000
    assert process.phases["train"].timed < 20_000
    assert sum(process.counted.values()) == 100_000 - process.phases["train"].timed


def test_counts_are_written_every_fifty_milliseconds(session: Session, clock: Clock, tmp_path: Path) -> None:
    for _ in range(20_000):
        clock.now += MS // 10
        visit(session)

    killed = load(tmp_path / "run").main  # not closed: what a kill would leave
    assert 20_000 - 500 <= killed.phases["train"].visits <= 20_000
    session.close()


def test_recorded_visits_stand_for_the_time_of_all(session: Session, clock: Clock, tmp_path: Path) -> None:
    for _ in range(50_000):
        with PhaseScope(session, "train", None):
            clock.now += MS // 10

    process = read(session, tmp_path)
    assert process.phases["train"].seconds == pytest.approx(5.0, rel=0.01)


def test_rare_visits_beside_short_ones_are_all_recorded(session: Session, clock: Clock, tmp_path: Path) -> None:
    for _ in range(50):
        for _ in range(2_000):
            clock.now += MS // 10
            visit(session, "step")
        visit(session, "evaluate")

    process = read(session, tmp_path)
    assert process.phases["evaluate"].timed == 50
    assert process.phases["step"].visits == 100_000


@pytest.mark.parametrize("inner_is_counted", [True, False])
def test_a_visit_inside_one_of_the_same_name_ends_nothing_but_itself(
    session: Session, clock: Clock, inner_is_counted: bool
) -> None:
    outer, label = PhaseScope(session, "search", None), session.visited("search", "phase")
    with outer:
        label.due = clock.now + MS if inner_is_counted else 0
        with outer, PhaseScope(session, "search", None):
            assert session.current_phase == "search"
        assert session.current_phase == "search"
    assert session.current_phase is None
    session.close()


def test_one_scope_serves_threads_whose_visits_overlap(session: Session) -> None:
    shared, barrier = PhaseScope(session, "load", None), threading.Barrier(4)
    names: list[object] = []

    def work() -> None:
        for _ in range(20):
            with shared:
                barrier.wait(timeout=30)
                names.append(session.current_phase)
            names.append(session.current_phase)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)

    assert names.count("load") == names.count(None) == 80
    session.close()


def test_a_counted_checkpoint_counts_its_block(session: Session, clock: Clock, tmp_path: Path) -> None:
    assert isinstance(session.point("encoder"), CheckpointScope)
    session.visited("encoder", "checkpoint").due = clock.now + MS

    scope = session.point("encoder")
    assert isinstance(scope, CountedScope)
    with scope, scope:
        pass

    process = read(session, tmp_path)
    roles = {label.role: process.counted.get(number) for number, label in process.labels.items()}
    assert (roles["checkpoint"], roles["block"]) == (1, 2)


def test_items_of_counted_visits_are_added_up(session: Session, clock: Clock, tmp_path: Path) -> None:
    for _ in range(1000):
        with PhaseScope(session, "step", 4.0):
            clock.now += MS // 100
    session.close()

    counted = [record for record in records_of(tmp_path) if isinstance(record, fmt.Visits)]
    recorded = [record for record in records_of(tmp_path) if isinstance(record, fmt.Point) and record.e == fmt.EXIT]
    assert sum(sum(one.items.values()) for one in counted) + sum(one.n for one in recorded) == 4000


def records_of(tmp_path: Path) -> list[fmt.Record]:
    (file,) = (tmp_path / "run").glob("*.jsonl")
    return [fmt.decode(line) for line in file.read_bytes().splitlines()]


def test_generations_that_are_thinned_keep_their_ordinals(
    session: Session, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("phaseprof.recording.model.MAX_GENERATIONS", 1000)
    for index in range(2_500):
        with GenerationScope(session, index + 7, None):
            clock.now += MS // 10

    process = read(session, tmp_path)
    assert session.ordinal == 2_499
    assert len(process.generations) < 1_000
    assert all(one.index == one.ordinal + 7 for one in process.generations)
    assert process.number_of(1_777) == 1_784


def test_the_first_generations_are_recorded_however_many_visits_lie_in_them(
    session: Session, clock: Clock, tmp_path: Path
) -> None:
    for _ in range(30):
        with GenerationScope(session, None, None):
            for at in range(200):
                with PhaseScope(session, "step" + str(at % 10), None):
                    clock.now += MS // 20

    recorded = [one.ordinal for one in read(session, tmp_path).generations]
    assert recorded[:FIRST_TURNS] == list(range(FIRST_TURNS))
    assert len(recorded) < 30


# --- what they are charged --------------------------------------------------------------------------------------------


def grown(pages: int) -> str:
    return f"{1000 + pages} {100 + pages} 10 1 0 7 0"


def points(script: list[tuple[int, int, int, float]]) -> Callable[[], ProcessRun]:
    def build() -> ProcessRun:
        process = ProcessRun()
        for number, name in enumerate(("around", "step")):
            process.add(fmt.Label(number, name, "phase"))
        for at, (label, edge, pages, n) in enumerate(script):
            process.add(fmt.Point(at * 1000, label, edge, 0, grown(pages), n=n))
        process.fold()
        return process

    return build


def test_a_visit_that_stands_for_ten_is_charged_for_ten_and_the_sum_stays() -> None:
    process = points([
        (0, fmt.ENTER, 0, -1), (1, fmt.ENTER, 20, 10), (1, fmt.EXIT, 22, -1), (0, fmt.EXIT, 22, -1),
    ])()  # fmt: skip

    charged = {name: sum(series.values) / 4096 for (name, metric), series in process.charges.items()
               if metric == "anonymous_bytes"}  # fmt: skip
    assert charged == {"around": 20 - 18, "step": 20}
    assert sum(charged.values()) == 22


def test_absurd_weights_of_a_file_are_no_weights() -> None:
    for n in (1e300, float("inf"), -5.0):
        process = points([(1, fmt.ENTER, 0, n), (1, fmt.EXIT, 3, -1)])()
        assert sum(process.charges["step", "anonymous_bytes"].values) == 3 * 4096


def test_a_profiler_that_is_switched_off_in_a_phase_ends_it_quietly() -> None:
    profiler = Profiler(None)
    with profiler.phase("train"):
        profiler.enabled = False
    profiler.enabled = True
    assert profiler._session.current_phase is None
    profiler.close()
