"""Folders that go away, disks that fill: one warning at once, and the number of lost records in the recording."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from phaseprof import Profiler, load
from phaseprof.errors import PhaseprofWarning
from phaseprof.live.recorder import Recorder
from phaseprof.live.settings import Settings

LOOK_S = 0.06  # the writer looks after its file every 50 ms


def run(script: str, *args: object) -> str:
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def work(profiler: Profiler, generations: int = 3, points: int = 20) -> None:
    for turn in range(generations):
        with profiler.generation(turn), profiler.phase("train"):
            for _ in range(points):
                profiler.checkpoint("inside")


@contextmanager
def one_warning() -> Iterator[list[str]]:
    """Give the texts of our warnings; there must be exactly one at the end of the block."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield texts
    texts += [str(warning.message) for warning in caught if issubclass(warning.category, PhaseprofWarning)]
    assert len(texts) == 1, texts


def n_lost(folder: Path) -> int:
    """Add up the losses that the recording notes."""
    notes = [note for process in load(folder).processes for note in process.notes]
    return sum(int(note.split()[0]) for note in notes if "could not be written and" in note)


def n_records(folder: Path) -> int:
    return sum(len(file.read_bytes().splitlines()) for file in folder.glob("*.jsonl"))


def removed(folder: Path) -> None:
    shutil.rmtree(folder)


def removed_with_its_parents(folder: Path) -> None:
    shutil.rmtree(folder.parent)


def emptied(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()


def made_anew(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


@pytest.mark.parametrize("rotation", [None, 0.002])
@pytest.mark.parametrize("lose", [removed, removed_with_its_parents, emptied, made_anew])
def test_a_folder_that_went_is_made_again_with_the_number_lost(
    tmp_path: Path, lose: Callable[[Path], None], rotation: float | None
) -> None:
    folder = tmp_path / "runs" / "one"
    profiler = Profiler(folder, budget=None, max_file_mb=rotation)
    work(profiler)
    n_before = n_records(folder)

    with one_warning() as told:
        lose(folder)
        time.sleep(LOOK_S)
        work(profiler)
    profiler.close()

    assert "records are lost from" in told[0]
    assert n_lost(folder) >= n_before - 30  # the heads, of which each part has one, are no records
    assert load(folder).main.phases["train"].visits >= 2


@pytest.mark.parametrize("line", [b"", b"not a header\n"])
def test_a_file_that_is_cut_is_followed_by_another(tmp_path: Path, line: bytes) -> None:
    """As tools do that rotate logs: they copy the file and empty it under the writer's hands."""
    profiler = Profiler(tmp_path, budget=None)
    work(profiler)
    (file,) = tmp_path.glob("*.jsonl")
    n_before = n_records(tmp_path)

    with one_warning() as told:
        file.write_bytes(line)
        time.sleep(LOOK_S)
        work(profiler)
    profiler.close()

    process = load(tmp_path).main
    assert "the file was cut" in told[0]
    assert n_lost(tmp_path) >= n_before - 10
    assert process.phases["train"].visits >= 2
    assert any("is left out" in note for note in process.notes) == bool(line)


def test_a_part_without_a_header_costs_the_other_parts_nothing(tmp_path: Path) -> None:
    profiler = Profiler(tmp_path, budget=None, max_file_mb=0.002)
    work(profiler, generations=30)
    profiler.close()
    parts = sorted(tmp_path.glob("*.jsonl"))
    parts[-1].write_bytes(b"[]" + parts[-1].read_bytes())

    process = load(tmp_path).main

    assert len(parts) > 3
    assert process.phases["train"].visits >= 20
    assert f"{parts[-1].name}: line 1 is not" in " ".join(process.notes)


@pytest.mark.parametrize("rotation", [None, 0.002])
def test_a_folder_replaced_by_a_file_warns_at_once_and_is_noted_when_it_is_back(
    tmp_path: Path, rotation: float | None
) -> None:
    folder = tmp_path / "run"
    profiler = Profiler(folder, budget=None, max_file_mb=rotation)
    work(profiler)

    with one_warning():
        shutil.rmtree(folder)
        folder.write_text("a file now")
        time.sleep(LOOK_S)
        work(profiler)
    folder.unlink()
    time.sleep(LOOK_S)
    work(profiler)
    profiler.close()

    lost, main = n_lost(folder), load(folder).main
    assert lost > 3 * 20
    assert main.phases["train"].visits >= 2
    assert folder.is_dir()


def test_what_can_never_be_noted_on_disk_is_in_the_model(tmp_path: Path) -> None:
    told: list[str] = []
    recorder = Recorder(Settings(run=str(tmp_path / "run")), time.perf_counter_ns, told.append)
    label = recorder.label("inside", "checkpoint")
    recorder.point(label, 0)

    shutil.rmtree(tmp_path / "run")
    (tmp_path / "run").write_text("a file now")
    recorder.check_file()
    for _ in range(10):
        recorder.point(label, 0)
    recorder.close("closed")

    # The label, eleven points and the end.
    assert recorder.model.notes == [
        "13 records could not be written and are missing (the file was removed: File exists)"
    ]
    assert len(told) == 1


def test_the_warning_comes_without_the_end_of_a_generation(tmp_path: Path) -> None:
    """A program whose generation lasts for hours hears of it in the middle of it."""
    told = run(
        """
        import shutil, sys, time, warnings
        from phaseprof import Profiler
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *rest: print(message)
        profiler = Profiler(sys.argv[1])
        with profiler.generation():
            profiler.checkpoint("before")
            shutil.rmtree(sys.argv[1])
            until = time.monotonic() + 20
            for _ in range(10):
                time.sleep(0.02)
                profiler.checkpoint("after")
            print("the generation ends")
        """,
        tmp_path / "run",
    )

    assert told.splitlines()[0].startswith("records are lost from ")
    assert told.splitlines()[1] == "the generation ends"


def test_a_moved_folder_is_followed_and_nothing_is_lost(tmp_path: Path) -> None:
    if not Path("/proc/self/fd").exists():
        pytest.skip("this system does not say where an open file is")
    profiler = Profiler(tmp_path / "run", max_file_mb=0.002)
    work(profiler)

    with one_warning() as told:
        (tmp_path / "run").rename(tmp_path / "elsewhere")
        time.sleep(LOOK_S)
        profiler.checkpoint("moved")
        work(profiler)
    profiler.close()

    assert str(tmp_path / "elsewhere") in told[0]
    assert load(tmp_path / "elsewhere").main.phases["train"].visits == 6
    assert not (tmp_path / "run").exists()


FULL = """
import resource, sys, warnings
from phaseprof import Profiler
told = []
warnings.simplefilter("always")
warnings.showwarning = lambda message, *rest: told.append(str(message))
profiler = Profiler(sys.argv[1], budget=None, max_file_mb=float(sys.argv[2]) or None)
def work(turns):
    for turn in turns:
        with profiler.generation(turn), profiler.phase("train"):
            for _ in range(20):
                profiler.checkpoint("inside")
work(range(3))
most = int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
work(range(3, 30))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
work(range(30, 33))
profiler.close()
print(len(told), *told)
"""


@pytest.mark.parametrize("rotation", [0, 0.004])
@pytest.mark.parametrize("most_bytes", [300, 12_000])
def test_where_nothing_more_can_be_written_the_number_lost_is_exact(
    tmp_path: Path, rotation: float, most_bytes: int
) -> None:
    """A bound on the size of files stands for the disk: like a full one, it takes the beginning of a line."""
    folder = tmp_path / "run"

    told = run(FULL, folder, rotation, most_bytes)

    main = load(folder).main
    n_points = sum(b'"k":"p"' in line for file in folder.glob("*.jsonl") for line in file.read_bytes().splitlines())
    # Files that are followed by others stay below the larger bound.
    assert told.split()[0] == ("0" if rotation and most_bytes == 12_000 else "1")
    assert main.generations[-1].ordinal == 32
    all_points = 33 * (20 + 4)
    if n_points < all_points:
        assert n_lost(folder) >= all_points - n_points


def test_a_relative_folder_stays_where_it_was(tmp_path: Path) -> None:
    run(
        """
        import os, sys
        from phaseprof import Profiler
        os.chdir(sys.argv[1])
        os.mkdir("other")
        profiler = Profiler("run", max_file_mb=0.001)
        os.chdir("other")
        for turn in range(5):
            with profiler.generation(turn), profiler.phase("train"):
                pass
        child = os.fork() if hasattr(os, "fork") else None
        if child == 0:
            with profiler.phase("child"):
                pass
            os._exit(0)
        if child is not None:
            os.waitpid(child, 0)
        profiler.close()
        assert os.listdir(".") == []
        """,
        tmp_path,
    )

    files = sorted(path.name for path in (tmp_path / "run").iterdir())
    assert len({name.partition(".")[0] for name in files}) == 2
    phases = {
        name: total.visits for process in load(tmp_path / "run").processes for name, total in process.phases.items()
    }
    assert phases["train"] == 5


def test_files_and_folders_are_for_this_user_alone(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        (tmp_path / "shared").mkdir(mode=0o775)
        profiler = Profiler(tmp_path / "shared" / "runs" / "one", max_file_mb=0.001)
        work(profiler)
        profiler.close()
    finally:
        os.umask(old)

    def mode(path: Path) -> str:
        return oct(stat.S_IMODE(path.stat().st_mode))

    files = list((tmp_path / "shared" / "runs" / "one").iterdir())
    assert len(files) > 1
    assert {mode(file) for file in files} == {"0o600"}
    assert mode(tmp_path / "shared" / "runs" / "one") == mode(tmp_path / "shared" / "runs") == "0o700"
    assert mode(tmp_path / "shared") == "0o775"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")
def test_a_handler_that_records_during_a_rotation_loses_nothing(tmp_path: Path) -> None:
    """Handlers run on every 100 µs, so that many come in the middle of opening, writing and closing a file."""
    folder = tmp_path / "run"
    told = run(
        """
        import signal, sys, warnings
        warnings.simplefilter("error")
        from phaseprof.native.extension import make_open_file
        from phaseprof.recording.writer import RecordWriter
        from pathlib import Path
        make_file = lambda waiting: make_open_file(waiting, [], -1)
        calls = [0]
        def handler(number, frame):
            calls[0] += 1
            writer.write(b"signal %d\\n" % calls[0])
        writer = RecordWriter(Path(sys.argv[1]), "name", lambda: b"head\\n", max_file_bytes=60, make_file=make_file)
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)
        for number in range(3000):
            writer.write(b"line %d\\n" % number)
        signal.setitimer(signal.ITIMER_REAL, 0)
        writer.close()
        print(calls[0], writer.lost)
        """,
        folder,
    )

    n_calls, lost = map(int, told.split())
    files = sorted(folder.iterdir(), key=lambda file: int(file.suffixes[0][1:]) if len(file.suffixes) > 1 else 0)
    lines = [line for file in files for line in file.read_text().splitlines()]
    assert lost == 0
    assert n_calls > 10
    assert [line for line in lines if line.startswith("line")] == [f"line {number}" for number in range(3000)]
    assert sorted(lines[n] for n in range(len(lines)) if lines[n].startswith("signal")) == sorted(
        f"signal {n + 1}" for n in range(n_calls)
    )
    assert lines.count("head") == len(files)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")
@pytest.mark.parametrize("most", [0, 200])
def test_a_handler_that_raises_takes_no_line_and_doubles_none(tmp_path: Path, most: int) -> None:
    folder = tmp_path / "run"
    told = run(
        """
        import signal, sys
        from phaseprof.native.extension import make_open_file
        from phaseprof.recording.writer import RecordWriter
        from pathlib import Path
        make_file = lambda waiting: make_open_file(waiting, [], -1)
        class Alarm(Exception): pass
        def handler(number, frame):
            raise Alarm
        most = int(sys.argv[2]) or None
        writer = RecordWriter(Path(sys.argv[1]), "name", lambda: b"head\\n", max_file_bytes=most, make_file=make_file)
        signal.signal(signal.SIGALRM, handler)
        raised = 0
        given = []
        for number in range(1500):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.00001 + number % 40 * 0.000002)
                for part in range(4):
                    given.append(f"line {number} {part}")
                    writer.write(b"line %d %d\\n" % (number, part))
                while True:
                    pass
            except Alarm:
                raised += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        writer.close()
        print(raised, writer.lost, len(given), given[-1])
        """,
        folder,
        most,
    )

    raised, lost, n_given, *_ = told.split()
    lines = Counter(line for file in folder.iterdir() for line in file.read_text().splitlines() if line != "head")
    assert (int(raised), int(lost)) == (1500, 0)
    assert max(lines.values()) == 1
    # A call that had not begun when the alarm came is the program's to repeat.
    assert len(lines) >= int(n_given) - 1500
    assert all(line.startswith("line ") for line in lines)


def test_the_number_in_a_note_is_that_of_the_records_of_a_batch(tmp_path: Path) -> None:
    run(
        """
        import json, resource, sys
        from pathlib import Path
        from phaseprof.recording.writer import RecordWriter
        class Listener:
            def encode_note(self, text): return json.dumps({"note": text}).encode() + b"\\n"
            def warn_of_file(self, text): pass
            def take_note(self, text): pass
        writer = RecordWriter(Path(sys.argv[1]), "name", lambda: b"1\\n", listener=Listener())
        resource.setrlimit(resource.RLIMIT_FSIZE, (2 + 3 * 4 + 1, resource.RLIM_INFINITY))
        writer.write(b"111\\n" * 10, 10)
        writer.write(b"222\\n" * 5, 5)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        writer.write(b"333\\n" * 2, 2)
        writer.close()
        """,
        tmp_path,
    )

    lines = (tmp_path / "name.jsonl").read_text().splitlines()
    assert lines[:5] == ["1", "111", "111", "111", "1"]
    assert json.loads(lines[5])["note"].startswith("12 records could not be written")
    assert lines[6:] == ["333", "333"]
