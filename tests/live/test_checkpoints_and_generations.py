"""``checkpoint`` and ``generation``: what is recorded, in which turn, and to whom a change is charged."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from phaseprof import Profiler, load
from phaseprof.errors import PhaseprofWarning, UsageError
from phaseprof.recording.model import ProcessRun

Read = Callable[[Profiler], ProcessRun]
Make = Callable[..., Profiler]


def readings(process: ProcessRun, point: str) -> list[int]:
    """The generations in which a point was read."""
    return process.series[point, "rss_bytes"].generations


def test_a_point_is_recorded_by_the_call(profiler: Profiler, recorded: Read) -> None:
    with profiler.generation():
        profiler.checkpoint("after optimizer")

    assert readings(recorded(profiler), "after optimizer") == [0]


def test_a_block_records_the_point_and_the_span(profiler: Profiler, recorded: Read) -> None:
    with profiler.generation(), profiler.checkpoint("encoder"):
        pass

    process = recorded(profiler)
    assert [readings(process, name) for name in ("encoder", "encoder: start", "after encoder")] == [[0], [0], [0]]
    assert process.phases["encoder"].visits == 1


def test_one_checkpoint_object_serves_many_blocks(profiler: Profiler, recorded: Read) -> None:
    scope = profiler.checkpoint("again")

    with scope, scope:
        pass

    assert recorded(profiler).phases["again"].visits == 2


@pytest.mark.parametrize("label", [3, None, ["list"], b"bytes", "", " "])
def test_a_label_that_is_no_text_is_refused_and_nothing_recorded(
    profiler: Profiler, recorded: Read, label: object
) -> None:
    with pytest.raises(UsageError, match="label must be a non-empty string"):
        profiler.checkpoint(label)  # type: ignore[arg-type]

    assert not recorded(profiler).labels


def test_a_label_of_other_bytes_is_recorded(profiler: Profiler, recorded: Read) -> None:
    profiler.checkpoint("file \udcff name")

    process = recorded(profiler)
    assert [label.name for label in process.labels.values()] == ["file ? name"]
    assert process.notes == []


def test_turns_are_numbered_and_named(profiler: Profiler, recorded: Read) -> None:
    for index in (10, "warm-up", None):
        with profiler.generation(index):
            profiler.checkpoint("p")

    process = recorded(profiler)
    assert [(g.ordinal, g.index) for g in process.generations] == [(0, 10), (1, "warm-up"), (2, 2)]
    assert readings(process, "p") == [0, 1, 2]


@pytest.mark.parametrize("index", [2**70, "a \udcff", True, 1.5, 10**400])
def test_any_index_can_be_written(profiler: Profiler, recorded: Read, index: object) -> None:
    with profiler.generation(index):  # type: ignore[arg-type]
        pass

    process = recorded(profiler)
    assert len(process.generations) == 1
    assert process.notes == []


def test_items_and_seconds_are_kept(profiler: Profiler, recorded: Read) -> None:
    with profiler.generation(items=128):
        pass
    with profiler.generation() as turn:
        turn.items = 64
    with profiler.generation(items=float("nan")):
        pass

    generations = recorded(profiler).generations
    assert [g.items for g in generations] == [128, 64, None]
    assert all(g.seconds is not None and 0 <= g.seconds < 60 for g in generations)


def test_a_nested_generation_is_told_and_not_counted(profiler: Profiler, recorded: Read) -> None:
    with profiler.generation("outer"), pytest.warns(PhaseprofWarning, match="not counted"), profiler.generation("in"):
        profiler.checkpoint("p")
    with profiler.generation("next"):
        pass

    assert [g.index for g in recorded(profiler).generations] == ["outer", "next"]


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_an_exception_ends_the_turn_and_comes_out(
    profiler: Profiler, recorded: Read, kind: type[BaseException]
) -> None:
    planned = kind("planned")

    with pytest.raises(kind) as caught, profiler.generation(), profiler.phase("train"):
        raise planned
    with profiler.generation(), profiler.phase("train"):
        pass

    process = recorded(profiler)
    assert caught.value is planned
    assert [g.seconds is not None for g in process.generations] == [True, True]
    assert readings(process, "after train") == [0, 1]


def test_without_a_generation_one_ends_when_a_phase_comes_round(make: Make, recorded: Read) -> None:
    profiler = make(min_generation_s=0)
    for _ in range(3):
        with profiler.phase("evaluate"), profiler.phase("inner"):
            pass
        with profiler.phase("train"):
            pass

    process = recorded(profiler)
    assert readings(process, "after evaluate") == [0, 1, 2]
    assert readings(process, "after inner") == [0, 1, 2]
    assert readings(process, "after train") == [0, 1, 2]


def test_generations_that_were_implied_come_before_those_declared(make: Make, recorded: Read) -> None:
    profiler = make(min_generation_s=0)
    for _ in range(3):
        with profiler.phase("collect"):
            pass
    for _ in range(2):
        with profiler.generation(), profiler.phase("collect"):
            pass

    assert readings(recorded(profiler), "after collect") == [0, 1, 2, 3, 4]


def test_short_rounds_without_a_generation_are_gathered_and_the_user_is_told(make: Make, recorded: Read) -> None:
    profiler = make(min_generation_s=0.02)
    began = time.perf_counter()
    while time.perf_counter() - began < 0.1:
        with profiler.phase("collect"):
            pass

    process = recorded(profiler)
    assert 1 < len(readings(process, "after collect")) <= 6
    (note,) = [note for note in process.notes if "0.02 s of them count as one" in note]
    assert "generation()" in note and "--generation" in note


def test_a_phase_around_the_loop_stays_open(profiler: Profiler, recorded: Read) -> None:
    with profiler.phase("whole run"):
        for _ in range(2):
            with profiler.generation(), profiler.phase("train"):
                pass
        profiler.checkpoint("still inside")

    process = recorded(profiler)
    assert process.phases["whole run"].visits == 1
    assert ("still inside", "anonymous_bytes") not in process.charges


def test_closing_inside_a_turn_ends_the_recording_there(profiler: Profiler, recorded: Read) -> None:
    with profiler.generation(), profiler.phase("train"):
        profiler.close()

    process = recorded(profiler)
    assert process.ended is not None
    assert process.notes == []


def test_the_report_is_printed_every_so_many_turns(
    make: Callable[..., Profiler], capsys: pytest.CaptureFixture
) -> None:
    profiler = make(report_every=2)

    for _ in range(4):
        with profiler.generation():
            pass

    assert len(re.findall("MEMORY REPORT", capsys.readouterr().out, flags=re.IGNORECASE)) == 2


def test_a_report_names_the_turn_that_it_is_due_in_however_short_turns_are(
    make: Callable[..., Profiler], capsys: pytest.CaptureFixture
) -> None:
    profiler = make(report_every=100)
    profiler.track("replay", lambda: [1, 2, 3])

    for g in range(300):
        with profiler.generation(g):
            pass

    assert re.findall(r"Memory Report - Epoch (\d+)", capsys.readouterr().out) == ["99", "199", "299"]


def test_configuring_anew_begins_another_recording(tmp_path: Path, make: Callable[..., Profiler]) -> None:
    profiler = make(run=str(tmp_path / "one"))

    @profiler.phase("train")
    def train() -> None: ...

    train()
    profiler.reconfigure(run=str(tmp_path / "two"))
    train()
    profiler.close()

    for name in ("one", "two"):
        process = load(tmp_path / name).main
        assert process.ended is not None
        assert process.phases["train"].visits == 1


def test_two_recordings_in_one_folder_stay_apart(tmp_path: Path, make: Callable[..., Profiler]) -> None:
    for label in ("one", "two"):
        profiler = make(run=str(tmp_path / "run"))
        with profiler.generation(), profiler.phase(label):
            pass
        profiler.close()

    run = load(tmp_path / "run")
    assert [list(process.phases) for process in run.processes] == [["one"], ["two"]]


def test_settings_given_before_stay(tmp_path: Path, make: Callable[..., Profiler]) -> None:
    profiler = make(run=str(tmp_path / "run"), leak_threshold_mb=9.0)

    profiler.reconfigure(budget=0.5)

    assert (profiler.settings.run, profiler.settings.leak_threshold_mb) == (str(tmp_path / "run"), 9.0)


def test_a_run_that_cannot_be_written_is_refused(tmp_path: Path, make: Callable[..., Profiler]) -> None:
    (tmp_path / "file").write_text("not a folder")
    profiler = make()

    with pytest.raises(ValueError, match="folder that can be written"):
        profiler.reconfigure(run=str(tmp_path / "file" / "run"))

    with profiler.phase("goes on"):
        pass
    assert not profiler.enabled


def test_scopes_that_a_program_keeps_stay_apart(profiler: Profiler, recorded: Read) -> None:
    first = profiler.checkpoint("block")
    second = profiler.checkpoint("block")

    with first, second:
        pass
    with profiler.checkpoint("block"):
        profiler.checkpoint("block")

    assert first is not second
    assert recorded(profiler).phases["block"].visits == 3
