"""A run that does not reach its end is looked at before it is too late, and its report says how and where it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from phaseprof import Profiler, load
from phaseprof.analysis.deaths import death_of
from phaseprof.live import dying
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.report.run import build_report
from phaseprof.report.text import Style

HEADER = fmt.Header(format=1, phaseprof="0", pid=1, started_unix_s=0.0, started_ns=0, page_bytes=4096)


def run(
    folder: Path, how: str, *, signals: bool = False, before: str = "", collect: str = "pass"
) -> subprocess.CompletedProcess[str]:
    """Run a program that keeps an array a generation, and ends in generation 20 by a statement."""
    script = f"""
        import os, resource, signal, sys
        import phaseprof as pp
        {before}
        profiler = pp.Profiler({str(folder)!r}, signals={signals})
        kept = []
        for number in range(100, 140):
            with profiler.generation(number):
                with profiler.phase("collect"):
                    {collect}
                with profiler.phase("train"):
                    kept.append(bytearray(1 << 20))
                    if number == 120:
                        {how}
        """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def text_of(folder: Path) -> str:
    read = load(folder)
    return build_report(read, [[] for _ in read.processes]).render(Style(width=200))


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("os.kill(os.getpid(), signal.SIGSEGV)", -signal.SIGSEGV),
        ("os._exit(3)", 3),
        ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),  # which nobody handles unless asked to
    ],
)
def test_a_process_that_ends_without_a_word(tmp_path: Path, how: str, code: int) -> None:
    assert run(tmp_path, how).returncode == code

    text = text_of(tmp_path)

    assert text.startswith("Died:     ended without a word, last seen at generation 1")
    assert "of the memory limit of" in text
    assert "still running" not in text


def test_out_of_memory_is_looked_at_while_what_holds_it_is_there(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        "kept.append(bytearray(1 << 40))",
        before="resource.setrlimit(resource.RLIMIT_AS, (1 << 33, resource.RLIM_INFINITY))",
    )

    assert done.returncode == 1
    assert "MemoryError" in done.stderr
    main = load(tmp_path).main
    assert [(one.cause, one.phase) for one in main.dying] == [("MemoryError", "train")]
    assert text_of(tmp_path).startswith("Died:     ended by MemoryError at generation 120 in train, with ")
    # The look came before the exception had left the program: what is kept was still there.
    assert main.places is not None
    assert "kept" in str(main.places)


def test_a_program_that_goes_on_after_it_ran_out_did_not_die(tmp_path: Path) -> None:
    profiler = Profiler(str(tmp_path))
    for number in range(4):
        try:
            with profiler.generation(number), profiler.phase("train"):
                if number == 1:
                    raise MemoryError
        except MemoryError:
            pass
    profiler.close()

    main = load(tmp_path).main
    assert [(one.g, one.cause) for one in main.dying] == [(1, "MemoryError")]
    assert death_of(main) is None


def test_other_exceptions_are_no_reason_to_look(tmp_path: Path) -> None:
    profiler = Profiler(str(tmp_path))
    with pytest.raises(ValueError, match="mine"), profiler.generation(0), profiler.phase("train"):
        raise ValueError("mine")
    profiler.close()

    assert load(tmp_path).main.dying == []


def test_sigterm_is_looked_at_and_ends_the_process_as_before(tmp_path: Path) -> None:
    done = run(tmp_path, "os.kill(os.getpid(), signal.SIGTERM)", signals=True)

    assert done.returncode == -signal.SIGTERM
    assert done.stderr == ""
    assert load(tmp_path).main.dying[-1].phase == "train"
    assert text_of(tmp_path).startswith("Died:     ended by SIGTERM at generation 120 in train, with ")


def test_the_programs_own_handler_has_the_last_word(tmp_path: Path) -> None:
    before = 'signal.signal(signal.SIGTERM, lambda number, frame: print("handled") or sys.exit(7))'

    done = run(tmp_path, "os.kill(os.getpid(), signal.SIGTERM)", signals=True, before=before)

    assert (done.returncode, done.stdout) == (7, "handled\n")
    assert load(tmp_path).main.dying[-1].cause == "SIGTERM"


def test_sigusr1_looks_and_the_run_goes_on(tmp_path: Path) -> None:
    done = run(tmp_path, "os.kill(os.getpid(), signal.SIGUSR1)", signals=True)

    assert done.returncode == 0
    main = load(tmp_path).main
    assert [one.cause for one in main.dying] == ["SIGUSR1"]
    assert death_of(main) is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_ends_at_sigterm_without_a_look(tmp_path: Path) -> None:
    """A loader's workers are ended so, while the program goes on."""
    how = """pid = os.fork()
                        if pid == 0:
                            signal.pause()
                        time.sleep(0.05)
                        os.kill(pid, signal.SIGTERM)
                        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"""

    done = run(tmp_path, how, signals=True, before="import time")

    assert (done.returncode, done.stdout) == (0, f"{-signal.SIGTERM}\n"), done.stderr
    assert [one for process in load(tmp_path).processes for one in process.dying] == []


def test_handlers_are_given_back() -> None:
    before = {name: signal.getsignal(getattr(signal, name)) for name in dying.SIGNALS}
    profiler = Profiler(None, signals=True)
    assert signal.getsignal(signal.SIGTERM) != before["SIGTERM"]

    profiler.close()

    assert {name: signal.getsignal(getattr(signal, name)) for name in dying.SIGNALS} == before


def test_near_the_limit_one_look_is_made(tmp_path: Path) -> None:
    """The limit is one on address space, of which 2 GiB are more than the program takes by itself."""
    before = "import psutil, time; resource.setrlimit(resource.RLIMIT_AS, (1 << 31, resource.RLIM_INFINITY))"
    how = "reserved = bytearray(int(0.92 * (1 << 31)) - psutil.Process().memory_info().vms)"

    done = run(tmp_path, how, before=before, collect="time.sleep(0.01)")

    main = load(tmp_path).main
    near = [one for one in main.dying if one.cause.endswith("of the limit")]
    assert len(near) == 1, done.stderr
    assert int(near[0].cause.partition("%")[0]) >= 90
    assert main.places is not None


def scripted(*records: fmt.Record) -> ProcessRun:
    process = ProcessRun()
    process.extend([HEADER, *records])
    return process


def readings(used: float) -> fmt.Metrics:
    return fmt.Metrics(5, 0, {"limit_bytes": 100.0, "available_bytes": 100.0 * (1 - used)}, "generation end")


def test_near_the_limit_a_silent_end_was_most_likely_the_kill() -> None:
    begun = fmt.GenerationBegin(1, 0, 212)
    labels = (fmt.Label(0, "train_population", "phase"), fmt.Point(2, 0, fmt.ENTER, 0))

    near, far = (death_of(scripted(begun, *labels, readings(used))) for used in (0.97, 0.2))

    assert near is not None
    assert near.describe() == (
        "killed, most likely out of memory, last seen at generation 212 in train_population, with 97% of the memory "
        "limit of 100 B in use"
    )
    assert far is not None
    assert far.describe().startswith("ended without a word, last seen at generation 212 in train_population, with 20%")


def test_a_recording_without_anything_in_it_says_what_is_known() -> None:
    death = death_of(scripted())

    assert death is not None
    assert death.describe() == "ended without a word"
    assert death_of(scripted(fmt.End(3, "closed"))) is None


def test_a_process_that_runs_is_not_dead(tmp_path: Path) -> None:
    profiler = Profiler(str(tmp_path))
    with profiler.generation(0):
        pass

    assert "Died" not in text_of(tmp_path)
    assert f"pid {os.getpid()}" in text_of(tmp_path)
    assert "not closed: still running" in text_of(tmp_path)
    profiler.close()


def test_what_counts_as_out_of_memory() -> None:
    class OutOfMemoryError(RuntimeError):
        pass

    class Worse(OutOfMemoryError):
        pass

    assert all(map(dying.is_out_of_memory, (MemoryError, OutOfMemoryError, Worse)))
    assert not any(map(dying.is_out_of_memory, (RuntimeError, OSError, KeyboardInterrupt)))


def test_torch_says_so_by_its_own_type() -> None:
    torch = pytest.importorskip("torch")

    assert dying.is_out_of_memory(torch.OutOfMemoryError)
