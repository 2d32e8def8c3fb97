"""The line that made what leaks: one phase of one generation is traced, and nothing else."""

from __future__ import annotations

import _tracemalloc
import inspect
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from phaseprof.live.budget import Budget
from phaseprof.live.placing import PlaceWatch
from phaseprof.live.recorder import Recorder
from phaseprof.live.settings import Settings
from phaseprof.live.tracing import LineTracer
from phaseprof.native.extension import extension, tracing
from phaseprof.probes import sites
from phaseprof.recording import format as fmt

pytestmark = pytest.mark.skipif(extension() is None, reason="looks in Python are left to small heaps")

# A program whose phases say whether they are traced.
PROGRAM = """
import _tracemalloc
import json
import os
import sys

import numpy as np

from phaseprof import Profiler

profiler = Profiler(sys.argv[1], budget=None)
traced = []


class Episode:
    def __init__(self):
        self.rewards = np.zeros(4000)


class Trainer:
    def __init__(self):
        self.episodes, self.made = [], []

    def collect(self):
        for _ in range(3):
            self.episodes.append(Episode())

    def make(self):
        self.made = [Episode() for _ in range(3)]

    def keep(self):
        self.episodes += self.made

    def play(self):
        return [Episode() for _ in range(3)]


def note(g, where):
    if _tracemalloc.is_tracing():
        traced.append([g, where])


trainer = Trainer()
"""

ENDING = """
found = [one for one in profiler.findings() if one.verdict == "leak"]
lines = open(__file__).read().splitlines()
print(json.dumps({
    "sites": [[site.function, lines[site.line - 1].strip(), site.share] for one in found for site in one.sites],
    "same": all(site.file == __file__ for one in found for site in one.sites),
    "traced": traced, "is_tracing": _tracemalloc.is_tracing(), "notes": profiler._model().notes,
}))
"""


def run(folder: Path, loop: str, *, before: str = "", python: str = sys.executable) -> dict[str, Any]:
    """Run the program around a loop in a process of its own."""
    file = folder / "program.py"
    file.write_text(before + PROGRAM + textwrap.dedent(loop) + ENDING)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [python, str(file), str(folder / "run")], env=environment, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


COLLECT = """
for g in range(20):
    with profiler.generation(g):
        note(g, "begin")
        with profiler.phase("collect"):
            note(g, "collect")
            trainer.collect()
        with profiler.phase("train"):
            note(g, "train")
            sum(episode.rewards.sum() for episode in trainer.episodes)
"""


def test_the_finding_names_the_line_and_only_the_phase_is_traced(tmp_path: Path) -> None:
    found = run(tmp_path, COLLECT)

    assert found["sites"] == [["Trainer.collect", "self.episodes.append(Episode())", 1.0]]
    assert found["same"]
    assert [where for _, where in found["traced"]] == ["collect"]
    assert not found["is_tracing"]


def test_what_one_phase_makes_and_another_keeps(tmp_path: Path) -> None:
    found = run(tmp_path, """
        for g in range(24):
            with profiler.generation(g):
                with profiler.phase("make"):
                    trainer.make()
                with profiler.phase("keep"):
                    trainer.keep()
    """)  # fmt: skip

    assert [site[:2] for site in found["sites"]] == [["Trainer.make", "self.made = [Episode() for _ in range(3)]"]]


def test_what_the_next_generation_keeps(tmp_path: Path) -> None:
    found = run(tmp_path, """
        for g in range(30):
            with profiler.generation(g):
                with profiler.phase("keep"):
                    trainer.keep()
                with profiler.phase("make"):
                    trainer.make()
    """)  # fmt: skip

    assert [site[0] for site in found["sites"]] == ["Trainer.make"]


def test_a_phase_that_does_not_come_in_each_generation(tmp_path: Path) -> None:
    found = run(tmp_path, """
        for g in range(30):
            with profiler.generation(g):
                with profiler.phase("train"):
                    trainer.play()
                if g % 3 == 2:
                    with profiler.phase("evaluate"):
                        trainer.collect()
    """)  # fmt: skip

    assert [site[0] for site in found["sites"]] == ["Trainer.collect"]


def test_what_the_tracer_keeps_is_not_taken_for_the_programs(tmp_path: Path) -> None:
    """While something is traced, or kept to be looked for, counters are not followed from phase to phase."""
    found = run(tmp_path, """
        births = profiler._session.inspector.escalation
        seen = []
        see = births._see
        births._see = lambda values, owner: (seen.append(_tracemalloc.is_tracing()), see(values, owner))
        for g in range(24):
            births.done.clear()  # so that it is followed on and on
            with profiler.generation(g):
                with profiler.phase("make"):
                    trainer.make()
                with profiler.phase("keep"):
                    trainer.keep()
                    note(g, "keep")
        traced.append(["boundaries", len(seen) > 20, any(seen)])
    """)  # fmt: skip

    *notes, boundaries = found["traced"]
    assert notes
    assert boundaries == ["boundaries", True, False]


def test_a_program_that_keeps_nothing_has_no_line(tmp_path: Path) -> None:
    found = run(tmp_path, COLLECT.replace("trainer.collect()", "trainer.make()").replace("episodes)", "made)"))

    assert found["sites"] == []
    assert not found["is_tracing"]


def test_a_program_that_traces_goes_on_tracing(tmp_path: Path) -> None:
    """Its own traces are read, with the frames that it asked for."""
    before = "import tracemalloc\ntracemalloc.start(3)\nkept_from_the_start = [object()]\n"
    loop = COLLECT + "\nassert tracemalloc.get_traceback_limit() == 3\n"
    loop += "assert tracemalloc.get_object_traceback(kept_from_the_start[0]) is not None\n"

    found = run(tmp_path, loop, before=before)

    assert found["is_tracing"]
    assert [site[0] for site in found["sites"]] == ["Trainer.collect"]


@pytest.mark.parametrize("error", ["ValueError", "KeyboardInterrupt"])
def test_an_exception_ends_the_tracing(tmp_path: Path, error: str) -> None:
    found = run(tmp_path, f"""
        for g in range(20):
            try:
                with profiler.generation(g), profiler.phase("collect"):
                    trainer.collect()
                    if _tracemalloc.is_tracing():
                        raise {error}
            except {error}:
                note(g, "after")
                traced.append(["caught"])
    """)  # fmt: skip

    assert found["traced"] == [["caught"]] * len(found["traced"])
    assert found["traced"]
    assert not found["is_tracing"]


def test_the_end_of_the_recording_ends_the_tracing(tmp_path: Path) -> None:
    found = run(tmp_path, """
        for g in range(20):
            with profiler.generation(g), profiler.phase("collect"):
                trainer.collect()
                if _tracemalloc.is_tracing():
                    profiler.close()
                    note(g, "after")
                    traced.append("closed")
    """)  # fmt: skip

    assert found["traced"] == ["closed"]
    assert not found["is_tracing"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_is_not_traced(tmp_path: Path) -> None:
    found = run(tmp_path, """
        for g in range(20):
            with profiler.generation(g), profiler.phase("collect"):
                trainer.collect()
                if _tracemalloc.is_tracing():
                    child = os.fork()
                    if child == 0:
                        os._exit(7 if _tracemalloc.is_tracing() else 0)
                    traced.append(os.waitpid(child, 0)[1])
                    note(g, "parent")
    """)  # fmt: skip

    assert found["traced"][0] == 0
    assert found["traced"][1][1] == "parent"
    assert found["sites"]


LATER = """
for g in range(24):
    with profiler.generation(g):
        with profiler.phase("make"):
            trainer.make()
        with profiler.phase("keep"):
            trainer.keep()
            if _tracemalloc.is_tracing():
                {what}
"""


@pytest.mark.skipif(tracing() is None, reason="only the extension pauses")
def test_the_end_of_the_recording_ends_what_is_looked_for_later(tmp_path: Path) -> None:
    found = run(tmp_path, LATER.format(what='profiler.close(); note(g, "after"); traced.append("closed"); break'))

    assert found["traced"] == ["closed"]
    assert not found["is_tracing"]


@pytest.mark.skipif(not hasattr(os, "fork") or tracing() is None, reason="needs fork and the extension")
def test_a_child_that_is_forked_while_it_is_looked_for_keeps_no_traces(tmp_path: Path) -> None:
    found = run(tmp_path, LATER.format(what="""
                child = os.fork()
                if child == 0:
                    os._exit(7 if _tracemalloc.is_tracing() else 0)
                traced.append(os.waitpid(child, 0)[1])
    """.strip()))  # fmt: skip

    assert found["traced"]
    assert not any(found["traced"])
    assert [site[0] for site in found["sites"]] == ["Trainer.make"]


def test_where_it_would_not_be_safe_it_is_left_out_and_said(tmp_path: Path) -> None:
    patched = "from phaseprof.live import tracing\ntracing.find_tracer = lambda **_: (None, 'not here')\n"

    found = run(tmp_path, COLLECT, before=patched)

    assert (found["sites"], found["traced"]) == ([], [])
    assert "the lines that made what grows are not known: not here" in found["notes"]


def test_what_waits_for_the_collector_has_a_line_where_no_walk_has_the_time(tmp_path: Path) -> None:
    patched = "from phaseprof.live.placing import _Looks\n_Looks.is_too_slow = lambda looks: looks.libraries\n"
    found = run(tmp_path, """
        import gc
        gc.disable()
        for g in range(24):
            with profiler.generation(g):
                with profiler.phase("collect"):
                    for _ in range(20):
                        ring = Episode()
                        ring.own = ring
                with profiler.phase("train"):
                    trainer.play()
    """, before=patched)  # fmt: skip

    assert [site[:2] for site in found["sites"]] == [["Episode.__init__", "self.rewards = np.zeros(4000)"]]
    assert not found["is_tracing"]


# --- what it may cost ------------------------------------------------------------------------------------------------


class Grown(PlaceWatch):
    """One place that has grown, which one look of a millisecond reads."""

    leaves_unexplained, sees_nothing, rises = False, False, True

    def __init__(self) -> None:
        self.grown = {7: fmt.Place(["module m.kept (list, 9)"], "list", 1, 1 << 20, 0, [("Episode", 9, 1 << 20)], [])}
        self.grown_libraries = False

    def look_ns(self, *, libraries: bool) -> int:
        return 1_000_000


class Clock:
    def __init__(self) -> None:
        self.now = 1

    def __call__(self) -> int:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += int(seconds * 1e9)


def tracer_of(
    clock: Clock, share: float | None, *, is_suspected: bool = True, cpu_clock: Clock | None = None
) -> tuple[LineTracer, Recorder, Budget]:
    recorder = Recorder(Settings(run=None), clock, lambda _: None)
    budget = Budget(share, clock, max_pause_s=0.1, cpu_clock=cpu_clock)
    return LineTracer(recorder, budget, Grown(), lambda: is_suspected), recorder, budget


def pass_generations(tracer: LineTracer, clock: Clock, seconds: float, n: int, first: int = 0) -> list[int]:
    """Let generations pass; return those in which something was traced."""
    found = []
    for g in range(first, first + n):
        tracer.begin()
        clock.wait(seconds)
        if _tracemalloc.is_tracing():
            found.append(g)
        tracer.end()
        tracer.at_generation_end(g)
    return found


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Answer that nothing was traced, since the place is made up; return what was asked for."""
    asked: list[object] = []

    def made_at(_: object, places: object, **__: object) -> list[sites.Made]:
        asked.append(places)
        return []

    monkeypatch.setattr(inspect.getmodule(LineTracer), "made_at", made_at)
    if sites.find_tracer()[0] is None or _tracemalloc.is_tracing():
        pytest.skip("nothing can be traced in this process")
    return asked


def test_a_generation_is_traced_when_the_budget_has_room_for_it(looked_up: list[object]) -> None:
    clock = Clock()
    tracer, _, _ = tracer_of(clock, 0.02)

    traced = pass_generations(tracer, clock, 0.5, 220)

    # A second must be earned at a fiftieth of the time: of the first half minute half of that, then four fifths.
    assert traced
    assert 135 <= traced[0] <= 150
    # What is not there at once is looked for again two generations later.
    assert len(looked_up) / 2 == len(traced) / 3 <= 4


def test_what_the_first_look_found_is_told_though_the_end_came_before_it_was(
    looked_up: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    tracer, recorder, _ = tracer_of(clock, None)
    row = sites.Made(7, "Other", "", 0, 1, 100)
    answers = iter([[row], []])
    monkeypatch.setattr(inspect.getmodule(LineTracer), "made_at", lambda *_, **__: next(answers))
    pass_generations(tracer, clock, 0.1, 7)

    for _ in range(3):  # in quick generations nothing is decided at the end of each
        tracer.begin()
        tracer.end()
    tracer.tell()

    recorder.fold()
    assert not _tracemalloc.is_tracing()
    assert [one.type for told in recorder.model.sites for one in told.rows] == ["Other"]


def test_what_was_waited_for_long_ends_like_all(looked_up: list[object]) -> None:
    clock = Clock()
    tracer, _, _ = tracer_of(clock, None)
    pass_generations(tracer, clock, 0.1, 7)
    assert tracer._plan is not None
    tracer._plan.waited = 24  # as if its phase had not come for so long

    assert pass_generations(tracer, clock, 0.1, 3, 7) == [7, 8, 9]
    assert not _tracemalloc.is_tracing()


def test_what_would_take_all_that_is_earned_is_left_out_and_counted(looked_up: list[object]) -> None:
    clock = Clock()
    tracer, _, budget = tracer_of(clock, 0.02)

    assert pass_generations(tracer, clock, 0.5, 20) == []
    assert budget.skipped["lines"] > 0


def test_nothing_is_traced_while_nothing_is_suspected(looked_up: list[object]) -> None:
    clock = Clock()
    tracer, _, _ = tracer_of(clock, None, is_suspected=False)

    assert pass_generations(tracer, clock, 0.5, 20) == []


def test_what_it_took_longer_is_charged_and_said(looked_up: list[object]) -> None:
    clock = Clock()
    tracer, recorder, budget = tracer_of(clock, 0.9)
    pass_generations(tracer, clock, 0.1, 7)

    tracer.begin()
    assert _tracemalloc.is_tracing()
    clock.wait(0.35)
    tracer.end()

    assert budget.spent_ns["tracing"] == pytest.approx(0.25e9)
    recorder.fold()
    assert recorder.model.notes == ["the generation took 3.5 times as long once, to trace which lines allocate"]
    tracer.stop()


def test_what_was_slow_must_earn_as_much_again(looked_up: list[object]) -> None:
    clock = Clock()
    tracer, _, budget = tracer_of(clock, 0.5)
    for g in range(100):
        tracer.begin()
        if _tracemalloc.is_tracing():
            break
        pass_generations(tracer, clock, 0.1, 1, g)
    clock.wait(1.1)
    tracer.end()
    tracer.at_generation_end(0)
    pass_generations(tracer, clock, 0.0, 2)  # until it is looked once more
    debt = budget.room_ns()

    traced = pass_generations(tracer, clock, 0.1, 250)

    # A generation, eleven times as long: a second more, where half of a half of the time is earned.
    assert debt < 0
    assert traced
    assert 0.1 * traced[0] >= (1.0 - debt / 1e9) / 0.25 - 0.2


def test_what_waited_for_a_processor_was_not_slowed_by_tracing(looked_up: list[object]) -> None:
    clock, cpu_clock = Clock(), Clock()
    tracer, recorder, budget = tracer_of(clock, 0.9, cpu_clock=cpu_clock)
    pass_generations(tracer, clock, 0.1, 7)

    tracer.begin()
    assert _tracemalloc.is_tracing()
    clock.wait(0.35)
    cpu_clock.wait(0.015)
    tracer.end()

    assert budget.spent_ns["tracing"] == pytest.approx(0.015e9)
    recorder.fold()
    assert recorder.model.notes == []
    tracer.stop()
