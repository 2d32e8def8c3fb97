"""What the model makes of records beyond their series."""

from __future__ import annotations

from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun


def test_a_count_of_a_watched_class_makes_it_watched() -> None:
    process = ProcessRun()

    process.add(fmt.Metrics(0, 0, {"watched/Env": 2.0, "threads": 1.0}))

    assert {name: (watch.low, watch.high) for name, watch in process.watches.items()} == {"Env": (-1, -1)}
