"""A recording whose first line is damaged: what follows is read, and what cannot be read keeps nobody from the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from phaseprof import Profiler, load
from phaseprof.analysis.scale import load_large_run
from phaseprof.cli import main
from phaseprof.errors import RecordingError

DAMAGES = [b"\x00\x00", b"[]", b'{"k":"header","format":1', b'{"k":"header","format":1,"pid":"x"}', b"\xff" * 300]


def recorded(folder: Path, name: str) -> Path:
    made = folder.parent / name
    profiler = Profiler(made, budget=None)
    for turn in range(8):
        with profiler.generation(turn), profiler.phase("train"):
            pass
    profiler.close()
    (file,) = made.glob("*.jsonl")
    folder.mkdir(exist_ok=True)
    return file.rename(folder / f"{name}.jsonl")


def damage(file: Path, line: bytes) -> None:
    file.write_bytes(line + b"\n" + file.read_bytes().partition(b"\n")[2])


@pytest.mark.parametrize("line", DAMAGES)
def test_what_follows_a_damaged_header_is_read(tmp_path: Path, line: bytes) -> None:
    file = recorded(tmp_path / "run", "rank0-pid7")
    damage(file, line)

    process = load(tmp_path / "run").main

    assert len(process.generations) == 8
    assert process.phases["train"].visits == 8
    assert any("line 1 is not a recording's header" in note for note in process.notes)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_file_that_cannot_be_read_keeps_nobody_from_the_others(tmp_path: Path, workers: int) -> None:
    folder = tmp_path / "run"
    for name in ("rank0-pid7", "rank1-pid8"):
        recorded(folder, name)
    (folder / "rank2-pid9.jsonl").write_bytes(b'{"loss": 1}\n{"loss": 2}\n')
    (folder / "rank3-pid10.jsonl").write_bytes(b'{"k":"header","format":99}\n')

    for run in (load(folder), load_large_run(folder, workers=workers)):
        assert [len(process.generations) for process in run.processes] == [8, 8]
        told = " ".join(run.left_out)
        assert "rank2-pid9.jsonl: line 1 is not a recording's header" in told
        assert "rank3-pid10.jsonl: format version 99" in told


@pytest.mark.parametrize("command", ["report", "check"])
def test_which_file_was_left_out_is_said(tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    recorded(folder, "rank0-pid7")
    (folder / "rank2-pid9.jsonl").write_bytes(b"nothing of ours\n")

    status = main([command, str(folder)])

    shown = capsys.readouterr()
    assert "a file is left out: cannot read" in shown.err and "rank2-pid9.jsonl" in shown.err
    told = "NOT JUDGED: a file of the run could not be read" if command == "check" else "a file is left out"
    assert told in shown.out
    assert status == (3 if command == "check" else 0)


def test_a_lone_file_without_a_record_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rank0-pid7.jsonl").write_bytes(b"nothing of ours\n" * 3)

    with pytest.raises(RecordingError, match="line 1 is not a recording's header"):
        load(tmp_path)
    status = main(["report", str(tmp_path)])

    assert (status, capsys.readouterr().err.count("\n")) == (2, 1)
