"""``attach`` on real processes: what leaks is named, results are those of a run left alone, and nothing stays."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from processes import SOURCE, Running, attach, attach_command, needs_attaching, observe, running
from programs import ACQUAINTED, ASLEEP, FORKING, IN_C, SHORT, THREADED, TRAINER, TYPING

pytestmark = [needs_attaching, pytest.mark.slow]
needs_waking = pytest.mark.skipif(hasattr(sys, "remote_exec"), reason="the interpreter wakes no thread that sleeps")


def left_alone(text: str, folder: Path, *arguments: str) -> str:
    with running(text, folder, *arguments) as program:
        return program.end()


@contextlib.contextmanager
def attaching(program: Running, run: Path) -> Iterator[subprocess.Popen[str]]:
    """Attach for as long as the block wants, from the moment on at which the observation has begun."""
    with subprocess.Popen(
        attach_command(program.process.pid, "--for", "10min", "--out", str(run)),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": SOURCE},
    ) as attacher:  # fmt: skip
        assert attacher.stderr is not None
        assert "observing" in attacher.stderr.readline()
        yield attacher


def test_a_leak_is_named_and_results_are_those_of_a_run_left_alone(tmp_path: Path) -> None:
    alone = left_alone(TRAINER, tmp_path / "talk", "leak", "0")
    (tmp_path / "talk" / "observed").unlink()

    with running(TRAINER, tmp_path / "talk", "leak", "0.03") as program:
        page = tmp_path / "page.html"
        seen = observe(program, tmp_path / "run", "--html", str(page))
        out = program.end()

    assert seen.returncode == 1, seen.stdout + seen.stderr
    assert "leak: " in seen.stdout and ".kept" in seen.stdout and "FAILED: the run leaks" in seen.stdout
    assert out == alone
    text = page.read_text(encoding="utf-8")
    assert "Episode" in text and "kept" in text


def test_json_names_holder_and_loop(tmp_path: Path) -> None:
    with running(TRAINER, tmp_path / "talk", "leak", "0.03") as program:
        seen = observe(program, tmp_path / "run", "--json")
        program.end()

    (finding,) = [one for one in json.loads(seen.stdout)["findings"] if one["verdict"] == "leak"]
    assert finding["subject"].endswith("Episode")
    assert any(".kept" in step for step in finding["holder"])
    assert "program.py:" in seen.stdout and "for number" in seen.stdout


def test_a_healthy_trainer_is_clean(tmp_path: Path) -> None:
    with running(TRAINER, tmp_path / "talk", "healthy", "0.03") as program:
        seen = observe(program, tmp_path / "run")
        program.end()

    assert seen.returncode == 0, seen.stdout + seen.stderr
    assert "OK: no leak" in seen.stdout


@needs_waking
def test_a_worker_leaks_while_the_main_thread_waits_for_it(tmp_path: Path) -> None:
    with running(THREADED, tmp_path / "talk") as program:
        seen = observe(program, tmp_path / "run", "--json")
        out = program.end()

    assert seen.returncode == 1, seen.stdout + seen.stderr
    assert any("kept" in step for one in json.loads(seen.stdout)["findings"] for step in one["holder"])
    assert "threads ['MainThread']" in out and "modules []" in out


@needs_waking
def test_a_program_that_waits_for_input_reads_it_afterwards(tmp_path: Path) -> None:
    with running(TYPING, tmp_path / "talk") as program:
        seen = attach(program.process.pid, "--for", "2s", "--out", str(tmp_path / "run"))
        out = program.end("a line\n")

    assert seen.returncode in (0, 3), seen.stdout + seen.stderr
    assert "typed a line" in out and "threads ['MainThread']" in out


def test_a_program_in_long_calls_of_libraries(tmp_path: Path) -> None:
    with running(IN_C, tmp_path / "talk") as program:
        seen = attach(program.process.pid, "--for", "4s", "--out", str(tmp_path / "run"))
        out = program.end()

    assert seen.returncode in (0, 3), seen.stdout + seen.stderr
    assert "result True" in out and "modules []" in out


ASLEEP_IN = {
    "sleep": "None", "lock": "False", "select": "([], [], [])", "receive": "nothing came", "asyncio": "slept",
    "child": "b'hi\\n'",
}  # fmt: skip


def seen_asleep(folder: Path, seconds: int) -> tuple[dict[str, subprocess.CompletedProcess[str]], dict[str, str]]:
    """Return what attaching to each sleeper ends with, and what the sleeper says afterwards."""
    with contextlib.ExitStack() as stack:
        programs = {
            name: stack.enter_context(running(ASLEEP, folder / name / "talk", name, str(seconds))) for name in ASLEEP_IN
        }

        def look(name: str) -> subprocess.CompletedProcess[str]:
            return attach(programs[name].process.pid, "--for", "1s", "--out", str(folder / name / "run"))

        with ThreadPoolExecutor(len(programs)) as pool:
            seen = dict(zip(programs, pool.map(look, programs), strict=True))
        return seen, {name: program.end() for name, program in programs.items()}


@needs_waking
def test_calls_that_sleep_in_the_system_sleep_on(tmp_path: Path) -> None:
    seen, said = seen_asleep(tmp_path / "short", 10)
    if any("it has ended" in one.stderr for one in seen.values()):  # a busy machine: attaching took longer
        seen, said = seen_asleep(tmp_path / "long", 60)

    for name, result in ASLEEP_IN.items():
        assert seen[name].returncode in (0, 3), seen[name].stderr
        assert f"result {result} True\n" in said[name]
        assert "threads ['MainThread']" in said[name] and "modules []" in said[name]


def test_a_program_that_has_imported_phaseprof_keeps_it(tmp_path: Path) -> None:
    with running(ACQUAINTED, tmp_path / "talk", "leak", "0.03") as program:
        seen = attach(program.process.pid, "--for", "2s", "--out", str(tmp_path / "run"))
        out = program.end()

    assert seen.returncode in (0, 1, 3), seen.stderr
    assert out.endswith("True True\n") and "still" in out


def test_twice_in_a_row(tmp_path: Path) -> None:
    with running(TRAINER, tmp_path / "talk", "leak", "0.03") as program:
        first = attach(program.process.pid, "--for", "1s", "--out", str(tmp_path / "first"))
        second = observe(program, tmp_path / "second")
        out = program.end()

    assert first.returncode in (0, 1, 3)
    assert second.returncode == 1, second.stdout + second.stderr
    assert "modules []" in out


def test_a_program_that_ends_meanwhile_ends_as_it_would_have(tmp_path: Path) -> None:
    with running(SHORT, tmp_path / "talk") as program, attaching(program, tmp_path / "run") as attacher:
        program.tell("began")
        out = program.end()
        _, said = attacher.communicate(timeout=60)

    assert out == "done\n"
    assert attacher.returncode in (0, 3) and "it has ended" in said


def test_ctrl_c_ends_the_observation_and_reports(tmp_path: Path) -> None:
    with running(TRAINER, tmp_path / "talk", "leak", "0.03") as program:
        seen = observe(program, tmp_path / "run")
        printed = program.end()

    assert "interrupted" in seen.stderr and "Recorded in" in seen.stdout
    assert "threads ['MainThread']" in printed and "modules []" in printed


def test_an_attacher_that_is_killed_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    errands = tmp_path / "errands"
    errands.mkdir()
    monkeypatch.setenv("TMPDIR", str(errands))
    with running(TRAINER, tmp_path / "talk", "leak", "0.03") as program:
        with attaching(program, tmp_path / "run") as attacher:
            attacher.kill()
        until = time.monotonic() + 60
        while list(errands.iterdir()) and time.monotonic() < until:
            time.sleep(0.1)
        printed = program.end()

    assert list(errands.iterdir()) == []

    assert "threads ['MainThread']" in printed and "modules []" in printed


def test_children_that_are_forked_meanwhile_are_whole_and_unobserved(tmp_path: Path) -> None:
    with running(FORKING, tmp_path / "talk") as program:
        attach(program.process.pid, "--for", "5s", "--out", str(tmp_path / "run"))
        out = program.end()

    assert "modules []" in out
    assert len(list((tmp_path / "run").glob("*.jsonl"))) == 1
