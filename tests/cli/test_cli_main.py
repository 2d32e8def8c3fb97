"""The command as a whole: what it offers, how it fails, how it is stopped."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_driver import environment, phaseprof_command, python

import phaseprof
from phaseprof.cli import COMMANDS, main


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"phaseprof {phaseprof.__version__}\n"


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0

    out = capsys.readouterr().out
    assert [name for name, _, _ in COMMANDS if name not in out] == []
    assert "Exit status" in out


@pytest.mark.parametrize("command", [name for name, _, _ in COMMANDS])
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    assert f"usage: phaseprof {command}" in capsys.readouterr().out


def test_version_imports_no_command(tmp_path: Path) -> None:
    code = (
        "import sys; from phaseprof.cli import main; main(['--version']); "
        "slow = ('phaseprof.cli.', 'phaseprof.report', 'phaseprof.live', 'numpy', 'torch'); "
        "print(*[m for m in sys.modules if m.startswith(slow)])"
    )

    assert python("-c", code, cwd=tmp_path).stdout.splitlines()[1:] == [""]


def test_ctrl_c_while_a_command_is_still_being_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("importlib.import_module", interrupted)

    assert main(["check", "run"]) == 130


def test_an_unknown_option_is_said_with_the_command_whose_help_to_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "RUN", "--yaml"]) == 2

    assert "phaseprof report: unrecognized arguments: --yaml (see phaseprof report --help)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "COMMAND"),
        (["reprot", "x"], "'reprot'"),
        (["report"], "RUN"),
        (["report", "--yaml", "x"], "--yaml"),
        (["check", "nowhere"], "cannot read nowhere"),
        (["report", "nowhere"], "cannot read nowhere"),
        (["demo", "--generations", "many"], "--generations"),
        (["run"], "SCRIPT"),
        (["check", ""], "no folder is named"),
        (["run", "--out", "", "y.py"], "--out must name a folder"),
        (["run", "--frobnicate", "x", "y.py"], "--frobnicate"),
    ],
)
def test_wrong_use_is_one_line_and_status_2(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)

    assert main(arguments) == 2

    error = capsys.readouterr().err
    assert error.startswith("phaseprof")
    assert error.count("\n") == 1
    assert said in error


def test_runs_as_a_module(tmp_path: Path) -> None:
    done = phaseprof_command("--version", cwd=tmp_path)

    assert (done.returncode, done.stdout) == (0, f"phaseprof {phaseprof.__version__}\n")


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    profiler = phaseprof.Profiler(str(tmp_path / "run"), sample_every_s=None)
    with profiler.generation(0):
        pass
    profiler.close()
    reading, writing = os.pipe()
    os.close(reading)

    done = subprocess.run(
        [sys.executable, "-m", "phaseprof", "report", "run"], cwd=tmp_path, env=environment(), stdout=writing,
        stderr=subprocess.PIPE, text=True, timeout=60,
    )  # fmt: skip

    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")
