"""A boundary recorded in one call of the extension is recorded as it is step by step."""

from __future__ import annotations

import gc
import itertools
import os
import sys
import threading
from pathlib import Path

import pytest
from msgspec import structs

from phaseprof import load
from phaseprof.live.recorder import Recorder
from phaseprof.live.settings import Settings
from phaseprof.native.extension import make_open_file, passes_in_python
from phaseprof.recording import format as fmt

needs_extension = pytest.mark.skipif(make_open_file(None, [], -1) is None, reason="the extension was not built")


def record(run: Path | None) -> Recorder:
    """Record boundaries of two threads, with a large clock, and a few that say how much work they did."""
    ticks = itertools.count(2**60)
    warned: list[str] = []
    recorder = Recorder(Settings(run=None if run is None else str(run)), lambda: next(ticks), warned.append)

    def visits() -> None:
        for generation in range(3):
            recorder.generation = generation
            for name in ("train", "evaluate"):
                number = recorder.label(name, "phase")
                recorder.point(number, fmt.ENTER, 3.0 if name == "train" else -1.0)
                recorder.point(recorder.label("within", "checkpoint"), fmt.POINT)
                recorder.point(number, fmt.EXIT)

    visits()
    thread = threading.Thread(target=visits)
    thread.start()
    thread.join()
    recorder.close("closed")
    assert warned == []
    return recorder


def lines(folder: Path) -> list[fmt.Record]:
    """The records of a run, but for what differs from one run to the next."""
    file = next(folder.glob("*.jsonl"))
    records = [fmt.decode(line) for line in file.read_bytes().splitlines()[1:]]
    return [structs.replace(one, m="read") if isinstance(one, fmt.Point) and one.m else one for one in records]


@needs_extension
def test_the_records_are_those_made_step_by_step(tmp_path: Path) -> None:
    in_c = record(tmp_path / "c")
    with passes_in_python():
        in_python = record(tmp_path / "python")

    assert lines(tmp_path / "c") == lines(tmp_path / "python")
    assert in_c.n_points == in_python.n_points == 36
    assert list(in_c.model.series) == list(in_python.model.series)
    for run in (in_c.model, load(tmp_path / "c").main):
        assert {name: (p.visits, p.ns) for name, p in run.phases.items()} == {
            name: (p.visits, p.ns) for name, p in in_python.model.phases.items()
        }


@needs_extension
def test_in_memory_the_model_is_the_same() -> None:
    in_c = record(None)
    with passes_in_python():
        in_python = record(None)

    assert list(in_c.model.series) == list(in_python.model.series)
    assert in_c.model.phases == in_python.model.phases


@needs_extension
def test_what_cannot_be_read_is_missing_and_the_boundary_is_recorded(tmp_path: Path) -> None:
    warned: list[str] = []
    recorder = Recorder(Settings(run=str(tmp_path)), lambda: 5, warned.append)
    number = recorder.label("train", "phase")
    recorder.point(number, fmt.ENTER)
    assert recorder._statm is not None
    os.close(recorder._statm.fd)

    recorder.point(number, fmt.EXIT)
    recorder.point(number, fmt.ENTER)

    recorder.close("closed")
    assert len(warned) == 1
    assert "process memory is no longer measured" in warned[0]
    assert [one.m for one in lines(tmp_path) if isinstance(one, fmt.Point)] == ["read", "", ""]


@needs_extension
def test_a_boundary_leaves_nothing_behind() -> None:
    pending: list[object] = []
    statm = os.open("/proc/self/statm", os.O_RDONLY)
    file = make_open_file(None, pending, statm)
    assert file is not None
    for at in range(1000):
        file.point(at, 1, 2, 3, 4)
    pending.clear()
    gc.collect()
    before = sys.getallocatedblocks()

    for at in range(1000):
        file.point(2**40 + at, 1, 2, 3, 4)
    assert len(pending) == 8000
    pending.clear()

    assert sys.getallocatedblocks() - before < 100
    os.close(statm)


@needs_extension
@pytest.mark.parametrize("given", [(), (1, 2, 3, 4), (1, 2, 3, 4, "5"), (2**63, 1, 1, 1, 1)])
def test_wrong_arguments_are_refused_and_nothing_is_kept(given: tuple[object, ...]) -> None:
    pending: list[object] = []
    file = make_open_file(None, pending, -1)
    assert file is not None

    with pytest.raises((TypeError, OverflowError)):
        file.point(*given)  # type: ignore[arg-type]

    assert pending == []
