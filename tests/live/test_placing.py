"""Looks by place: what grew while memory rises is recorded with the path to it."""

from __future__ import annotations

import gc
import math
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from phaseprof import Profiler, load
from phaseprof.diagnosis.charging import charge, seen_once
from phaseprof.live.budget import Budget
from phaseprof.live.closing import ClosingLook
from phaseprof.live.placing import PlaceWatch, _without_libraries, bound_of_path, collected_at, in_words
from phaseprof.live.recorder import Recorder
from phaseprof.live.suspects import Suspects
from phaseprof.live.suspicion import WARM_UP
from phaseprof.native.extension import extension
from phaseprof.native.places import read_places, resolve
from phaseprof.native.table import PathStep
from phaseprof.probes.shared_memory import describe_segments
from phaseprof.recording import format as fmt

pytestmark = pytest.mark.skipif(extension() is None, reason="looks in Python are left to small heaps")


class Trainer:
    def __init__(self) -> None:
        self.rollouts: list[object] = []
        self.lookup = {n: str(n) for n in range(1000)}


def run(profiler: Profiler, step: Callable[[], object], n: int = 14) -> fmt.Places | None:
    for g in range(n):
        with profiler.generation(g), profiler.phase("collect"):
            step()
    profiler.close()
    folder = profiler.settings.run
    assert folder is not None
    return load(folder).main.places


def test_what_grew_is_recorded_with_its_path(tmp_path: Path) -> None:
    trainer = Trainer()

    told = run(Profiler(str(tmp_path / "run"), budget=None), lambda: trainer.rollouts.append(np.zeros(20_000)))

    assert told is not None
    place = max(told.rows, key=lambda row: row.bytes)
    assert place.steps[-2:] == [place.steps[-2], ".rollouts (list, 14)"]
    assert place.steps[-2].endswith("local trainer (Trainer)")
    assert place.bytes >= (told.g - told.since - 1) * 160_000
    assert place.direct[0][0] == "numpy.ndarray"
    assert sum(row.bytes for row in told.rows) <= 1.1 * max(told.bytes, place.bytes)


class Rising(Suspects):
    """Memory that rises by half a megabyte a generation."""

    def __init__(self) -> None: ...

    def is_urgent(self) -> bool:
        return True

    def n_blocks(self) -> int:
        return 0

    def allocated_since(self, generation: int) -> float:
        return (13 - generation) * 480_000.0


class Records(Recorder):
    def __init__(self) -> None:
        self.added: list[fmt.Record] = []
        self.read_devices = None

    def add(self, record: fmt.Record) -> None:
        self.added.append(record)


def test_within_a_budget_looks_in_the_loop_show_what_the_program_holds() -> None:
    trainer, records, now = Trainer(), Records(), [0]
    watch = PlaceWatch(records, Budget(0.5, lambda: now[0], max_pause_s=10.0), Rising())
    for g in range(17):
        trainer.rollouts.append(np.zeros(60_000))
        now[0] += 1_000_000_000
        watch.at_generation_end(g)
    watch.abandon()

    told = [record for record in records.added if isinstance(record, fmt.Places) and not record.libraries]

    assert len(told) >= 2
    assert told[-1].since < told[-1].g
    assert told[-1].rows[0].steps[-1].startswith(".rollouts (list, ")
    assert not any(row.steps[0].startswith(("outside", "unreachable", "module numpy")) for row in told[-1].rows)


@pytest.mark.parametrize(("seconds", "is_made"), [(2, False), (5, True)])
def test_what_others_spent_does_not_keep_the_first_look_at_all_of_the_heap_from_being_made(
    seconds: int, is_made: bool
) -> None:
    """It takes 40 ms for the 500,000 blocks of a usual heap: two fifths of two per cent of five seconds."""
    records, now = Records(), [0]
    budget = Budget(0.02, lambda: now[0], max_pause_s=10.0)
    watch = PlaceWatch(records, budget, Rising())
    budget.charge("counters", 1_000_000_000)
    watch.is_explained = True
    now[0] += seconds * 1_000_000_000
    watch.at_generation_end(12)  # what the program holds comes first
    watch.at_generation_end(13)

    assert bool(watch._whole.kept) is is_made
    watch.abandon()


def test_a_look_that_would_last_too_long_is_cut_and_left_to_the_end() -> None:
    trainer, records, now = Trainer(), Records(), [0]
    trainer.rollouts.append([(n,) for n in range(300_000)])
    budget = Budget(0.5, lambda: now[0], max_pause_s=0.005)
    watch = PlaceWatch(records, budget, Rising())
    for g in range(13):
        now[0] += 1_000_000_000
        watch.at_generation_end(g)

    assert not watch.has_looked
    assert not watch.comes_first  # nothing waits for what is left to the end
    assert budget.left_ns["first look at places of the program"] == 5_000_000

    watch.finish(13, ClosingLook(math.inf, lambda: now[0]))
    assert any(isinstance(record, fmt.Places) for record in records.added)


STEPS = ("places of the program", "growth by place of the program", "paths of places of the program")


def places_in(records: Records) -> list[fmt.Places]:
    return [record for record in records.added if isinstance(record, fmt.Places)]


def test_what_is_too_long_for_one_pause_is_made_in_steps_with_the_program_running_between() -> None:
    trainer, records, now = Trainer(), Records(), [0]
    budget = Budget(0.5, lambda: now[0], max_pause_s=10.0)
    watch = PlaceWatch(records, budget, Rising())
    now[0] += 2_000_000_000_000
    watch.at_generation_end(WARM_UP)
    budget._last_ns.update(dict.fromkeys(STEPS, 6_000_000_000))
    trainer.rollouts.append(np.zeros(60_000))
    made = []
    for g, seconds in enumerate((100.0, 0.1, 1.0, 0.1, 1.0), 12):
        now[0] += int(seconds * 1e9)
        watch.at_generation_end(g)
        made.append([(told.since, told.g) for told in places_in(records)])
    watch.abandon()

    assert made == [[], [], [], [], [(WARM_UP, 12)]]
    assert places_in(records)[0].rows[0].steps[-1] == ".rollouts (list, 1)"


def test_a_look_of_the_last_generation_is_told_whole_at_the_end() -> None:
    records, now = Records(), [0]
    trainer = Trainer()
    budget = Budget(0.5, lambda: now[0], max_pause_s=10.0)
    watch = PlaceWatch(records, budget, Rising())
    now[0] += 2_000_000_000_000
    watch.at_generation_end(WARM_UP)
    budget._last_ns.update(dict.fromkeys(STEPS, 6_000_000_000))
    trainer.rollouts.append(np.zeros(60_000))
    watch.at_generation_end(12)
    assert not places_in(records)

    watch.finish(12, ClosingLook(0.0, lambda: now[0]))

    assert [(told.since, told.g) for told in places_in(records)] == [(WARM_UP, 12)]


def test_a_step_that_alone_would_be_too_long_is_left_out_said_and_tried_again() -> None:
    records, now = Records(), [0]
    budget = Budget(0.5, lambda: now[0], max_pause_s=10.0)
    watch = PlaceWatch(records, budget, Rising())
    now[0] += 2_000_000_000_000
    watch.at_generation_end(WARM_UP)
    budget._last_ns.update(dict.fromkeys(STEPS, 6_000_000_000) | {STEPS[1]: 10_150_000_000})
    said = []
    for g in range(12, 16):
        now[0] += 100_000_000_000
        watch.at_generation_end(g)
        said.append((budget.left_ns.get(STEPS[1]), watch._open is not None))
    watch.abandon()

    assert said[0] == (10_150_000_000, False)
    assert said[-1][1]


class Vast(Rising):
    """It rises in a heap that takes a minute to look at."""

    def n_blocks(self) -> int:
        return 10**9


def test_where_there_is_no_time_for_the_whole_heap_the_last_look_is_at_what_the_program_holds() -> None:
    trainer, records, now = Trainer(), Records(), [0]
    watch = PlaceWatch(records, Budget(0.5, lambda: now[0], max_pause_s=10.0), Vast())
    for g in range(13):
        trainer.rollouts.append(np.zeros(60_000))
        now[0] += 1_000_000_000
        watch.at_generation_end(g)
    look = ClosingLook(10.0, lambda: now[0])

    watch.finish(13, look)
    watch.abandon()

    last = records.added[-1]
    assert isinstance(last, fmt.Places) and (last.g, last.libraries) == (13, False)
    assert look.left == ["places"]


def test_a_first_look_in_the_last_generation_is_recorded_as_seen_once(tmp_path: Path) -> None:
    trainer = Trainer()
    step, n = lambda: trainer.rollouts.append(np.zeros(20_000)), WARM_UP + 1

    told = run(Profiler(str(tmp_path / "run"), budget=None), step, n)

    assert told is not None
    assert told.since == told.g == n - 1
    assert any(row.steps[-1] == f".rollouts (list, {n})" for row in told.rows)


def test_where_memory_is_at_rest_little_came(tmp_path: Path) -> None:
    kept = [np.zeros(20_000)]

    told = run(Profiler(str(tmp_path / "run"), budget=None), kept.copy)

    assert told is None or sum(row.bytes for row in told.rows) < 64_000


IN_MODULE, IN_FRAME = ("module", "root", "app", ""), ("frame", "root", "train.py main()", "")


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([IN_MODULE, ("app.Trainer", "attribute", "best", "")], ["module app.best (Trainer)"]),
        (
            [IN_FRAME, ("app.Trainer", "local", "t", ""), ("list", "attribute", "kept", "")],
            ["train.py main() local t (Trainer)", ".kept (list)"],
        ),
        (
            [IN_MODULE, ("type", "attribute", "Pool", "app.Pool"), ("dict", "attribute", "by_id", "")],
            ["module app.Pool (class Pool)", ".by_id (dict)"],
        ),
        (
            [("named", "root", "it", ""), ("dict", "key", "", ""), ("list", "item", "3", "")],
            ["it", "[...] (dict)", "[...] (list)"],
        ),
        ([("outside Python", "root", "", ""), ("app.Node", "referent", "1", "")], ["outside Python", "(Node)"]),
    ],
)
def test_a_path_in_words(steps: list[tuple[str, str, str, str]], words: list[str]) -> None:
    assert in_words([PathStep(*step) for step in steps]) == words


def test_what_looks_keep_is_no_segment_of_the_program() -> None:
    before, profiler = len(describe_segments()), Profiler(budget=None)
    for g in range(8):
        with profiler.generation(g), profiler.phase("collect"):
            pass
    n_segments = len(describe_segments())
    profiler.close()

    assert n_segments <= before


@pytest.mark.parametrize(
    ("last", "bound"),
    [
        (("list", "attribute", "items", "", 100, 32), 100), (("numpy.ndarray", "item", "3"), -1),
        (("dict", "referent", "1"), 100), (("list", "attribute", "waiting", "", 0, 101), -1),
    ],
)
def test_what_grows_inside_an_item_has_no_bound(last: tuple[Any, ...], bound: int) -> None:
    steps = [PathStep("module", "root", "app"), PathStep("collections.deque", "attribute", "recent", "", 100, 32)]

    assert bound_of_path([*steps, PathStep(*last)])[0] == bound


def test_the_collector_comes_for_a_quarter_of_the_heap_or_not_at_all() -> None:
    was = gc.get_threshold()
    try:
        gc.set_threshold(700, 10, 10)
        assert [collected_at(n, is_enabled=True) for n in (1_000_000, 1000)] == [250_000, 70_000]
        assert collected_at(1_000_000, is_enabled=False) == -1
        gc.set_threshold(0)
        assert collected_at(1_000_000, is_enabled=True) == -1
    finally:
        gc.set_threshold(*was)


@pytest.mark.parametrize(
    ("module_of_type", "grown", "is_told"),
    [("pybind_like_builtins", 0.0, False), ("__main__", 0.0, True), ("pybind_like_builtins", 1e9, False),
     ("pybind_like_builtins", 1e5, True)],
)  # fmt: skip
def test_a_single_look_tells_no_librarys_table_of_its_own_types(
    module_of_type: str, grown: float, is_told: bool
) -> None:
    """pybind11 gives its types the name of a module that there is not; what the program gave a library is much."""
    kind = type("made_by_the_library", (), {"__module__": module_of_type})
    library = types.ModuleType("a_library")
    library.__file__ = "/usr/lib/site-packages/a_library.py"
    library.table = [kind() for _ in range(3_000)]  # type: ignore[attr-defined]
    sys.modules["a_library"] = library
    try:
        table = read_places()
        told = _without_libraries(charge(seen_once(table), table, least_bytes=50_000, most=400), table, grown)
        places = [step.name for paths in resolve([one.place for one in told]).values() for step in paths]
    finally:
        del sys.modules["a_library"]

    assert any("a_library" in name for name in places) is is_told


@pytest.mark.skipif(extension() is None, reason="in Python a look at all of the heap is left out anyway")
@pytest.mark.parametrize(("part_ns", "times"), [(1_000_000, 1), (4_000_000, 1), (8_000_000, 1.4), (90_000_000, 2.2)])
def test_where_the_programs_part_took_longer_all_of_the_heap_is_expected_to(part_ns: int, times: float) -> None:
    now = [0]
    budget = Budget(0.5, lambda: now[0], max_pause_s=0.1)
    watch = PlaceWatch(Records(), budget, Rising())
    before_ns = watch.look_ns(libraries=True)
    with budget.spending(watch._part.job):
        watch._part.keep(1, read_places({"kept": []}, libraries=False))
        now[0] += part_ns

    assert watch.look_ns(libraries=True) == pytest.approx(times * before_ns)
