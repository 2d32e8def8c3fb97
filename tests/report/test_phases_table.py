"""The table of phases and checkpoints: what was only counted is there as well, and says so."""

from __future__ import annotations

import pytest

from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.report.phases import PhaseRow, build_phases

MS = 1_000_000
LABELS = (
    fmt.Label(0, "generation", "generation"), fmt.Label(1, "train", "phase"), fmt.Label(2, "backward", "block"),
    fmt.Label(3, "after backward", "checkpoint"),
)  # fmt: skip


def rows(*, first_ms: int, stands_for: int, train_ms: int = 100, n: int = 6) -> dict[str, PhaseRow]:
    """Generations with sixteen blocks each, of which the first is recorded and stands for ``stands_for``."""
    process = ProcessRun()
    for label in LABELS:
        process.add(label)
    for g in range(n):
        at = g * 200 * MS
        edges = (
            (0, 0, fmt.ENTER, -1), (0, 1, fmt.ENTER, 1),
            (10, 2, fmt.ENTER, stands_for), (10 + first_ms, 2, fmt.EXIT, -1),
            (train_ms - 1, 3, fmt.POINT, -1), (train_ms, 1, fmt.EXIT, -1), (train_ms, 0, fmt.EXIT, -1),
        )  # fmt: skip
        process.add(fmt.GenerationBegin(at, g, g))
        for ms, label, edge, items in edges:
            process.add(fmt.Point(at + ms * MS, label, edge, g, "2000 1000 10 0 0 0 0", {}, float(items)))
        process.add(fmt.Visits(at + train_ms * MS, g, {2: stands_for - 1, 3: 2} if stands_for > 1 else {3: 2}))
        process.add(fmt.GenerationEnd(at + train_ms * MS, g, train_ms / 1e3, -1))
    return {row.name: row for row in build_phases(process).rows}


def test_a_checkpoint_was_passed_as_often_as_it_was_recorded_and_counted() -> None:
    assert rows(first_ms=5, stands_for=1)["after backward"].visits == 6 * 3


def test_a_time_that_some_visits_stand_for_is_marked_as_an_estimate() -> None:
    found = rows(first_ms=5, stands_for=16)

    assert found["backward"].seconds == pytest.approx(0.080)
    assert (found["backward"].time, found["train"].time) == ("~80 ms", "100 ms")


def test_an_estimate_is_never_longer_than_the_phase_around_it() -> None:
    """The first visit of a generation is slow, and was taken for sixteen."""
    assert rows(first_ms=20, stands_for=16)["backward"].seconds == pytest.approx(0.100)


def test_nothing_is_marked_where_each_visit_was_measured() -> None:
    found = rows(first_ms=5, stands_for=1)

    assert not any(row.is_estimate for row in found.values())
    assert found["backward"].time == "5 ms"
