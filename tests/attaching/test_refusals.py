"""Processes that may not be observed: one line says why, the status is 2, and the process goes on unharmed."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import requires
from pathlib import Path

import pytest
from processes import attach, needs_attaching, running
from programs import PROFILED

from phaseprof.attaching import target
from phaseprof.attaching.target import Target, examine, refuse_without_rights
from phaseprof.cli import main
from phaseprof.cli.attach import _PACKAGES, Seen
from phaseprof.errors import UsageError

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
SLEEP = [sys.executable, "-c", "import time; print(flush=True); time.sleep(600)"]


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(SLEEP, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        assert process.poll() is None, "it was harmed"
        process.kill()


def refusal(pid: int) -> str:
    with pytest.raises(UsageError) as refused:
        examine(pid)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_one_of_ours_is_taken(sleeper: subprocess.Popen[bytes]) -> None:
    found = examine(sleeper.pid)

    assert found.is_there() and "python" in found.python.path and found.libc is not None


def test_a_process_that_is_gone() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass

    assert "there is none" in refusal(process.pid)


def test_a_process_that_nobody_has_taken_notice_of() -> None:
    with subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert "has ended" in refusal(process.pid)


def test_its_own_process() -> None:
    assert "another process" in refusal(os.getpid())


def test_a_stopped_process(sleeper: subprocess.Popen[bytes]) -> None:
    sleeper.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, sleeper.pid, os.WSTOPPED | os.WNOWAIT)

    assert f"kill -CONT {sleeper.pid}" in refusal(sleeper.pid)
    sleeper.send_signal(signal.SIGCONT)


def test_a_process_that_is_debugged(sleeper: subprocess.Popen[bytes]) -> None:
    gdb = shutil.which("gdb")
    if gdb is None:
        pytest.skip("needs gdb")
    with subprocess.Popen(
        [gdb, "-nx", "-q", "-iex", "set auto-solib-add off", "-p", str(sleeper.pid)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as debugger:  # fmt: skip
        until = time.monotonic() + 60
        while "TracerPid:\t0" in Path(f"/proc/{sleeper.pid}/status").read_text() and time.monotonic() < until:
            time.sleep(0.02)
        said = refusal(sleeper.pid)
        debugger.communicate(b"detach\nquit\n")

    assert "debugged already" in said


def test_a_process_that_is_no_python() -> None:
    with subprocess.Popen(["sleep", "600"]) as process:
        said = refusal(process.pid)
        assert process.poll() is None
        process.kill()

    assert "must run Python" in said


@pytest.mark.parametrize(
    ("version", "advice"), [("3.7", "phaseprof needs 3.10 or newer"), ("3.99", "install phaseprof for Python 3.99")]
)
def test_a_process_in_another_python(tmp_path: Path, version: str, advice: str) -> None:
    program = tmp_path / f"python{version}"
    shutil.copy(shutil.which("sleep") or "sleep", program)
    with subprocess.Popen([program, "600"]) as process:
        until = time.monotonic() + 30.0
        while str(program) not in Path(f"/proc/{process.pid}/maps").read_text() and time.monotonic() < until:
            time.sleep(0.02)  # the system is still putting the program in place of ours
        said = refusal(process.pid)
        process.kill()

    assert f"got {version}" in said and advice in said


def test_a_program_needs_no_package_but_those_that_are_loaded_into_it() -> None:
    declared = {re.split(r"[ <>=;\[]", line)[0] for line in requires("phaseprof") or () if "extra ==" not in line}
    missing = declared - {*_PACKAGES}
    assert missing
    code = f"import sys; sys.modules.update(dict.fromkeys({sorted(missing)})); import phaseprof.attaching.inside"

    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_process_that_ends_before_anything_is_recorded(
    sleeper: subprocess.Popen[bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("phaseprof.cli.attach._observe", lambda *_: Seen(0.0, 0.1, "interrupted"))
    assert main(["attach", str(sleeper.pid), "--out", str(tmp_path / "run")]) == 2
    assert capsys.readouterr().err.endswith(f"nothing was recorded of process {sleeper.pid}; observe it for longer\n")

    monkeypatch.setattr(Target, "is_there", lambda _: False)
    assert main(["attach", str(sleeper.pid), "--out", str(tmp_path / "run")]) == 2
    assert capsys.readouterr().err.endswith(f"nothing was recorded of process {sleeper.pid}\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a process of another user")
def test_a_process_of_another_user() -> None:
    command = [sys.executable, "-c", "import os; os.setuid(65534); print(flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        said = refusal(process.pid)
        process.communicate(b"\n")

    assert "got 65534" in said and process.returncode == 0


@pytest.mark.parametrize(("option", "what"), [("--mount", "file system"), ("--pid", "process")])
def test_a_process_in_a_container(option: str, what: str) -> None:
    unshare = shutil.which("unshare")
    own_space = [unshare or "", option, "--fork", "--kill-child"]
    if unshare is None or subprocess.run([*own_space, "true"], check=False, capture_output=True).returncode:
        pytest.skip("needs namespaces of its own")
    command = [*own_space, sys.executable, "-c", "print(flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        (inside,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        said = refusal(int(inside))
        process.communicate(b"\n")

    assert f"another {what} namespace" in said


def fake_proc(folder: Path, *, scope: int, capabilities: str) -> Path:
    (folder / "sys/kernel/yama").mkdir(parents=True)
    (folder / "sys/kernel/yama/ptrace_scope").write_text(f"{scope}\n")
    (folder / str(os.getpid())).mkdir()
    (folder / str(os.getpid()) / "status").write_text(f"Name:\tpython\nCapEff:\t{capabilities}\n")
    return folder


@pytest.mark.parametrize(
    ("scope", "capabilities", "advice"),
    [(1, "0000000000000000", "scope=0"), (2, "0000000000000000", "as root"), (3, "000001ffffffffff", "restart")],
)
def test_ptrace_is_not_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scope: int, capabilities: str, advice: str
) -> None:
    monkeypatch.setattr(target, "PROC", fake_proc(tmp_path, scope=scope, capabilities=capabilities))

    with pytest.raises(UsageError, match=f"got {scope}") as refused:
        refuse_without_rights()
    assert advice in str(refused.value)


@pytest.mark.parametrize(("scope", "capabilities"), [(0, "0000000000000000"), (1, "0000000000080000")])
def test_ptrace_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scope: int, capabilities: str) -> None:
    monkeypatch.setattr(target, "PROC", fake_proc(tmp_path, scope=scope, capabilities=capabilities))

    refuse_without_rights()


@pytest.mark.skipif(hasattr(sys, "remote_exec"), reason="needs no debugger")
def test_there_is_no_debugger(sleeper: subprocess.Popen[bytes], tmp_path: Path) -> None:
    seen = attach(sleeper.pid, "--out", str(tmp_path / "run"), path=str(tmp_path))

    assert seen.returncode == 2
    assert seen.stderr.startswith("phaseprof attach: attach needs gdb") and len(seen.stderr.splitlines()) == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.skipif(hasattr(sys, "remote_exec"), reason="needs no debugger")
def test_a_debugger_that_cannot_write_registers_is_not_let_near_a_program(
    sleeper: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    gdb = tmp_path / "gdb"
    gdb.write_text(
        f"#!/bin/sh\necho \"$@\" >> {tmp_path}/asked\necho \"Couldn't write extended state status: Bad address.\"\n"
    )
    gdb.chmod(0o755)

    seen = attach(sleeper.pid, "--out", str(tmp_path / "run"), path=str(tmp_path))

    assert seen.returncode == 2
    assert "must" not in seen.stderr
    assert "write this processor's registers (got: Couldn't write extended state status: Bad address.)" in seen.stderr
    assert str(sleeper.pid) not in (tmp_path / "asked").read_text()
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        (["--for", "soon"], "a duration"),
        (["--for", "0s"], "--for must be"),
        (["--budget", "3"], "--budget must"),
        (["--max-pause", "0"], "--max-pause must"),
        (["--html", "nowhere/page.html"], "--html must name a file in a folder that exists"),
        (["--out", " "], "--out must"),
    ],
)
def test_wrong_options(sleeper: subprocess.Popen[bytes], options: list[str], rule: str) -> None:
    seen = attach(sleeper.pid, *options)

    assert seen.returncode == 2 and rule in seen.stderr and len(seen.stderr.splitlines()) == 1


@needs_attaching
def test_a_process_that_is_profiled_already(tmp_path: Path) -> None:
    with running(PROFILED, tmp_path / "talk") as program:
        seen = attach(program.process.pid, "--for", "5s", "--out", str(tmp_path / "run"))
        out = program.end()

    assert seen.returncode == 2 and "profiled already" in seen.stderr
    assert out == "generations True\n"
