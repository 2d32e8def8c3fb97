"""``run``: the program runs as the interpreter would run it, and is recorded."""

from __future__ import annotations

import json
import py_compile
import zipfile
from pathlib import Path

import pytest
from cli_driver import phaseprof_command, python

from phaseprof.recording.reader import load_run

LIBRARY = """
class Env:
    def __init__(self):
        self.state = [0.0] * 4096

class Base:
    def collect(self):
        return "collected"

class Trainer(Base):
    kept = []

    def evaluate(self):
        self.kept.append(Env())

    @staticmethod
    def score(x):
        return x

    @classmethod
    def name(cls):
        return cls.__name__

    async def fetch(self):
        return "fetched"

    def batches(self):
        yield 1
        yield 2

def epoch(trainer):
    trainer.evaluate()
"""

PROGRAM = """
import asyncio, sys
from library import Trainer, epoch

class Loop:
    def turn(self, trainer):
        epoch(trainer)
        return [trainer.collect(), trainer.score(3), trainer.name(), list(trainer.batches()),
                asyncio.run(trainer.fetch())]

def turns(n):
    yield from range(n)

if __name__ == "__main__":
    trainer, loop = Trainer(), Loop()
    for _ in turns(int(sys.argv[1])):
        print(*loop.turn(trainer))
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "library.py").write_text(LIBRARY)
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


def write(folder: Path, text: str, name: str = "script.py") -> str:
    (folder / name).write_text(text)
    return name


# --- as the interpreter would ---------------------------------------------------------------------------------------

SHOW_MAIN = """
import json, sys
main = sys.modules["__main__"]
print(json.dumps([
    __name__, __file__, __package__, str(type(__spec__)), type(__builtins__).__name__, __doc__,
    main.__dict__ is globals(), sys.argv, sys.path[0], sorted(name for name in globals() if not name.startswith("__")),
]))
"""


@pytest.mark.parametrize("how", [["script.py"], ["-m", "script"], ["-m", "package"], ["folder"], ["packed.zip"]])
def test_main_is_what_the_interpreter_makes_of_it(tmp_path: Path, how: list[str]) -> None:
    write(tmp_path, SHOW_MAIN)
    for folder in ("package", "folder"):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder, SHOW_MAIN, "__main__.py")
    (tmp_path / "package" / "__init__.py").touch()
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.writestr("__main__.py", SHOW_MAIN)
    arguments = [*how, "--lr", "3", "--", "--out", "x"]

    recorded = phaseprof_command("run", "--out", "run", "--quiet", *arguments, cwd=tmp_path)

    assert json.loads(recorded.stdout) == json.loads(python(*arguments, cwd=tmp_path).stdout)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("pass", 0),
        ("import sys; sys.exit()", 0),
        ("import sys; sys.exit(0)", 0),
        ("import sys; sys.exit(7)", 7),
        ("import sys; sys.exit('no data')", 1),
        ("raise SystemExit(3)", 3),
        ("1 / 0", 1),
        ("print('x'", 1),
        ("import nowhere_at_all", 1),
    ],
)
def test_exit_status_and_errors_are_the_programs_own(tmp_path: Path, text: str, status: int) -> None:
    script = write(tmp_path, text)

    recorded = phaseprof_command("run", "--out", "run", "--quiet", script, cwd=tmp_path)

    plain = python(script, cwd=tmp_path)
    assert (recorded.returncode, plain.returncode) == (status, status)
    assert recorded.stderr == plain.stderr.replace(f'"{script}"', f'"{tmp_path / script}"')
    assert recorded.stdout == plain.stdout


def test_a_traceback_through_phases_shows_the_programs_frames_only(tmp_path: Path) -> None:
    write(tmp_path, "def load():\n    raise OSError('gone')\n", "library.py")
    script = write(
        tmp_path,
        "import library\ndef train():\n    try:\n        library.load()\n"
        "    except OSError as error:\n        raise RuntimeError('stop') from error\ntrain()\n",
    )
    phases = ["--phase", "library:load", "--phase", "__main__:train", "--generation", "script:train"]

    recorded = phaseprof_command("run", "--out", "run", "--quiet", *phases, script, cwd=tmp_path)

    assert recorded.returncode == 1
    assert "phaseprof" not in recorded.stderr.replace(str(tmp_path), "")
    assert recorded.stderr == python(script, cwd=tmp_path).stderr.replace(f'"{script}"', f'"{tmp_path / script}"')


def test_an_error_at_import_shows_the_programs_frames_only(tmp_path: Path) -> None:
    write(tmp_path, "def f(): pass\n1 / 0\n", "library.py")
    script = write(tmp_path, "import library\n")

    recorded = phaseprof_command("run", "--out", "run", "--quiet", "--phase", "library:f", script, cwd=tmp_path)

    assert recorded.stderr == python(script, cwd=tmp_path).stderr.replace(f'"{script}"', f'"{tmp_path / script}"')


def test_interrupt(tmp_path: Path) -> None:
    # A job in the background inherits an ignored SIGINT, and so would the script.
    heeds = "signal.signal(signal.SIGINT, signal.default_int_handler)"
    script = write(tmp_path, f"import os, signal, time\n{heeds}\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(30)\n")

    recorded = phaseprof_command("run", "--out", "run", script, cwd=tmp_path)

    assert recorded.returncode == 130
    assert recorded.stderr.rstrip().endswith("KeyboardInterrupt")
    assert "FINAL MEMORY ANALYSIS" in recorded.stdout


def test_threads_of_the_program_end_before_the_summary(tmp_path: Path) -> None:
    script = write(
        tmp_path,
        "import threading, time\n"
        "main = threading.main_thread()\n"
        "def work():\n    time.sleep(0.2); print('worked')\n"
        "threading.Thread(target=work).start()\n",
    )

    out = phaseprof_command("run", "--out", "run", script, cwd=tmp_path).stdout

    assert out.index("worked") < out.index("FINAL MEMORY ANALYSIS")


def test_processes_of_the_program_find_its_main(tmp_path: Path) -> None:
    script = write(
        tmp_path,
        "import multiprocessing\n"
        "def double(x):\n    return 2 * x\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(double, [1, 2]))\n",
    )

    recorded = phaseprof_command("run", "--out", "run", "--quiet", "--phase", "__main__:double", script, cwd=tmp_path)

    assert (recorded.returncode, recorded.stdout) == (0, "[2, 4]\n")


def test_compiled_scripts_run(tmp_path: Path) -> None:
    py_compile.compile(str(tmp_path / write(tmp_path, "import sys; print(sys.argv, __name__)")), tmp_path / "it.pyc")

    recorded = phaseprof_command("run", "--out", "run", "--quiet", "it.pyc", "x", cwd=tmp_path)

    assert (recorded.returncode, recorded.stdout) == (0, "['it.pyc', 'x'] __main__\n")


def test_an_error_in_the_package_of_a_module_is_the_programs(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    write(tmp_path / "package", "raise RuntimeError('no licence')", "__init__.py")

    recorded = phaseprof_command("run", "--out", "run", "--quiet", "-m", "package.train", cwd=tmp_path)

    assert (recorded.returncode, recorded.stdout) == (1, "")
    assert recorded.stderr.endswith("RuntimeError: no licence\n")
    assert "cli" not in recorded.stderr


# --- the recording --------------------------------------------------------------------------------------------------


def test_a_program_that_marks_nothing_gets_a_curve_of_its_memory(tmp_path: Path) -> None:
    script = write(
        tmp_path,
        "import time\nkept = []\nfor _ in range(12):\n    kept.append(bytearray(4_000_000)); time.sleep(0.02)\n",
    )

    options = ("--out", "run", "--interval", "0.01", "--budget", "none")
    out = phaseprof_command("run", *options, script, cwd=tmp_path).stdout

    process = load_run(tmp_path / "run").main
    readings = [snapshot.v["rss_bytes"] for snapshot in process.snapshots]
    assert readings[-1] - readings[0] > 20_000_000
    assert "MEMORY TREND" in out
    assert "phaseprof report" in out


def test_check_cannot_judge_a_program_that_marks_nothing(tmp_path: Path) -> None:
    phaseprof_command("run", "--out", "run", "--quiet", write(tmp_path, "pass"), cwd=tmp_path)

    assert phaseprof_command("check", "run", cwd=tmp_path).returncode == 3


def test_default_folder_is_named_after_the_program(tmp_path: Path) -> None:
    phaseprof_command("run", "--quiet", write(tmp_path, "pass", "train.py"), cwd=tmp_path)

    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.startswith("train-2")
    assert load_run(folder).main.ended is not None


def test_an_existing_recording_is_not_mixed_with_another(tmp_path: Path) -> None:
    script = write(tmp_path, "print('ran')")
    phaseprof_command("run", "--out", "run", "--quiet", script, cwd=tmp_path)

    again = phaseprof_command("run", "--out", "run", "--quiet", script, cwd=tmp_path)

    assert (again.returncode, again.stdout) == (2, "")
    assert "holds a recording" in again.stderr


def test_ranks_of_one_run_share_a_folder(tmp_path: Path) -> None:
    script = write(tmp_path, "pass")
    for rank in ("0", "1"):
        phaseprof_command("run", "--out", "run", "--quiet", script, cwd=tmp_path, RANK=rank, WORLD_SIZE="2")

    ranks = [process.header.rank for process in load_run(tmp_path / "run").processes if process.header]
    assert ranks == [0, 1]


def test_a_program_that_uses_phaseprof_joins_the_recording(tmp_path: Path) -> None:
    script = write(
        tmp_path,
        "import phaseprof as pp\npp.configure(leak_threshold_mb=3)\n"
        "for g in range(3):\n    with pp.generation(g), pp.profile_phase('train'):\n        pass\n",
    )

    phaseprof_command("run", "--out", "run", "--quiet", script, cwd=tmp_path)

    assert any("train" in process.phases for process in load_run(tmp_path / "run").processes)


def test_the_environment_is_as_before_for_a_caller_of_main(tmp_path: Path) -> None:
    write(tmp_path, "import sys; sys.path.append('x'); sys.exit(5)")
    code = (
        "import os, sys; from phaseprof.cli import main; before = [dict(os.environ), sys.argv[:], sys.path[:], "
        "sys.modules['__main__'], sys.meta_path[:]]; "
        "status = main(['run', '--out', 'run', '--quiet', 'script.py']); "
        "after = [dict(os.environ), sys.argv, sys.path, sys.modules['__main__'], sys.meta_path]; "
        "print(status, before == after)"
    )

    assert python("-c", code, cwd=tmp_path).stdout == "5 True\n"


# --- instrumented from outside --------------------------------------------------------------------------------------


def instrumented(program: Path, *options: str, turns: int = 3, **extra: str) -> list[str]:
    """Run the program with options; return its output, which must be as without them."""
    done = phaseprof_command(
        "run", "--out", "run", "--quiet", "--budget", "none", *options, "program.py", turns, cwd=program, **extra
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "collected 3 Trainer [1, 2] fetched\n" * turns
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("target", "visits"),
    [
        ("library:Trainer.evaluate", 3),
        ("library:Trainer.collect", 3),  # inherited
        ("library:Base.collect", 3),
        ("library:Trainer.score", 3),  # a static method
        ("library:Trainer.name", 3),  # a class method
        ("library:Trainer.fetch", 3),  # a coroutine
        ("library:Trainer.batches", 9),  # a generator: three steps a call
        ("library:epoch", 3),  # imported by name
        ("__main__:Loop.turn", 3),
        ("program:Loop.turn", 3),  # the script by its own name
        ("asyncio:run", 3),
    ],
)
def test_phase(program: Path, target: str, visits: int) -> None:
    instrumented(program, "--phase", target)

    assert load_run(program / "run").main.phases[target.partition(":")[2]].visits == visits


def test_an_inherited_method_is_a_phase_of_the_named_class_only(program: Path) -> None:
    write(program, "from library import Base, Trainer\nBase().collect()\nTrainer().collect()\n")

    phaseprof_command("run", "--out", "run", "--quiet", "--phase", "library:Trainer.collect", "script.py", cwd=program)

    assert load_run(program / "run").main.phases["Trainer.collect"].visits == 1


def test_a_phase_can_be_given_a_name(program: Path) -> None:
    instrumented(program, "--phase", "eval=library:Trainer.evaluate")

    assert list(load_run(program / "run").main.phases) == ["eval"]


@pytest.mark.parametrize(
    ("target", "generations"),
    [("library:epoch", 3), ("__main__:Loop.turn", 3), ("__main__:turns", 3), ("library:Trainer.fetch", 3)],
)
def test_generation(program: Path, target: str, generations: int) -> None:
    instrumented(program, "--generation", target)

    assert len(load_run(program / "run").main.generations) == generations


def test_a_leak_is_found_with_no_edit_of_the_program(program: Path) -> None:
    instrumented(
        program, "--phase", "library:Trainer.evaluate", "--generation", "__main__:Loop.turn", "--watch",
        "library:Env=0-1", "--track", "kept=library:Trainer.kept", turns=10,
    )  # fmt: skip

    checked = phaseprof_command("check", "--json", "run", cwd=program)

    tree = json.loads(checked.stdout)
    assert checked.returncode == 1
    leaks = [(one["subject"], one["phase"]) for one in tree["findings"] if one["verdict"] == "leak"]
    assert ("Env", "Trainer.evaluate") in leaks
    assert tree["broken_expectations"][0]["found"] == 10
    tracked = load_run(program / "run").main.series["generation end", "tracked/kept"]
    assert tracked.last > 10 * 4096 * 8


def test_names_of_the_script_are_followed_into_blocks_and_imports(tmp_path: Path) -> None:
    write(tmp_path, "def load(): pass\n", "library.py")
    script = write(
        tmp_path,
        "from __future__ import annotations\n"
        "try:\n    from library import *\nexcept ImportError:\n    load = None\n"
        "if True:\n    def train(): load()\n"
        "step = lambda: train()\n"
        "step(); print(sorted(n for n in globals() if not n.startswith('__')))\n",
    )
    options = [word for name in ("load", "train", "step") for word in ("--phase", f"__main__:{name}")]

    done = phaseprof_command("run", "--out", "run", "--quiet", *options, script, cwd=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "['annotations', 'load', 'step', 'train']\n"
    assert {name: p.visits for name, p in load_run(tmp_path / "run").main.phases.items()} == {
        "load": 1, "train": 1, "step": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--phase", "library:Trainer.evalute"], "class Trainer has no 'evalute'; did you mean 'evaluate'?"),
        (["--phase", "library:Triner.evaluate"], "module library has no 'Triner'; did you mean 'Trainer'?"),
        (["--generation", "library:epohc"], "did you mean 'epoch'?"),
        (["--watch", "library:Enf=2"], "did you mean 'Env'?"),
        (["--watch", "library:epoch"], "not a class"),
        (["--phase", "library:Trainer"], "not a function or method"),
        (["--phase", "library:Trainer.kept"], "not a function or method"),
        (["--phase", "library:epoch.evaluate"], "epoch is not a class"),
        (["--phase", "__main__:Loop.trun"], "did you mean 'turn'?"),
        (["--phase", "__main__:Lop.turn"], "did you mean 'Loop'?"),
        (["--phase", "math:sqrrt"], "did you mean 'sqrt'?"),
        (["--phase", "library.Trainer.evaluate"], "must be pkg.mod:Class.method"),
        (["--watch", "library:Env=two"], "must be pkg.mod:Class=2"),
        (["--watch", "Env"], "must be pkg.mod:Class (got 'Env')"),
        (["--track", "replay=agent"], "must be name=pkg.mod:object.attribute (got"),
        (["--watch", "library:Env=17-16"], "smaller to the larger"),
        (["--track", "library:Trainer.kept"], "must be name=pkg.mod:object.attribute"),
        (["--budget", "3"], ": --budget must"),
        (["--interval", "often"], ": --interval must"),
    ],
)
def test_a_wrong_name_stops_the_program_at_once(program: Path, options: list[str], said: str) -> None:
    done = phaseprof_command("run", "--out", "run", *options, "program.py", 2, cwd=program)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("phaseprof run: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_module_that_never_appears_is_told_at_the_end(program: Path) -> None:
    done = phaseprof_command("run", "--out", "run", "--quiet", "--phase", "libary:epoch", "program.py", 1, cwd=program)

    assert done.returncode == 2
    assert done.stdout == "collected 3 Trainer [1, 2] fetched\n"
    assert done.stderr == (
        "phaseprof run: --phase libary:epoch: module libary was never imported; did you mean 'library'?\n"
    )


def test_a_wrong_name_is_told_even_where_the_program_swallows_it(program: Path) -> None:
    script = write(program, "try:\n    import library\nexcept Exception:\n    pass\nprint('ran')\n")

    done = phaseprof_command("run", "--out", "run", "--quiet", "--phase", "library:epohc", script, cwd=program)

    assert (done.returncode, done.stdout) == (2, "ran\n")
    assert "did you mean 'epoch'?" in done.stderr


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("library:Trainer.keept", "Trainer has no 'keept'; did you mean 'kept'?"),
        ("__main__:trainr", "module __main__ has no 'trainr'; did you mean 'trainer'?"),
        ("libary:Trainer.kept", "module libary was never imported; did you mean 'library'?"),
    ],
)
def test_a_tracked_object_that_never_appears_is_told_at_the_end(program: Path, target: str, said: str) -> None:
    done = phaseprof_command("run", "--out", "run", "--quiet", "--track", f"x={target}", "program.py", 1, cwd=program)

    assert (done.returncode, done.stdout) == (2, "collected 3 Trainer [1, 2] fetched\n")
    assert done.stderr == f"phaseprof run: --track {target}: {said}\n"


def test_an_object_of_the_script_is_tracked_by_either_name(program: Path) -> None:
    options = ("--track", "a=__main__:trainer.kept", "--track", "b=program:trainer.kept")
    instrumented(program, *options, "--generation", "library:epoch")

    series = load_run(program / "run").main.series
    assert series["generation end", "tracked/a"].last > 0
    assert ("generation end", "tracked/b") in series


@pytest.mark.parametrize("source", ["environment", "file"])
def test_targets_come_from_environment_and_project_too(program: Path, source: str) -> None:
    extra = {}
    if source == "environment":
        extra = {
            "PHASEPROF_PHASE": "library:epoch, library:Trainer.evaluate", "PHASEPROF_GENERATION": "__main__:Loop.turn",
            "PHASEPROF_WATCH": "library:Env=2", "PHASEPROF_TRACK": "kept=library:Trainer.kept",
        }  # fmt: skip
    else:
        (program / "pyproject.toml").write_text(
            '[tool.phaseprof]\nphase = ["library:epoch", "library:Trainer.evaluate"]\n'
            'generation = "__main__:Loop.turn"\nwatch = ["library:Env=2"]\ntrack = {kept = "library:Trainer.kept"}\n'
        )

    instrumented(program, **extra)

    process = load_run(program / "run").main
    assert set(process.phases) == {"epoch", "Trainer.evaluate"}
    assert len(process.generations) == 3
    assert (process.watches["Env"].low, process.watches["Env"].high) == (2, 2)
    assert ("generation end", "tracked/kept") in process.series


def test_an_option_replaces_what_the_environment_says(program: Path) -> None:
    instrumented(program, "--phase", "library:epoch", PHASEPROF_PHASE="library:Trainer.evaluate")

    assert list(load_run(program / "run").main.phases) == ["epoch"]
