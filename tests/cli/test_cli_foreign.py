"""``check``, ``report`` and ``diff`` on logs of other tools: imported for the command, and no further."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from phaseprof.cli import main
from phaseprof.units import MIB


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log whose resident memory rises by 20 MiB a step; temporary folders are made below ``tmp``."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return table(tmp_path / "memory.csv", 20 * MIB)


def table(file: Path, each: int) -> Path:
    rows = [f"{step},{1000 * MIB + each * step}" for step in range(40)]
    file.write_text("\n".join(["step,rss_bytes", *rows]) + "\n")
    return file


def test_check_judges_a_log_and_says_that_it_was_imported(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(log)]) == 1

    said = capsys.readouterr()
    assert "Process memory leaks: +20.00 MiB a generation" in said.out
    assert said.err == f"{log} is not a recording; 40 readings were imported from it, as phaseprof import does\n"


def test_report_shows_a_log_and_leaves_nothing(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(log)]) == 0

    assert "Process memory leaks" in capsys.readouterr().out
    assert list((log.parent / "tmp").iterdir()) == []


def test_diff_compares_logs(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    worse = table(log.parent / "worse.csv", 60 * MIB)

    assert main(["diff", str(log), str(worse)]) == 1
    assert f"{worse} is not a recording" in capsys.readouterr().err


def test_lines_of_json_are_a_log_unless_they_are_records(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f'{{"step": {step}, "rss_bytes": {(1000 + 20 * step) * MIB}}}' for step in range(40)]
    metrics, damaged = log.parent / "metrics.jsonl", log.parent / "rank0-pid7.jsonl"
    metrics.write_text("\n".join(lines) + "\n")
    damaged.write_text('{"k":"header","forma\n' + "\n".join(lines) + "\n")

    assert main(["check", str(metrics)]) == 1
    assert main(["check", str(damaged)]) == 2
    assert "line 1 is not a recording's header" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("losses.csv", "step,loss\n1,0.5\n2,0.4\n", "cannot import"),
        ("folder/notes.txt", "nothing of ours", "it has no *.jsonl file"),
        ("missing.csv", None, "no such folder"),
    ],
)
def test_what_cannot_be_imported_is_named(
    log: Path, name: str, text: str | None, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = log.parent / name
    if text is not None:
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)

    assert main(["check", str(file if file.suffix == ".csv" else file.parent)]) == 2
    assert told in capsys.readouterr().err
