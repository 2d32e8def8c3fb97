"""Recorded live and loaded from the file: the same numbers, for random programs; and killed, full, or many at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phaseprof import Profiler, load
from phaseprof.live.recorder import Recorder
from phaseprof.live.settings import Settings
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun

NAMES = st.sampled_from(["train", "eval", "collect"])
STEPS = st.recursive(
    st.tuples(st.just("point"), NAMES, st.just(())),
    lambda inner: st.tuples(st.sampled_from(["phase", "block"]), NAMES, st.lists(inner, max_size=3)),
    max_leaves=8,
)
Step = tuple[str, str, Sequence["Step"]]


def play(profiler: Profiler, steps: Sequence[Step]) -> None:
    for kind, name, inner in steps:
        if kind == "point":
            profiler.checkpoint(name)
        else:
            with profiler.phase(name) if kind == "phase" else profiler.checkpoint(name):
                play(profiler, inner)


def shown(process: ProcessRun) -> dict[str, object]:
    return {
        "series": {key: list(series) for key, series in process.series.items()},
        "charges": {key: list(series) for key, series in process.charges.items()},
        "phases": {name: (totals.visits, totals.ns) for name, totals in process.phases.items()},
        "generations": process.generations,
        "labels": process.labels,
        "n_records": process.n_records,
        "last_ns": process.last_ns,
    }


class Ticking:
    """A clock that moves on by itself."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        self.now += 1000
        return self.now


@given(st.lists(st.lists(STEPS, max_size=4), min_size=1, max_size=4), st.booleans())
@settings(max_examples=40, deadline=None)
def test_recorded_live_and_loaded_from_the_file_are_the_same(turns: list[list[Step]], is_declared: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        profiler = Profiler(folder, budget=1.0, max_look=0.001)
        for steps in turns:
            if is_declared:
                with profiler.generation():
                    play(profiler, steps)
            else:
                play(profiler, steps)
        profiler.close()

        live = profiler._session.recorder.model  # what every report of the live side reads

        assert shown(load(folder).main) == shown(live)


def test_points_with_devices_threads_and_items_come_back(tmp_path: Path) -> None:
    recorder = Recorder(Settings(run=str(tmp_path)), Ticking(), lambda text: None)
    recorder.read_devices = lambda: {"cuda:0": [5, 6, -1]}
    label = recorder.label("train", "phase")
    recorder.point(label, fmt.ENTER)
    other = threading.Thread(target=recorder.point, args=(label, fmt.ENTER))
    other.start()
    other.join()
    recorder.point(label, fmt.EXIT, 12.0)
    recorder.close("done")

    loaded = load(tmp_path).main
    assert shown(loaded) == shown(recorder.model)
    assert loaded.series["after train", "cuda:0/reserved_bytes"].values == [6]


def test_labels_beyond_the_bound_share_one_and_are_told_once(tmp_path: Path) -> None:
    told: list[str] = []
    recorder = Recorder(Settings(run=str(tmp_path)), Ticking(), told.append)

    numbers = {recorder.label(f"step {n}", "checkpoint") for n in range(10_000)}
    recorder.close("done")

    assert len(numbers) == 2001
    assert len(set(told)) == 1
    assert "more than 2000 different labels" in told[0]
    assert len(load(tmp_path).main.labels) == 2001


def child(script: str, *args: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


LOOP = """
import sys
from phaseprof import Profiler
profiler = Profiler(sys.argv[1], budget=1.0)
turn = 0
print("ready", flush=True)
while True:
    with profiler.generation(turn):
        for _ in range(2):
            with profiler.phase("train"):
                profiler.checkpoint("inside")
    turn += 1
    if turn == int(sys.argv[2]):
        print("reached", flush=True)
"""


@pytest.mark.parametrize("turns", [1, 7, 40])
def test_killed_at_any_moment_it_loads_to_the_last_whole_record(tmp_path: Path, turns: int) -> None:
    process = child(LOOP, tmp_path, turns)
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(2)] == ["ready\n", "reached\n"]
    process.kill()
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGKILL

    found = load(tmp_path).main
    assert found.ended is None
    assert len([g for g in found.generations if g.seconds is not None]) >= turns
    assert found.series["inside", "rss_bytes"].generations[: turns - 1] == list(range(turns - 1))
    assert len(found.notes) <= 1


def test_every_cut_of_a_recording_loads(tmp_path: Path) -> None:
    """What a kill can leave behind is a beginning of the file; every one that holds the header can be read."""
    profiler = Profiler(str(tmp_path / "whole"))
    for turn in range(2):
        with profiler.generation(turn), profiler.phase("train"):
            profiler.checkpoint("inside")
    profiler.close()
    (file,) = (tmp_path / "whole").iterdir()
    whole = file.read_bytes()
    cut = tmp_path / file.name
    n_lines = whole.count(b"\n")

    for end in range(whole.index(b"\n") + 1, len(whole), 7):
        cut.write_bytes(whole[:end])
        found = load(cut).main
        assert found.n_records >= whole.count(b"\n", 0, end)
        assert sum("is skipped" in note for note in found.notes) <= 1
    assert load(file).main.n_records == n_lines


def test_several_processes_record_side_by_side(tmp_path: Path) -> None:
    script = """
        import os, sys
        os.environ["RANK"] = sys.argv[2]
        from phaseprof import Profiler
        profiler = Profiler(sys.argv[1])
        for turn in range(5):
            with profiler.generation(turn), profiler.phase("train " + sys.argv[2]):
                pass
        profiler.close()
    """
    processes = [child(script, tmp_path, rank) for rank in range(3)]
    for process in processes:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors

    run = load(tmp_path)
    assert [list(process.phases) for process in run.processes] == [["train 0"], ["train 1"], ["train 2"]]
    assert all(process.notes == [] for process in run.processes)


def test_threads_record_side_by_side(tmp_path: Path) -> None:
    profiler = Profiler(str(tmp_path))

    def work(name: str) -> None:
        for _ in range(200):
            with profiler.phase(name):
                profiler.checkpoint("inside")

    threads = [threading.Thread(target=work, args=(f"thread {number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    profiler.close()

    process = load(tmp_path).main
    assert {name: totals.visits for name, totals in process.phases.items()} == {f"thread {n}": 200 for n in range(4)}
    assert process.notes == []


def test_a_rotated_recording_is_one_run(tmp_path: Path) -> None:
    profiler = Profiler(str(tmp_path), max_file_mb=0.003, budget=None)

    for turn in range(30):
        with profiler.generation(turn), profiler.phase("train"):
            pass
    profiler.close()

    run = load(tmp_path)
    assert len(list(tmp_path.iterdir())) > 3
    assert len(run.processes) == 1
    assert run.main.phases["train"].visits == 30
    assert run.main.series["after train", "rss_bytes"].generations == list(range(30))


def lose_folder(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()


def test_a_folder_removed_in_the_middle_is_made_again_and_told(tmp_path: Path) -> None:
    profiler = Profiler(str(tmp_path / "run"))
    for turn in range(4):
        with profiler.generation(turn), profiler.phase("train"):
            if turn == 1:
                lose_folder(tmp_path / "run")
        time.sleep(0.06)  # the file is looked after no more often than counters are read
    profiler.close()

    process = load(tmp_path / "run").main
    assert process.series["after train", "rss_bytes"].generations == [2, 3]
    assert [note for note in process.notes if "could not be written and are missing (the file was removed)" in note]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
def test_on_a_full_disk_training_goes_on_and_the_loss_is_told(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)], check=False)
    if mounted.returncode:
        pytest.skip("this machine mounts no small disk")
    try:
        profiler = Profiler(str(disk / "run"), budget=None)
        for turn in range(12):
            with profiler.generation(turn):
                for _ in range(100):
                    profiler.checkpoint("inside")
            if turn == 9:
                # Room comes back: the file itself is kept, something else on the disk goes.
                subprocess.run(["mount", "-o", "remount,size=1m", str(disk)], check=True)
        profiler.close()
        process = load(disk / "run").main
    finally:
        subprocess.run(["umount", str(disk)], check=True)

    assert process.series["inside", "rss_bytes"].generations[-1] == 11
    assert [note for note in process.notes if "could not be written and are missing (No space left" in note]
