"""A run that does not reach its end is looked at before it is too late, and its report says how and where it ended."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from phaseprof import Profiler, load
from phaseprof.analysis.deaths import death_of
from phaseprof.analysis.findings import find_leaks
from phaseprof.analysis.snapshots.files import read_folder
from phaseprof.live import dying
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.report.html import render_page
from phaseprof.report.run import build_report
from phaseprof.report.text import Style

HEADER = fmt.Header(format=1, phaseprof="0", pid=1, started_unix_s=0.0, started_ns=0, page_bytes=4096)


PROBES = str(Path(__file__).parents[1] / "probes")
(RECORDED,) = map(str, (Path(__file__).parents[1] / "data/snapshots/oom_graph_leak").rglob("*.pickle*"))
# The address space of the program so far.
VMS = "int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()"
# What a program takes of a limit in each generation, in the tests that fill one.
STEP = 8 << 20


def run(
    folder: Path, how: str, *, signals: bool = False, before: str = "", collect: str = "pass", shell: str = "",
    environ: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """Run a program that keeps an array a generation, and ends in generation 120 by a statement.

    Args:
        folder: of the recording.
        how: the statement.
        signals: the setting of that name.
        before: statements before anything is recorded.
        collect: the statement of the phase before.
        shell: a command that the shell does first, in the process that becomes the program.
        environ: variables of the environment beside the test's own.
    """
    script = f"""
        import os, resource, signal, sys, time
        import phaseprof as pp
        {before}
        profiler = pp.Profiler({str(folder)!r}, signals={signals})
        kept = []
        for number in range(102, 140):  # the first twenty are recorded in any case, on a busy machine, too
            with profiler.generation(number):
                with profiler.phase("collect"):
                    {collect}
                with profiler.phase("train"):
                    kept.append(bytearray(1 << 20))
                    if number == 120:
                        {how}
        """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    if shell:
        command = ["sh", "-c", f'{shell} && exec "$0" "$@"', *command]
    environ = {**os.environ, **(environ or {})}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environ)


def text_of(folder: Path) -> str:
    read = load(folder)
    return build_report(read, [[] for _ in read.processes]).render(Style(width=200))


def fill_until_killed(folder: Path, **options: str) -> None:
    """Fill a limit by ``STEP`` a generation, slowly enough near it for each to be recorded, until it is killed."""
    collect = f"time.sleep(0.06 if number < 126 else 0.25); kept.append(bytearray({STEP}))"
    done = run(folder, "pass", collect=collect, **options)
    assert done.returncode == -signal.SIGKILL, done.stderr


@contextlib.contextmanager
def control_group(limit_bytes: int) -> Iterator[Path]:
    """Make a control group with a memory limit, of either version; skip the test where this user may not."""
    own = {parts[1]: parts[2] for parts in (row.split(":", 2) for row in Path("/proc/self/cgroup").read_text().split())}
    top = Path("/sys/fs/cgroup")
    version1, version2 = top / "memory" / own.get("memory", "").strip("/"), top / own.get("", "").strip("/")
    is_first = (version1 / "memory.limit_in_bytes").exists()
    group = (version1 if is_first else version2) / f"phaseprof-{os.getpid()}"
    limit = group / ("memory.limit_in_bytes" if is_first else "memory.max")
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    try:
        if not limit.exists():
            pytest.skip("the control groups of this user have no memory controller")
        limit.write_text(str(limit_bytes))
        yield group
    finally:
        group.rmdir()


def killed_by_the_kernel(folder: Path) -> None:
    with control_group(320 << 20) as group:
        fill_until_killed(folder, shell=f"echo 0 > {group}/cgroup.procs")
    looked_near_the_limit(folder)


def looked_near_the_limit(folder: Path) -> None:
    main = load(folder).main
    causes = [one.cause for one in main.dying]
    assert causes, "nothing was looked at"
    assert all(90 <= int(cause.removesuffix("% of the limit")) <= 100 for cause in causes), causes
    assert main.places is not None



def test_near_a_containers_limit_that_files_tell_the_same_is_said(tmp_path: Path) -> None:
    """A container's control group as files have it, which the program writes itself: nobody kills it in earnest."""
    root, limit = tmp_path / "root", 100 << 20
    used = root / "sys/fs/cgroup/memory.current"
    for name, text in {
        "proc/self/cgroup": "0::/", "proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
        "proc/meminfo": "MemTotal: 8000000 kB\nMemAvailable: 8000000 kB", "sys/fs/cgroup/memory.max": str(limit),
        "sys/fs/cgroup/memory.stat": "inactive_file 0", "sys/fs/cgroup/memory.current": "0",
    }.items():  # fmt: skip
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text + "\n")
    before = f"""import functools; from pathlib import Path; from phaseprof.probes import limits, registry
        registry.PROBES["limits"] = functools.partial(limits.LimitProbe, Path({str(root)!r}))"""
    fill = f"Path({str(used)!r}).write_text(str({limit} * min(97, 3 * (number - 80)) // 100))"
    collect = f"time.sleep(0.06 if number < 110 else 0.12); {fill}"

    run(tmp_path / "run", "os.kill(os.getpid(), signal.SIGKILL)", before=before, collect=collect)

    says = "Died:     killed, most likely out of memory, last seen at generation 120"
    assert text_of(tmp_path / "run").startswith(says)
    looked_near_the_limit(tmp_path / "run")


def out_of_memory(folder: Path) -> None:
    before = f"import numpy; resource.setrlimit(resource.RLIMIT_AS, ({VMS} + (100 << 20), resource.RLIM_INFINITY))"
    done = run(folder, "while True: kept.append(bytearray(1 << 16))", before=before)
    assert (done.returncode, "MemoryError" in done.stderr) == (1, True), done.stderr


def out_of_device_memory(folder: Path) -> None:
    """By a stand-in for torch whose device fills, since there need be none here."""
    done = run(
        folder,
        "raise torch.OutOfMemoryError('CUDA out of memory')",
        before=f"sys.path.insert(0, {PROBES!r}); import torch_stand_in; torch = torch_stand_in.install({RECORDED!r})",
        collect="torch.fill(6.2 * (number - 99))",
    )
    assert done.returncode == 1
    assert "CUDA out of memory" in done.stderr, done.stderr


def ended(how: str, code: int, **options: bool) -> Callable[[Path], None]:
    def end(folder: Path) -> None:
        assert run(folder, how, **options).returncode == code

    return end


# Of each way to die, by the words of the table in the documentation: a program that takes it.
WAYS = {
    "the kernel at a memory limit": killed_by_the_kernel,
    "`MemoryError` that leaves a generation": out_of_memory,
    "`torch.OutOfMemoryError` that leaves a generation": out_of_device_memory,
    "SIGTERM, with `signals=True`": ended("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM, signals=True),
    "SIGTERM otherwise": ended("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
    "SIGKILL, a power cut": ended("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
    "a segmentation fault": ended("import ctypes; ctypes.string_at(0)", -signal.SIGSEGV),
    "`abort()` of a library": ended("os.abort()", -signal.SIGABRT),
    "`os._exit`": ended("os._exit(3)", 3),
    "another exception that leaves a generation, Ctrl-C too": ended("raise ValueError('a bad loss')", 1),
    "`sys.exit`": ended("sys.exit(4)", 4),
}


def documented() -> dict[str, str]:
    """Of each way to die, what its row in the documentation has the report say."""
    page = (Path(__file__).parents[2] / "docs/how-to/after-a-crash.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line[:1] == "|"]
    return {row[0]: row[1] for row in rows[2:]}


def test_every_way_to_die_that_is_documented_is_tried() -> None:
    assert list(documented()) == list(WAYS)


@pytest.mark.parametrize("way", WAYS)
def test_the_report_says_of_each_way_to_die_what_is_documented(tmp_path: Path, way: str) -> None:
    says = documented()[way]

    WAYS[way](tmp_path)

    text = " ".join(text_of(tmp_path).split())
    if says.startswith("nothing"):
        assert "Died" not in text
    else:
        assert re.match(f"Died: {re.escape(says).replace('…', '.+?')}", text), text[:400]
        assert "still running" not in text


def test_out_of_memory_is_looked_at_while_what_holds_it_is_there(tmp_path: Path) -> None:
    out_of_memory(tmp_path)

    main = load(tmp_path).main
    assert [(one.cause, one.phase) for one in main.dying] == [("MemoryError", "train")]
    assert text_of(tmp_path).startswith("Died:     ended by MemoryError at generation 120 in train, with ")
    # The look came before the exception had left the program: what is kept was still there.
    assert main.places is not None
    assert "kept" in str(main.places)


def test_what_is_kept_back_outlasts_a_look_near_the_limit(tmp_path: Path) -> None:
    profiler = Profiler(str(tmp_path), signals=True)
    with profiler.generation(0):
        signal.raise_signal(signal.SIGUSR1)
    before = address_space()

    with pytest.raises(MemoryError), profiler.generation(1):
        raise MemoryError

    assert before - address_space() >= dying.RESERVE_BYTES // 2
    profiler.close()


def address_space() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def test_out_of_memory_is_looked_at_where_only_phases_are_marked(tmp_path: Path) -> None:
    profiler = Profiler(str(tmp_path))
    with pytest.raises(MemoryError), profiler.phase("epoch"), profiler.phase("train"):
        raise MemoryError
    profiler.close()

    assert [(one.cause, one.phase) for one in load(tmp_path).main.dying] == [("MemoryError", "train")]


def test_of_what_ran_out_on_a_device_torchs_own_snapshot_is_kept(tmp_path: Path) -> None:
    out_of_device_memory(tmp_path)

    (snapshot,) = read_folder(tmp_path).snapshots
    assert (snapshot.rank, snapshot.step) == (0, 18)
    assert snapshot.name in text_of(tmp_path)


def test_a_device_that_fills_is_looked_at_before_it_is_full(tmp_path: Path) -> None:
    before = f"sys.path.insert(0, {PROBES!r}); import torch_stand_in; torch = torch_stand_in.install({RECORDED!r})"

    run(tmp_path, "pass", before=before, collect="time.sleep(0.05); torch.fill(min(130, 6.2 * (number - 99)))")

    main = load(tmp_path).main
    assert [(one.cause, one.ending) for one in main.dying] == [("93% of the limit of cuda0", False)]
    assert len(list(tmp_path.glob("*.pickle"))) == 1
    assert main.places is not None


def test_of_several_ranks_those_come_first_of_which_it_is_known_why_they_died(tmp_path: Path) -> None:
    for rank, how in enumerate(["os.kill(os.getpid(), signal.SIGKILL)", "raise MemoryError", "pass", "os._exit(1)"]):
        run(tmp_path, how, environ={"RANK": str(rank), "WORLD_SIZE": "4"})

    first, second, *_ = text_of(tmp_path).split("Died: ")[1:]

    assert first.strip().startswith("rank 1 of 4, ended by MemoryError at generation 120 in train, with ")
    assert second.strip().startswith("ranks 0 and 3 did not reach their end either.")


def test_the_page_begins_with_how_it_died(tmp_path: Path) -> None:
    run(tmp_path, "raise MemoryError")
    found = load(tmp_path)

    page = render_page(found, [[]])

    assert page.index("died: ended by MemoryError at generation 120 in train") < page.index("<main")


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


@pytest.mark.parametrize("goes_on", [True, False])
def test_where_only_phases_are_marked_the_one_that_ran_out_comes_again_or_the_program_died(
    tmp_path: Path, goes_on: bool
) -> None:
    profiler = Profiler(str(tmp_path))
    try:
        for number in range(4):
            try:
                with profiler.phase("train"):
                    if number == 1:
                        raise MemoryError
            except MemoryError:
                if not goes_on:
                    raise
    except MemoryError:
        with profiler.phase("save"):
            pass
    profiler.close()

    died = death_of(load(tmp_path).main)
    assert (died is None) is goes_on
    assert died is None or died.describe().startswith("ended by MemoryError in train")


def test_ctrl_c_is_told_with_its_phase(tmp_path: Path) -> None:
    # In the background of a shell Python leaves Ctrl-C ignored.
    run(tmp_path, "signal.signal(2, signal.default_int_handler); os.kill(os.getpid(), 2); time.sleep(9)")

    assert text_of(tmp_path).startswith("Died:     ended by KeyboardInterrupt at generation 120 in train, with ")


def test_what_leaks_is_named_after_an_exception(tmp_path: Path) -> None:
    """The interpreter keeps the functions that failed, and what their locals hold is told as if they still ran."""
    script = f"""
        import phaseprof as pp
        class Env:
            def __init__(self): self.prices = [float(tick) for tick in range(3_000)]
        def main():
            used = []
            for number in range(20):
                with pp.generation(number), pp.profile_phase("train"):
                    used += [Env() for _ in range(4)]
                    if number == 19:
                        spike = bytearray(60 << 20)
                        raise ValueError("a bad loss")
        pp.configure(run={str(tmp_path)!r}, budget=None)
        main()
        """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, check=False)

    (finding,) = [one for one in find_leaks(load(tmp_path).main) if one.verdict == "leak"]
    assert (finding.subject, finding.phase) == ("Env", "train")
    assert finding.holder[0].startswith("<string> main() local used"), finding.holder


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


@pytest.mark.parametrize(("used", "says"), [(0.88, "killed, most likely out of memory"), (0.5, "ended without a word")])
def test_a_look_near_the_limit_is_remembered_though_it_gave_back_what_was_kept_for_it(used: float, says: str) -> None:
    looked = fmt.Dying(2, 7, "91% of the limit", v={"limit_bytes": 1e9, "available_bytes": 0.09e9})
    later = fmt.Metrics(3, 7, {"limit_bytes": 1e9, "available_bytes": (1 - used) * 1e9}, at="generation end")

    death = death_of(scripted(fmt.GenerationBegin(1, 7, 107), looked, later))

    assert death is not None
    assert says in death.describe()


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
