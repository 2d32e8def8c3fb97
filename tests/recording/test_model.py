"""What the model makes of records beyond their series."""

from __future__ import annotations

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
