"""Which series of a recording may speak, and what is known of each."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scripted_runs import END, LAST, MIB, Curve, born, held, record, rising, symptom

from phaseprof.analysis.symptoms import carry_forward, find_symptoms, stands_in
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.series import Series
from phaseprof.records import Evidence
from phaseprof.verdict import judge

EPISODES = "watched/Episode"


def series(*pairs: tuple[int, float]) -> Series:
    made = Series()
    for generation, value in pairs:
        made.put(generation, value)
    return made


# --- who votes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "metric",
    [EPISODES, "tracked/experience", "graph_nodes", "malloc_in_use_bytes", "descriptors", "threads", "shm_bytes",
     "cuda0/allocated_bytes", "cuda0/active_blocks"],
)  # fmt: skip
def test_these_may_vote(metric: str) -> None:
    assert metric in find_symptoms(record({metric: rising(1)}))


@pytest.mark.parametrize(
    "metric",
    ["count/user.Episode", "storages/cpu_bytes", "cuda0/reserved_bytes", "cuda0/peak_allocated_bytes",
     "malloc_free_bytes", "vms_bytes", "file_and_shm_bytes", "available_bytes", "gc/collections",
     "tracked_total_bytes"],
)  # fmt: skip
def test_these_may_not(metric: str) -> None:
    assert find_symptoms(record({metric: rising(1)})) == {}


def test_only_the_end_of_a_generation_votes() -> None:
    process = record({})
    for g in range(LAST + 1):
        process.add(fmt.Metrics(g, g, {"threads": float(g)}, at="after train"))

    assert find_symptoms(process) == {}


@pytest.mark.parametrize("curve", [5.0, lambda g: 100.0 - g])
def test_what_is_flat_or_falls_is_no_symptom(curve: object) -> None:
    assert "threads" not in find_symptoms(record({"threads": curve}))  # type: ignore[dict-item]


def test_two_readings_are_a_symptom_only_with_evidence() -> None:
    key = EPISODES
    bare = find_symptoms(record({key: rising(1)}, n=3))[key]
    looked_at = find_symptoms(record({key: rising(1)}, [held(key)], n=3))[key]

    assert (bare.judgement.verdict, bare.rises) == ("too short", False)
    assert (looked_at.judgement.verdict, looked_at.rises) == ("too short", True)


def test_what_fell_is_no_rise_whatever_was_looked_for() -> None:
    assert not symptom(EPISODES, -1.0, holder=held(EPISODES), n=3).rises


# --- counts that were written only when they changed ------------------------------------------------------------------


def test_a_count_holds_until_it_is_written_again() -> None:
    filled = carry_forward(series((1, 4.0), (3, 6.0)), [0, 1, 2, 3, 4])

    assert list(filled) == [(0, 0.0), (1, 4.0), (2, 4.0), (3, 6.0), (4, 6.0)]


# --- what our own collections took ------------------------------------------------------------------------------------


# --- evidence ---------------------------------------------------------------------------------------------------------


def test_the_newest_evidence_counts() -> None:
    process = record({EPISODES: rising(1)}, [born(EPISODES, train=5), born(EPISODES, evaluate=5)])

    assert find_symptoms(process)[EPISODES].phase() == "evaluate"


def test_the_evidence_is_the_series_as_it_was_read() -> None:
    evidence = find_symptoms(record({"threads": rising(2)}))["threads"].evidence

    assert (evidence.point, evidence.metric) == (END, "threads")
    assert evidence.values == tuple(100.0 + 2 * g for g in evidence.generations)
    assert evidence.generations == tuple(range(LAST + 1))


@pytest.mark.parametrize(
    ("key", "subject"),
    [(EPISODES, "Episode"), ("watched/Episode", "Episode"), ("threads", "threads"),
     ("count/builtins.list", "list")],
)  # fmt: skip
def test_the_subject_is_the_short_name(key: str, subject: str) -> None:
    assert symptom(key).subject == subject


# --- the phase --------------------------------------------------------------------------------------------------------


def test_survivors_belong_to_the_phase_that_bore_most_bytes() -> None:
    births = fmt.Births(0, 9, "storages", {"many": [90.0, 90.0], "large": [2.0, 9e6]})

    assert symptom("storages/cpu_bytes", births=births).phase() == "large"


def test_without_bytes_the_phase_that_bore_most() -> None:
    assert symptom(EPISODES, births=born(EPISODES, few=2, many=9)).phase() == "many"


def test_a_counter_belongs_to_the_phase_whose_change_is_nearest_to_the_rise() -> None:
    """A phase may take much and give most of it back elsewhere: what comes nearest to the rise stays."""
    births = born("descriptors", 2, opens_and_hands_on=40, keeps=6, hardly=3, closes=-40)  # in two turns

    assert symptom("descriptors", 3.0, births=births).phase() == "keeps"


def test_a_counter_that_rose_in_no_phase_has_none() -> None:
    assert symptom("descriptors", births=born("descriptors", closes=-4)).phase() is None


@pytest.mark.parametrize(
    ("rollout", "train", "phase"),
    [
        (9.0, 6.0, "train"), (9.0, -40.0, "rollout"), (9.0, 1.6, "rollout"), (20.0, 1.4, "rollout"),
        (20.0, 1.6, "train"), (1.4, 0.3, "rollout"),
    ],
)  # fmt: skip
def test_a_counter_is_told_by_the_newest_turns_in_which_it_rose_else_by_those_in_which_it_rose_most(
    rollout: float, train: float, phase: str
) -> None:
    """About the rise, else a quarter of it will do: 1.5 threads in three generations of 2 each."""
    seen = [born("threads", 3, rollout=rollout, train=0.0), born("threads", 3, rollout=0.0, train=train)]

    assert find_symptoms(record({"threads": rising(2)}, seen))["threads"].phase() == phase


def test_three_generations_say_more_than_one_at_the_end() -> None:
    """Both come to what leaks."""
    seen = [born("threads", 3, rollout=6.0), born("threads", 1, train=2.0)]

    assert find_symptoms(record({"threads": rising(2)}, seen))["threads"].phase() == "rollout"


def test_a_phase_within_another_is_told_by_the_turns_in_which_both_were_read() -> None:
    """For want of room only the outermost phases were read later, but for one generation."""
    seen = [born("threads", 3, gather=6.0), born("threads", 3, learn=4.0, gather=2.0)]
    process = record({"threads": rising(2)}, seen)
    process.extend([fmt.Label(0, "learn", "phase"), fmt.Label(1, "gather", "phase", parent=0)])
    process.add(fmt.Point(1, 0, fmt.ENTER, 0, "1 1 1 1 0 1 0"))
    process.add(fmt.Point(2, 1, fmt.ENTER, 0, "1 1 1 1 0 1 0"))
    process.fold()

    assert process.around == {"gather": "learn"}
    assert find_symptoms(process)["threads"].phase() == "gather"


def test_a_counter_at_rest_that_was_followed_has_the_phase_that_adds_least() -> None:
    """A buffer that is full: what one phase takes another gives back, and the slope is nothing."""
    births = born("malloc_in_use_bytes", 3, tokenize=537e3, read=75e3, train=-612e3)

    assert symptom("malloc_in_use_bytes", 0.0, births=births).phase() == "read"


def test_what_filled_up_while_a_counter_was_followed_is_not_taken_for_the_leak() -> None:
    """The turns that were followed brought five times what leaks: a buffer was being filled then."""
    births = born("malloc_in_use_bytes", 1, evaluate=4e6, train=1e6)

    assert symptom("malloc_in_use_bytes", 1e6, births=births).phase() == "train"


def test_without_births_there_is_no_phase() -> None:
    assert symptom(EPISODES).phase() is None


@pytest.mark.parametrize(("n_taken", "verdict"), [(4000.0, "sawtooth"), (5.0, "leak")])
def test_what_the_program_drops_before_a_collection_was_no_garbage(n_taken: float, verdict: str) -> None:
    """Garbage of all generations is one object of each or more."""

    def dropped(height: float) -> Curve:
        return lambda g: height * (g if g < LAST else 0)

    process = record({
        "malloc_in_use_bytes": dropped(MIB),
        "gc/gc_collected": lambda g: n_taken * (g == LAST), "after_full_collection": lambda g: float(g == LAST),
    })  # fmt: skip

    assert find_symptoms(process)["malloc_in_use_bytes"].judgement.verdict == verdict


def test_of_what_goes_up_and_down_the_phase_is_told_by_what_was_followed() -> None:
    """The floor of the teeth rises by next to nothing; what one phase makes waits for the collector."""
    teeth = [1e8 + 1e6 * (g % 12) + 3000 * g for g in range(30)]
    births = born("malloc_in_use_bytes", 3, collect=3e6, train=1e4)
    found = replace(symptom("malloc_in_use_bytes", births=births), judgement=judge(teeth))

    assert found.judgement.shape == "sawtooth"
    assert found.phase() == "collect"


@pytest.mark.parametrize(("n_read", "speaks"), [(7, True), (9, True), (10, False), (20, False)])
def test_resident_memory_speaks_for_memory_in_use_that_was_read_half_as_often(n_read: int, speaks: bool) -> None:
    resident = symptom("anonymous_bytes", 1e6, n=20)

    assert bool(stands_in(resident, {"malloc_in_use_bytes": symptom("malloc_in_use_bytes", 1e6, n=n_read)})) is speaks


@pytest.mark.parametrize(("n_read", "speaks"), [(19, True), (20, False)])
def test_resident_memory_speaks_for_what_missed_a_reading_and_is_undecided(n_read: int, speaks: bool) -> None:
    resident, exact = symptom("anonymous_bytes", 1e6, n=20), symptom("malloc_in_use_bytes", 1e6, n=n_read)
    undecided = replace(exact, judgement=replace(exact.judgement, verdict="growing"))

    assert stands_in(resident, {exact.key: undecided}) == ({exact.key: 1e6} if speaks else {})


@pytest.mark.parametrize(("every", "n"), [(1, 21), (3, 7)])
def test_a_series_rises_in_as_many_generations_as_the_readings_of_single_ones_tell(every: int, n: int) -> None:
    """Fifteen are read one by one, and the last after a gap."""
    values = [1e8 + 3e5 * (g // every) for g in (*range(16), 21)]
    seen = Evidence("end", "malloc_in_use_bytes", (*range(16), 21), tuple(values))
    found = replace(symptom("malloc_in_use_bytes"), evidence=seen)

    assert found.n_rises == n


@pytest.mark.parametrize(
    ("read_to", "later", "verdict"),
    [(12, None, "growing"), (30, None, "leak"), (12, 11.0, "stable"), (12, 39.0, "leak")],
)
def test_a_counter_must_be_seen_to_climb_in_the_later_half(read_to: int, later: float | None, verdict: str) -> None:
    """It was read up to a generation, and perhaps once more at the end; something else was read all along."""
    process = ProcessRun()
    for g in range(40):
        figures = {"rss_bytes": 5.0} | ({"threads": float(g)} if g <= read_to else {})
        figures |= {"threads": later} if g == 39 and later is not None else {}
        process.add(fmt.Metrics(g, g, figures, at=END))

    assert find_symptoms(process)["threads"].judgement.verdict == verdict


@pytest.mark.parametrize(("falls_at", "verdict"), [(24, "growing"), (35, "leak")])
def test_what_falls_in_the_middle_of_a_run_is_no_teardown(falls_at: int, verdict: str) -> None:
    """It was read up to where it fell, and something else all along."""
    process = ProcessRun()
    for g in range(40):
        figures = {"rss_bytes": 5.0} | ({"threads": float(g)} if g < falls_at else {})
        process.add(fmt.Metrics(g, g, figures | ({"threads": 2.0} if g == falls_at else {}), at=END))

    assert find_symptoms(process)["threads"].judgement.verdict == verdict


def test_what_stood_high_before_growth_began_is_no_top() -> None:
    """A cache is dropped after the second generation, and what leaks has not come to as much."""
    process = record({"threads": lambda g: 500.0 if g < 2 else 10.0 * g})

    assert find_symptoms(process)["threads"].judgement.verdict == "leak"
