"""Threads that come and go cost a reader no more than the points that they pass."""

from __future__ import annotations

import cProfile
import pstats

from hypothesis import given
from hypothesis import strategies as st

from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun


def model(records: list[fmt.Record], cuts: list[int] | None = None) -> ProcessRun:
    """A model of the records; it takes in what waits wherever it is cut."""
    process = ProcessRun()
    for number, name in enumerate(("outer", "inner")):
        process.add(fmt.Label(number, name, "phase"))
    process.add(fmt.Label(2, "mark", "checkpoint"))
    for at, record in enumerate(records):
        process.add(record)
        if cuts is not None and at in cuts:
            process.fold()
    process.fold()
    return process


def point(t: int, label: int, edge: int, lane: int) -> fmt.Point:
    return fmt.Point(t, label, edge, t // 8, f"{10 * t} {7 * t} 1 1 0 1 0", th=lane)


def content(process: ProcessRun) -> object:
    series = {key: (list(one.generations), list(one.values)) for key, one in process.series.items()}
    charges = {key: dict(one) for key, one in process.charges.items()}
    return series, {key: {g: v for g, v in one.items() if v} for key, one in charges.items()}, process.phases


STEPS = st.lists(
    st.tuples(st.sampled_from(["thread", "point"]), st.integers(0, 2), st.integers(0, 2), st.integers(0, 3)),
    max_size=40,
)


@given(STEPS, st.lists(st.integers(0, 40), max_size=6))
def test_a_thread_record_means_the_same_wherever_a_batch_ends(
    steps: list[tuple[str, int, int, int]], cuts: list[int]
) -> None:
    records: list[fmt.Record] = [
        fmt.Thread(t, lane) if kind == "thread" else point(t, label, edge, lane)
        for t, (kind, label, edge, lane) in enumerate(steps)
    ]

    assert content(model(records)) == content(model(records, cuts))


def test_what_a_thread_left_open_is_closed_without_an_end() -> None:
    process = model(
        [
            point(1, 0, fmt.ENTER, 3), fmt.Thread(2, 3), point(3, 1, fmt.ENTER, 3), point(4, 1, fmt.EXIT, 3),
            point(5, 0, fmt.EXIT, 3),
        ]
    )  # fmt: skip

    assert {name: totals.visits for name, totals in process.phases.items()} == {"inner": 1}
    assert all(not owner.startswith("outer") for owner, _ in process.charges)


def test_thread_records_cost_no_more_calls_than_points() -> None:
    def n_calls(records: list[fmt.Record]) -> int:
        profile = cProfile.Profile()
        profile.runcall(model, records)
        return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]

    points: list[fmt.Record] = [point(t, 1, 1 + t // 8 % 2, t % 8) for t in range(6000)]
    threads: list[fmt.Record] = [fmt.Thread(t, t % 8) if t % 3 == 0 else record for t, record in enumerate(points)]

    assert n_calls(threads) <= 2 * n_calls(points)
