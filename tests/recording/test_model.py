"""What the model makes of records beyond their series."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun


def test_a_count_of_a_watched_class_makes_it_watched() -> None:
    process = ProcessRun()

    process.add(fmt.Metrics(0, 0, {"watched/Env": 2.0, "threads": 1.0}))

    assert {name: (watch.low, watch.high) for name, watch in process.watches.items()} == {"Env": (-1, -1)}


def test_a_look_after_the_program_dropped_its_memory_takes_the_place_of_none_that_saw_it_grow() -> None:
    process = ProcessRun()
    for g, came in ((5, 1000), (9, 3000), (12, -2500)):
        process.add(fmt.Places(g, g, g - 3, came, [], libraries=False))

    assert process.places is not None
    assert process.places.g == 9


@pytest.mark.parametrize(
    ("newest", "last", "told"),
    [((5, 30, 100), 30, 20), ((5, 30, 100), 40, 30), ((5, 30, 900), 30, 30), ((20, 30, 100), 30, 30)],
    ids=["done with it", "the run goes on", "most is there", "a younger one before it"],
)
def test_the_last_look_after_the_program_is_done_with_what_grew_does_not_hide_it(
    newest: tuple[int, int, int], last: int, told: int
) -> None:
    process = ProcessRun()
    for since, g, came in ((5, 20, 1000), newest):
        process.add(fmt.GenerationBegin(g, g, g))
        process.add(fmt.Places(g, g, since, came, [], libraries=False))
    process.add(fmt.GenerationBegin(last, last, last))

    assert process.looks[False].g == told


# Metrics of one of a few kinds, with a watch in between.
METRICS = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from(["", "a", "ab", "ba", "cb"]), st.integers(0, 3)), max_size=40
)  # fmt: skip


@given(METRICS, st.integers(0, 40))
@settings(max_examples=100, deadline=None)
def test_metrics_taken_in_at_once_are_as_one_by_one(seen: Sequence[tuple[int, str, int]], cut: int) -> None:
    names = {"a": "count/A", "b": "threads", "c": "watched/C"}
    records = [
        fmt.Metrics(t, g, {names[one]: float(value) for one in kind}) if kind else fmt.Watch("C", value)
        for t, (g, kind, value) in enumerate(seen)
    ]
    at_once, one_by_one = ProcessRun(), ProcessRun()

    at_once.extend(records[:cut])
    at_once.extend(records[cut:])
    for record in records:
        one_by_one.add(record)

    for process in (at_once, one_by_one):
        process.series = {key: list(series) for key, series in process.series.items()}  # type: ignore[misc]
    for name in ("series", "first_counts", "watches", "last_ns", "n_records"):
        assert getattr(at_once, name) == getattr(one_by_one, name), name
    assert list(at_once.series) == list(one_by_one.series)
