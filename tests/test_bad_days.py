"""Days on which things go wrong: the training goes on, and the recording says what is missing."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from phaseprof import Profiler, load
from phaseprof.errors import PhaseprofWarning
from phaseprof.recording.model import ProcessRun

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


def run(script: str, *args: object, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run a program whose every warning is an error and which must end well."""
    command = [sys.executable, "-W", "error", *options, "-c", textwrap.dedent(script), *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done


def processes(folder: Path) -> list[ProcessRun]:
    return load(folder).processes


# --- forks ------------------------------------------------------------------------------------------------------


@needs_fork
def test_a_forked_child_records_into_a_file_of_its_own(tmp_path: Path) -> None:
    run(
        """
        import os, sys
        from phaseprof import Profiler
        profiler = Profiler(sys.argv[1])
        with profiler.generation(), profiler.phase("parent"):
            child = os.fork()
            if child == 0:
                for _ in range(3):
                    with profiler.phase("child"):
                        block = bytearray(20_000_000)
                profiler.close()
                os._exit(0)
            os.waitpid(child, 0)
        profiler.close()
        """,
        tmp_path,
    )

    first, second = sorted(processes(tmp_path), key=lambda p: "child" in p.phases)
    assert first.header is not None
    assert second.header is not None
    assert second.header.parent_pid == first.header.pid
    assert (set(first.phases), set(second.phases)) == ({"parent"}, {"child"})
    assert second.phases["child"].visits == 3
    assert first.notes == second.notes == []


@needs_fork
def test_a_child_reads_its_own_memory(tmp_path: Path) -> None:
    run(
        """
        import os, sys
        from phaseprof import Profiler
        profiler = Profiler(sys.argv[1])
        profiler.checkpoint("here")
        child = os.fork()
        if child == 0:
            block = bytearray(os.urandom(1)) * 60_000_000
            profiler.checkpoint("here")
            profiler.close()
            os._exit(0)
        os.waitpid(child, 0)
        profiler.close()
        """,
        tmp_path,
    )

    small, large = sorted(process.series["here", "rss_bytes"].last for process in processes(tmp_path))
    assert large - small > 40_000_000


@needs_fork
def test_a_child_that_records_nothing_leaves_no_file(tmp_path: Path) -> None:
    run(
        """
        import os, sys
        from phaseprof import Profiler
        class Env: pass
        profiler = Profiler(sys.argv[1])
        profiler.watch(Env, expected=0)
        for how in (lambda: os._exit(0), lambda: sys.exit(0)):
            child = os.fork()
            if child == 0:
                how()
            os.waitpid(child, 0)
        profiler.close()
        """,
        tmp_path,
    )

    assert len(list(tmp_path.iterdir())) == 1


@needs_fork
def test_a_child_that_becomes_another_program_disturbs_nothing(tmp_path: Path) -> None:
    done = run(
        """
        import os, subprocess, sys
        from phaseprof import Profiler
        profiler = Profiler(sys.argv[1])
        with profiler.phase("spawns"):
            subprocess.run([sys.executable, "-c", "import os; print(sorted(os.listdir('/proc/self/fd')))"], check=True)
            child = os.fork()
            if child == 0:
                os.execv(sys.executable, [sys.executable, "-c", "pass"])
            os.waitpid(child, 0)
        profiler.close()
        """,
        tmp_path,
    )

    assert done.stdout.count("'") <= 2 * 4  # the standard three and the folder that is listed: none of ours
    (process,) = processes(tmp_path)
    assert process.phases["spawns"].visits == 1


@needs_fork
def test_a_fork_while_other_threads_record(tmp_path: Path) -> None:
    run(
        """
        import os, sys, threading
        from phaseprof import Profiler
        profiler = Profiler(sys.argv[1], max_file_mb=0.01)
        stop = threading.Event()
        def work():
            while not stop.is_set():
                with profiler.phase("thread"):
                    pass
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for _ in range(8):
            child = os.fork()
            if child == 0:
                with profiler.generation(), profiler.phase("child"):
                    pass
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
        stop.set()
        for thread in threads:
            thread.join()
        profiler.close()
        """,
        tmp_path,
    )

    assert sum("child" in process.phases for process in processes(tmp_path)) == 8


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_pools_of_processes(tmp_path: Path, method: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            f"""
            import multiprocessing, sys
            import phaseprof
            phaseprof.configure(run={str(tmp_path / "run")!r})

            @phaseprof.profile_phase("square")
            def square(n):
                return n * n

            if __name__ == "__main__":
                with multiprocessing.get_context({method!r}).Pool(2) as pool:
                    assert pool.map(square, range(20)) == [n * n for n in range(20)]
                square(3)
            """
        )
    )

    command = [sys.executable, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)

    assert done.returncode == 0, done.stderr
    visits = [process.phases["square"].visits for process in processes(tmp_path / "run") if "square" in process.phases]
    assert sum(visits) == 21


# --- ends -------------------------------------------------------------------------------------------------------


def test_the_end_of_the_interpreter_ends_the_recording(tmp_path: Path) -> None:
    run(
        """
        import sys
        from phaseprof import Profiler
        profiler = Profiler(sys.argv[1])
        with profiler.generation(), profiler.phase("train"):
            pass
        """,
        tmp_path,
    )

    (process,) = processes(tmp_path)
    assert process.ended is not None
    assert process.ended.reason == "the interpreter ended"


def test_phases_in_finalizers_at_the_end_of_the_interpreter(tmp_path: Path) -> None:
    done = run(
        """
        import sys
        from phaseprof import Profiler
        profiler = Profiler(sys.argv[1])
        class Late:
            def __init__(self):
                self.cycle = self
            @profiler.phase("finalizer")
            def __del__(self):
                profiler.checkpoint("late")
        late = Late()
        @profiler.phase("generator")
        def endless():
            while True:
                yield 1
        one = endless()
        next(one)
        """,
        tmp_path,
    )

    assert done.stderr == ""


def test_a_thread_that_is_still_in_a_phase_at_the_end(tmp_path: Path) -> None:
    run(
        """
        import sys, threading
        from phaseprof import Profiler
        profiler = Profiler(sys.argv[1])
        inside = threading.Event()
        def work():
            with profiler.phase("never ends"):
                inside.set()
                threading.Event().wait()
        threading.Thread(target=work, daemon=True).start()
        inside.wait()
        """,
        tmp_path,
    )

    (process,) = processes(tmp_path)
    assert process.ended is not None
    assert "never ends" not in process.phases


def test_a_thread_that_ends_in_the_middle_of_a_phase_leaves_nothing_open(tmp_path: Path) -> None:
    run(
        """
        import sys, threading
        from phaseprof import Profiler
        profiler = Profiler(sys.argv[1])
        def end_inside():
            profiler.phase("left open").__enter__()
        def work():
            with profiler.phase("work"):
                pass
        for target in (end_inside, work):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()
        profiler.close()
        """,
        tmp_path,
    )

    (process,) = processes(tmp_path)
    assert "left open" not in {owner for owner, _ in process.charges}
    assert process.phases["work"].visits == 1


def test_threads_that_come_and_go_need_no_more_memory(tmp_path: Path) -> None:
    run(
        """
        import sys, threading
        from phaseprof import Profiler
        profiler = Profiler(sys.argv[1], budget=None)
        for _ in range(300):
            thread = threading.Thread(target=profiler.checkpoint, args=("inside",))
            thread.start()
            thread.join()
        profiler.close()
        """,
        tmp_path,
    )

    text = next(tmp_path.iterdir()).read_text()
    assert text.count('"th":1') >= 300
    assert '"th":3' not in text


def test_without_assertions(tmp_path: Path) -> None:
    done = run(
        """
        import sys
        import phaseprof
        class Env: pass
        profiler = phaseprof.Profiler(sys.argv[1], budget=None, on_violation="raise")
        profiler.watch(Env, expected=0)
        kept = []
        try:
            with profiler.generation(), profiler.phase("train"):
                kept.append(Env())
        except phaseprof.errors.ExpectationError as error:
            print(error)
        try:
            phaseprof.assert_counts(Env=0)
        except AssertionError as error:
            print(error)
        """,
        tmp_path,
        options=("-O",),
    )

    assert done.stdout.count("Env: expected") == 2


# --- hostile programs -------------------------------------------------------------------------------------------


def test_a_program_that_closes_every_descriptor_goes_on_being_recorded(tmp_path: Path) -> None:
    run(
        """
        import os, sys, warnings
        warnings.simplefilter("ignore")
        from phaseprof import Profiler
        profiler = Profiler(sys.argv[1] + "/run")
        os.closerange(3, 1024)
        own = os.open(sys.argv[1] + "/own", os.O_RDWR | os.O_CREAT)
        for turn in range(3):
            with profiler.generation(turn), profiler.phase("train"):
                pass
        profiler.close()
        os.write(own, b"mine alone")
        """,
        tmp_path,
    )

    assert (tmp_path / "own").read_bytes() == b"mine alone"
    assert any(process.generations for process in processes(tmp_path / "run"))


def test_hostile_objects_in_the_heap(tmp_path: Path) -> None:
    done = run(
        """
        import sys
        from phaseprof import Profiler
        def refuse(*args, **kwargs):
            print("asked")
            raise RuntimeError("asked")
        names = ("__getattribute__", "__getattr__", "__eq__", "__hash__", "__len__", "__iter__", "__bool__", "__repr__",
                 "__str__", "__sizeof__", "__reduce_ex__", "__dir__", "__contains__", "__getitem__", "__call__")
        Hostile = type("Hostile", (), {**dict.fromkeys(names, refuse), "__class__": property(refuse)})
        profiler = Profiler(sys.argv[1], budget=None)
        profiler.watch(Hostile)
        kept = []
        profiler.track("kept", lambda: kept)
        for turn in range(8):
            with profiler.generation(turn), profiler.phase("make"):
                kept.append(object.__new__(Hostile))
                kept.append([object.__new__(Hostile) for _ in range(3)])
        profiler.findings()
        profiler.snapshot("end")
        profiler.close()
        """,
        tmp_path,
    )

    assert "asked" not in done.stdout
    (process,) = processes(tmp_path)
    assert process.series["generation end", "watched/Hostile"].values[-1] == 32


@pytest.mark.parametrize("way", ["in C", "in Python"])
def test_no_look_asks_a_module_for_what_it_has_freed(way: str) -> None:
    """On Python 3.12 ``_asyncio`` shows such objects: to hold one would free it again, and no collection would end."""
    run(
        """
        import asyncio, contextlib, gc, sys, _asyncio
        from phaseprof.native.extension import passes_in_python
        from phaseprof.native.places import members, read_places, resolve
        from phaseprof.probes.arrays import count_arrays
        from phaseprof.probes.census import count_types, instances
        from phaseprof.probes.holders import find_holders
        from phaseprof.probes.large import large_objects
        from phaseprof.probes.sizes import deep_sizes
        async def wait():
            loop = asyncio.get_running_loop()
            async def one():
                future = loop.create_future()
                loop.call_soon(future.set_result, 1)
                await future
            await asyncio.gather(*[one() for _ in range(20)])
        asyncio.run(wait())
        with passes_in_python() if sys.argv[1] == "in Python" else contextlib.nullcontext():
            for _ in range(2):
                table = read_places()
                assert resolve(table.place)
                deep_sizes({"asyncio": _asyncio})
                large_objects(min_bytes=1000)
                find_holders([asyncio.sleep])
                count_arrays()
                count_types()
                instances([type(sys)])
                gc.collect()
        """,
        way,
    )


def test_recording_from_a_signal_handler(tmp_path: Path) -> None:
    run(
        """
        import signal, sys
        from phaseprof import Profiler
        profiler = Profiler(sys.argv[1], max_file_mb=0.01)
        def handler(number, frame):
            profiler.checkpoint("signal")
            with profiler.phase("in the handler"):
                pass
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        for turn in range(40):
            with profiler.generation(turn):
                for _ in range(60):
                    with profiler.phase("train"):
                        pass
        signal.setitimer(signal.ITIMER_REAL, 0)
        profiler.close()
        """,
        tmp_path,
    )

    (process,) = processes(tmp_path)
    assert process.phases["train"].visits == 2400


def test_a_million_labels_cost_bounded_memory_and_one_warning(tmp_path: Path) -> None:
    done = run(
        """
        import sys, warnings
        import psutil
        from phaseprof import Profiler
        told = []
        warnings.showwarning = lambda message, *rest, **more: told.append(str(message))
        warnings.simplefilter("always")
        profiler = Profiler(None)
        def rss():
            return psutil.Process().memory_info().rss
        with profiler.phase("loop"):
            for n in range(20_000):
                profiler.checkpoint(f"step {n}")
            before = rss()
            for n in range(20_000, 200_000):
                profiler.checkpoint(f"step {n}")
            print(len(told), rss() - before, told[0])
        """,
    )

    n_told, grown, text = done.stdout.split(" ", 2)
    assert int(n_told) == 1
    assert "put what changes (a step number) into generation()" in text
    assert int(grown) < 8_000_000


def test_a_run_that_may_not_be_written_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(ValueError, match="run must name a folder that can be written"):
        Profiler(str(tmp_path / "file"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_refused_at_the_start(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)

    with pytest.raises(ValueError, match="Permission denied"):
        Profiler(str(tmp_path / "run"))


def test_a_getter_that_runs_phases_of_its_own(tmp_path: Path) -> None:
    profiler = Profiler(str(tmp_path), budget=None)

    @profiler.phase("getter")
    def getter() -> list[int]:
        return [1, 2, 3]

    profiler.track("numbers", getter)
    for turn in range(3):
        with profiler.generation(turn):
            pass
    profiler.close()

    (process,) = processes(tmp_path)
    assert process.phases["getter"].visits == 3


def test_an_interrupt_inside_a_phase_leaves_it(tmp_path: Path) -> None:
    profiler = Profiler(str(tmp_path), budget=None)

    with pytest.raises(KeyboardInterrupt), profiler.generation(), profiler.phase("a"), profiler.checkpoint("b"):
        raise KeyboardInterrupt
    with profiler.generation(), profiler.phase("next"):
        pass
    profiler.close()

    (process,) = processes(tmp_path)
    assert {name: totals.visits for name, totals in process.phases.items()} == {"a": 1, "b": 1, "next": 1}


def test_the_same_failure_is_told_once(tmp_path: Path) -> None:
    profiler = Profiler(str(tmp_path))

    with pytest.warns(PhaseprofWarning) as caught:
        for number in range(5):
            with profiler.generation(number, items=-5):
                pass
    profiler.close()

    assert len(caught) == 1
