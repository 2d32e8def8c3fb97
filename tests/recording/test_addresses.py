"""Runs that lie at an address of fsspec are read like folders."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import phaseprof
from phaseprof.analysis.scale import load_and_reduce
from phaseprof.cli.judged import judge_run
from phaseprof.errors import MissingExtra, RecordingError, UsageError
from phaseprof.recording.addresses import fetched_in_turn, is_address
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.reader import find_recordings

fsspec = pytest.importorskip("fsspec", reason="comes with torch")


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A folder with a run in three files of one process."""
    profiler = phaseprof.Profiler(str(tmp_path / "run"), budget=None, max_file_mb=0.004)
    for g in range(12):
        with profiler.generation(g), profiler.phase("collect"):
            pass
    profiler.close()
    return tmp_path / "run"


@pytest.fixture
def address(recorded: Path) -> Iterator[str]:
    system = fsspec.filesystem("memory")
    for file in recorded.iterdir():
        system.pipe_file(f"/team/run/{file.name}", file.read_bytes())
    yield "memory://team/run"
    system.store.clear()
    system.pseudo_dirs[:] = [""]


def n_records(process: ProcessRun) -> int:
    return process.n_records


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s3://bucket/run", True),
        ("simplecache::gs://bucket/run", True),
        ("runs/first", False),
        ("/runs/first", False),
        ("C:/runs", False),
        (Path("s3://bucket/run"), False),
    ],
)
def test_what_an_address_is(text: str | Path, expected: bool) -> None:
    assert is_address(text) is expected


def test_an_address_reads_as_its_folder_does(recorded: Path, address: str) -> None:
    (there,), (here,) = phaseprof.load(address).processes, phaseprof.load(recorded).processes

    assert len(list(recorded.iterdir())) > 1
    assert (there.header, there.n_records, there.generations) == (here.header, here.n_records, here.generations)


def test_one_file_of_it_is_read(recorded: Path, address: str) -> None:
    first = min(file.name for file in recorded.iterdir())

    (process,) = phaseprof.load(f"{address}/{first}").processes

    assert process.n_records < phaseprof.load(address).processes[0].n_records


def test_it_is_judged_and_named_by_its_address(recorded: Path, address: str) -> None:
    judged = judge_run(address)

    assert judged.run.path == address
    assert judged.answer() == judge_run(str(recorded)).answer()


def test_nothing_is_left_of_the_copies(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))

    load_and_reduce(address, n_records)

    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize("wrong", ["memory://team/none", "memory://"])
def test_where_nothing_is_one_line_says_so(address: str, wrong: str) -> None:
    with pytest.raises(RecordingError, match=r"^cannot read memory://\S*: .*; give the .*$"):
        phaseprof.load(wrong)


def test_a_file_system_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"class": "nowhere.System", "err": "install it"}
    monkeypatch.setitem(importlib.import_module("fsspec.registry").known_implementations, "nowhere", known)

    with pytest.raises(MissingExtra, match="nowhere://bucket/run: install it"):
        phaseprof.load("nowhere://bucket/run")


def test_an_engine_that_is_none(recorded: Path) -> None:
    with pytest.raises(UsageError, match=r"--on must be ray, .* \(got 'spark'\)"):
        load_and_reduce(recorded, n_records, on="spark")


def test_many_recordings_are_fetched_some_at_a_time(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    system = fsspec.filesystem("memory")
    first = min(recorded.iterdir()).read_bytes()
    for number in range(11):
        system.pipe_file(f"/team/many/rank{number}-pid7.jsonl", first)
    groups = list(find_recordings("memory://team/many").values())
    there = []

    for files in fetched_in_turn(groups):
        assert [file.read_bytes() for file in files] == [first]
        there.append(sum(1 for _ in (tmp_path / "temporary").glob("*/*")))
    system.store.clear()
    system.pseudo_dirs[:] = [""]

    assert len(there) == 11
    assert max(there) <= 8  # those in hand, and those that are fetched meanwhile
    assert list((tmp_path / "temporary").iterdir()) == []
