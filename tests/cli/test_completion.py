"""``phaseprof completion``: each shell is asked, where it is there, what it would offer."""

from __future__ import annotations

import argparse
import shutil
import subprocess
from pathlib import Path

import pytest

from phaseprof.cli import COMMANDS, main, make_whole_parser
from phaseprof.cli.completion import commands_of, to_bash, to_fish, to_zsh

BASH = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(( $# - 1 ))
_phaseprof
echo "${COMPREPLY[@]}"
"""


def script_of(shell: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["completion", shell]) == 0
    file = folder / f"completion.{shell}"
    file.write_text(capsys.readouterr().out)
    return file


def call(*command: object) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["ch"], ["check"]),
        (["check", "--f"], ["--format"]),
        (["check", "--format", "j"], ["json", "junit"]),
        (["check", "--format", ""], ["text", "json", "github", "junit", "sarif"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["check", ""], []),  # the names of files, which the shell adds where nothing is offered
        (["check", "--badge", ""], []),
        (["check", "--json", ""], []),
    ],
)
def test_bash_offers(
    words: list[str], offered: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    script = script_of("bash", tmp_path, capsys)

    assert call("bash", "--norc", "-c", BASH, "-", script, "phaseprof", *words).split() == offered


def test_bash_offers_every_command_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if shutil.which("bash") is None:
        pytest.skip("no bash")
    script = script_of("bash", tmp_path, capsys)

    offered = call("bash", "--norc", "-c", BASH, "-", script, "phaseprof", "").split()

    assert offered == ["--help", "--version", *(name for name, _, _ in COMMANDS)]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh")
def test_zsh_takes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call("zsh", "-f", "-n", script_of("zsh", tmp_path, capsys))


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish")
def test_fish_offers_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = script_of("fish", tmp_path, capsys)

    out = call("fish", "--no-config", "-c", f"source {script}; complete -C 'phaseprof check --format j'")

    assert [line.split("\t")[0] for line in out.splitlines()] == ["json", "junit"]


def test_every_command_and_option_is_in_each_script() -> None:
    commands = commands_of(make_whole_parser())
    assert [one.name for one in commands] == [name for name, _, _ in COMMANDS]

    for script in (to_bash(commands), to_zsh(commands)):
        assert [n for one in commands for option in one.options for n in option.names if n not in script] == []
    assert all(f"-l {n[2:]} " in to_fish(commands) for one in commands for o in one.options for n in o.names[-1:])


def test_a_help_text_is_no_code() -> None:
    parser = argparse.ArgumentParser()
    hostile = parser.add_subparsers().add_parser("x", help="it's `id` $(id) [a]: b")
    hostile.add_argument("--y", help="it's `id` $(id) [a]: b \\")
    commands = commands_of(parser)

    assert r"it'\''s `id` $(id) \[a\]\: b \\]" in to_zsh(commands)
    assert r"-d 'it\'s `id` $(id) [a]: b \\'" in to_fish(commands)
    assert "id" not in to_bash(commands)
