"""Generations that need no block: of an iterable, and ended by the next; and a line of each in the program's log."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import phaseprof
from phaseprof import Profiler, load
from phaseprof.errors import PhaseprofWarning, UsageError
from phaseprof.recording.model import ProcessRun

Read = Callable[[Profiler], ProcessRun]


def turns(process: ProcessRun) -> list[tuple[int | str, bool]]:
    """Number or name of each generation, and whether it ended."""
    return [(one.index, one.seconds is not None) for one in process.generations]


def test_each_item_is_a_generation_and_the_last_one_ends(profiler: Profiler, recorded: Read) -> None:
    seen = list(profiler.generations(range(10, 13)))

    process = recorded(profiler)
    assert seen == [10, 11, 12]
    assert turns(process) == [(10, True), (11, True), (12, True)]


@pytest.mark.parametrize("items", [["a", "b"], (1.5, None), {"x": 1, "y": 2}, iter([3, 4])])
def test_any_iterable_will_do(profiler: Profiler, recorded: Read, items: object) -> None:
    for _ in profiler.generations(items):  # type: ignore[call-overload]
        profiler.checkpoint("body")

    assert recorded(profiler).series["body", "rss_bytes"].generations == [0, 1]


def test_it_is_as_long_as_what_it_goes_through(profiler: Profiler) -> None:
    assert len(profiler.generations(range(7))) == 7
    with pytest.raises(TypeError):
        len(profiler.generations(iter([1])))


def test_break_ends_the_generation(profiler: Profiler, recorded: Read) -> None:
    for _ in profiler.generations(range(10)):
        break
    with profiler.generation("after"):
        pass

    assert turns(recorded(profiler)) == [(0, True), ("after", True)]


def test_an_exception_goes_through_unchanged(profiler: Profiler, recorded: Read) -> None:
    def train() -> None:
        for g in profiler.generations(range(10)):
            if g == 1:
                raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        train()

    assert turns(recorded(profiler)) == [(0, True), (1, True)]


def test_an_item_dies_when_the_body_lets_go(profiler: Profiler) -> None:
    class Batch: ...

    def batches() -> Iterator[Batch]:
        yield Batch()

    for batch in profiler.generations(batches()):
        seen = weakref.ref(batch)
        del batch
        assert seen() is None


def test_what_is_no_iterable_is_refused_at_once(profiler: Profiler) -> None:
    with pytest.raises(UsageError, match="takes an iterable"):
        profiler.generations(3)  # type: ignore[arg-type]


def test_the_next_one_ends_the_one_before(profiler: Profiler, recorded: Read) -> None:
    for g in (5, 6, "last"):
        profiler.next_generation(g)
        profiler.checkpoint("body")

    process = recorded(profiler)
    assert turns(process) == [(5, True), (6, True), ("last", True)]
    assert process.series["body", "rss_bytes"].generations == [0, 1, 2]


def test_findings_end_the_last_one(profiler: Profiler, recorded: Read) -> None:
    profiler.next_generation()

    profiler.findings()
    with profiler.generation("another"):
        pass

    assert turns(recorded(profiler)) == [(0, True), ("another", True)]


def test_one_that_outlives_the_phase_it_began_in_charges_nothing_to_it(profiler: Profiler, recorded: Read) -> None:
    with profiler.phase("setup"):
        profiler.next_generation()
    with profiler.phase("train"):
        profiler.next_generation()
    profiler.checkpoint("bare")

    process = recorded(profiler)
    assert {"setup", "train"} <= process.phases.keys()
    assert process.series["bare", "rss_bytes"].generations == [2]  # the first phase implied one


def test_a_new_recording_begins_without_an_open_generation(profiler: Profiler, tmp_path: Path) -> None:
    profiler.next_generation("old")

    profiler.reconfigure(run=str(tmp_path / "second"))
    profiler.next_generation("new")
    profiler.close()

    assert turns(load(tmp_path / "second").main) == [("new", True)]


def test_a_disabled_profiler_marks_nothing(profiler: Profiler, recorded: Read) -> None:
    profiler.enabled = False

    profiler.next_generation()

    assert list(profiler.generations(range(3))) == [0, 1, 2]
    assert not recorded(profiler).generations


def test_each_generation_is_one_line_in_the_log(profiler: Profiler, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="phaseprof"):
        for _ in profiler.generations(range(7, 9), items=64):
            pass

    first, second = (record.getMessage() for record in caplog.records)
    assert first.startswith("generation 7: ")
    assert second.startswith("generation 8: ")
    assert "items/s" in second
    assert "RSS" in second
    assert {(record.name, record.levelno) for record in caplog.records} == {("phaseprof", logging.INFO)}


def test_nothing_is_logged_unless_it_is_asked_for(profiler: Profiler, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="phaseprof"), profiler.generation():
        pass

    assert not caplog.records


@pytest.mark.filterwarnings("ignore::phaseprof.PhaseprofWarning")
def test_warnings_have_a_category_that_filters_can_name(profiler: Profiler) -> None:
    with profiler.generation(items=-1):  # what counts nothing is warned of, and warnings are errors here
        pass

    assert phaseprof.PhaseprofWarning is PhaseprofWarning
