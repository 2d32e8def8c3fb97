"""Workers of multiprocessing write files of their own, and do what they would do without."""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
from multiprocessing import get_context
from pathlib import Path

import pytest

import phaseprof
from phaseprof.cli.judged import judge_run
from phaseprof.integrations.workers import Worker
from phaseprof.report.run import build_report

ROOT = Path(phaseprof.__file__).parents[1]

PROGRAM = """
import multiprocessing, os, signal, sys
from concurrent.futures import ProcessPoolExecutor
import phaseprof
from phaseprof.integrations import workers

KEPT = []

def leak(n):
    KEPT.append(bytearray(400_000))
    return n

def serve(work, done):
    while True:
        n = work.get()
        if n == 9:
            os.kill(os.getpid(), signal.SIGKILL)
        done.put(n)

if __name__ == "__main__":
    workers.GRACE_S = 0.0
    phaseprof.configure(run=sys.argv[1], budget=None)
    workers.install()
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(1, mp_context=fork) as executor:
        assert list(executor.map(leak, range(16))) == list(range(16))
    work, done = fork.SimpleQueue(), fork.SimpleQueue()
    server = fork.Process(target=serve, args=(work, done))
    server.start()
    for n in range(9):
        work.put(n)
        assert done.get() == n
    work.put(9)
    server.join()
    assert server.exitcode == -signal.SIGKILL
"""


@pytest.mark.slow  # three programs, and what each looks at in its end
def test_the_report_leads_with_the_worker_that_leaks_and_a_killed_one_has_all_but_its_end(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    run = tmp_path / "run"

    subprocess.run(
        [sys.executable, "program.py", str(run)], cwd=tmp_path, check=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip

    judged = judge_run(str(run))
    leaking, killed = (
        next(process for process in judged.run.processes if name in process.phases)
        for name in ("executor worker", "serve")
    )
    assert len(leaking.generations) == 16
    assert leaking.ended is not None
    assert len(killed.generations) == 10
    assert killed.ended is None
    report = build_report(judged.run, judged.findings)
    assert [row.n_leaks for row in report.ranks if row.pid == leaking.header.pid] == [1]  # type: ignore[union-attr]
    assert report.sections[0].header.pid == leaking.header.pid  # type: ignore[union-attr]


def double(n: int) -> int:
    return 2 * n


def fail(source: object) -> None:
    raise ValueError(source)


def test_a_worker_returns_and_raises_what_its_target_does() -> None:
    made = pickle.loads(pickle.dumps(Worker(double, "runs/none", 9.0)))

    assert made(4) == 8
    with pytest.raises(ValueError, match="work"):
        Worker(fail, "runs/none", 9.0)("work")


def test_until_it_has_lived_for_a_while_a_worker_leaves_no_file(tmp_path: Path) -> None:
    source = get_context("fork").Queue()
    source.put("work")

    assert Worker(lambda taken: taken.get(timeout=30), str(tmp_path / "run"), 60.0)(source) == "work"

    with pytest.raises(queue.Empty):
        source.get(timeout=0)
    source.close()
    source.join_thread()
    assert not (tmp_path / "run").exists()


def test_run_puts_it_in_when_the_program_makes_a_queue() -> None:
    program = (
        "import sys\n"
        "from phaseprof.cli.outside import Plan, installed\n"
        "from phaseprof.integrations.automatic import WORKERS, put_in\n"
        "assert WORKERS not in sys.modules\n"
        "with installed(Plan([], [], {WORKERS: put_in})):\n"
        "    import multiprocessing\n"
        "    assert not hasattr(multiprocessing.Process.start, '__phaseprof__')\n"
        "    multiprocessing.Queue()\n"
        "assert multiprocessing.Process.start.__phaseprof__\n"
    )

    subprocess.run(
        [sys.executable, "-W", "error", "-c", program], check=True, timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
