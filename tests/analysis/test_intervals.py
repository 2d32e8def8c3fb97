"""Where in the loop a figure changes, for recordings without phases of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from phaseprof.analysis.compare_series import Side, interval_changes
from phaseprof.analysis.findings import find_leaks
from phaseprof.analysis.imports import import_files
from phaseprof.analysis.intervals import between_points, phase_of_just, rises_only_with
from phaseprof.analysis.phases import phase_changes
from phaseprof.recording import format as fmt
from phaseprof.recording.model import OUTSIDE, ProcessRun
from phaseprof.recording.reader import load_run

TRACES = Path(__file__).parents[1] / "data" / "traces"


def test_first_interval_begins_at_the_last_point_of_the_turn_before() -> None:
    levels = {"a": {0.0: 1.0, 1.0: 11.0}, "b": {0.0: 4.0, 1.0: 14.0}}

    assert between_points(levels) == {"a": [(1.0, 7.0)], "b": [(0.0, 3.0), (1.0, 3.0)]}


def test_turns_may_be_numbered_by_tens() -> None:
    levels = {"a": {0.0: 1.0, 10.0: 11.0, 20.0: 21.0}, "b": {0.0: 4.0, 10.0: 14.0, 20.0: 24.0}}

    assert between_points(levels)["a"] == [(10.0, 7.0), (20.0, 7.0)]


def test_a_change_over_turns_that_were_not_read_is_not_the_first_intervals() -> None:
    levels = {"a": {0.0: 0.0, 1.0: 10.0, 5.0: 50.0}, "b": {0.0: 4.0, 1.0: 14.0, 5.0: 54.0}}

    assert between_points(levels)["a"] == [(1.0, 6.0)]


def test_a_point_that_is_read_now_and_then_leaves_the_others_whole() -> None:
    turns = [float(g) for g in range(20)]
    levels = {"a": {g: 10 * g for g in turns}, "b": {g: 10 * g + 8 for g in turns}, "c": {0.0: 9.0, 10.0: 109.0}}

    found = between_points(levels)

    assert [change for _, change in found["b"]] == [8.0] * 20
    assert found["a"] == [(1.0, 1.0), (11.0, 1.0)]


@pytest.mark.parametrize("levels", [{}, {"a": {0.0: 1.0, 1.0: 2.0}}])
def test_less_than_two_points_bound_no_interval(levels: dict[str, dict[float, float]]) -> None:
    assert between_points(levels) == {}


def test_a_phase_that_is_visited_now_and_then_counts_by_generation() -> None:
    """What adds 40 pages every fourth generation adds 10 a generation."""
    process = ProcessRun()
    process.add(fmt.Label(1, "train", "phase"))
    process.add(fmt.Label(2, "evaluate", "phase"))
    pages = 1000
    for g in range(40):
        process.add(fmt.GenerationBegin(2 * g, g, g))
        for label, grown in ((1, 1), (2, 40))[: 2 if g % 4 == 0 else 1]:
            process.add(fmt.Point(2 * g, label, fmt.ENTER, g, f"9999 {pages} 0 1 0 9 0"))
            pages += grown
            process.add(fmt.Point(2 * g + 1, label, fmt.EXIT, g, f"9999 {pages} 0 1 0 9 0"))
    process.fold()

    assert phase_changes(process, "anonymous_bytes") == {"train": 4096, "evaluate": 10 * 4096}


def test_changes_stand_in_the_order_of_their_generations() -> None:
    process = ProcessRun()
    process.add(fmt.Label(1, "train", "phase"))
    for g in range(4):
        process.add(fmt.GenerationBegin(2 * g, g, g))
        for edge, pages in ((fmt.ENTER, 0), (fmt.EXIT, 5))[: 2 if g in (1, 3) else 0]:
            process.add(fmt.Point(2 * g, 1, edge, g, f"9999 {100 + pages} 0 1 0 9 0"))
    process.fold()

    changes = interval_changes(Side(process, None), "anonymous_bytes")

    assert changes["train"].tolist() == [0, 5 * 4096, 0, 5 * 4096]


@pytest.mark.parametrize(("trace", "phase"), [("dreamer_collect", "after collect"), ("dreamer_graph", "after rssm")])
def test_an_imported_leak_on_the_device_names_the_interval_that_keeps_it(
    tmp_path: Path, trace: str, phase: str
) -> None:
    import_files([TRACES / f"{trace}.csv.gz"], tmp_path / "run")

    first = find_leaks(load_run(tmp_path / "run").main)[0]

    assert (first.verdict, first.kind, first.phase) == ("leak", "gpu", phase)


def test_a_loop_read_at_its_ends_only_blames_its_inside(tmp_path: Path) -> None:
    import_files([TRACES / "leak_league.csv.gz"], tmp_path / "run")

    first = find_leaks(load_run(tmp_path / "run").main)[0]

    assert (first.verdict, first.kind, first.phase) == ("leak", "gpu", "end of iteration")


@pytest.mark.parametrize("trace", ["dreamer_none", "healthy_fill", "healthy_varlen"])
def test_imported_healthy_runs_have_no_leak(tmp_path: Path, trace: str) -> None:
    import_files([TRACES / f"{trace}.csv.gz"], tmp_path / "run")

    assert not [f for f in find_leaks(load_run(tmp_path / "run").main) if f.verdict == "leak"]


@pytest.mark.parametrize(
    ("rises_in", "visits", "found"),
    [
        ({3, 7, 11, 15}, {"train": range(16), "consolidate": (3, 7, 11, 15)}, {"consolidate"}),
        ({3, 7, 11, 15}, {"consolidate": (3, 7, 11, 15), "sleep": (3, 7, 11, 15)}, {"consolidate", "sleep"}),
        ({3, 7, 11, 15}, {"consolidate": (3, 7, 11)}, set()),  # one rise came without it
        ({3, 7, 11, 15}, {"consolidate": range(1, 16, 2)}, set()),  # it came without a rise
        ({3, 7}, {"consolidate": (3, 7)}, set()),  # twice may be chance
        (set(range(16)), {"train": range(16)}, set()),
    ],
)
def test_what_rises_in_some_generations_is_made_by_the_phase_that_comes_in_those(
    rises_in: set[int], visits: dict[str, Sequence[int]], found: set[str]
) -> None:
    steps = {g: 1000.0 if g in rises_in else 3.0 for g in range(16)}

    assert rises_only_with(steps, visits) == found


@pytest.mark.parametrize(
    ("changes", "phase"),
    [
        ({"install": 176.0, "run": 343.0, "select": -233.0}, "install"), ({"install": 176.0, "run": 180.0}, None),
        ({OUTSIDE: 180.0, "run": 343.0}, None), ({}, None),
    ],
)  # fmt: skip
def test_the_one_phase_that_changes_by_just_the_rise(changes: dict[str, float], phase: str | None) -> None:
    assert phase_of_just(changes, 181.0) == phase
