"""What the live side finds out about small real programs, each in a process of its own."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from phaseprof.native.extension import extension
from phaseprof.recording.model import OUTSIDE

pytest.importorskip("numpy")

HERE = Path(__file__).resolve().parent
in_c = pytest.mark.skipif(extension() is None, reason="a look by place at so large a heap takes too long in Python")


@functools.cache
def run(name: str, budget: str = "none") -> dict[str, Any]:
    """Run one specimen; return its findings and what it recorded."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-W", "error", str(HERE / "specimens.py"), name, budget]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=env, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


def only(name: str, budget: str = "none") -> dict[str, Any]:
    """The one finding that a specimen has."""
    (finding,) = run(name, budget)["findings"]
    return dict(finding)


def births(name: str, subject: str) -> dict[str, float]:
    """Survivors of a subject by the phase they were born in, from the newest record."""
    phases = next(phases for told, phases in reversed(run(name)["births"]) if told.endswith(subject))
    return {phase: count for phase, (count, _) in phases.items()}


def holders(name: str, subject: str) -> list[Any]:
    return next(record for record in run(name)["holders"] if record[0].endswith(subject))


# --- the innocent -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["freed_in_another_phase", "one_generation_behind", "few_strings_shared_with_a_child", "many_strings",
     "many_strings_shared_with_a_child"],
)  # fmt: skip
def test_the_innocent_are_not_named(name: str) -> None:
    assert run(name)["findings"] == []


@in_c  # a walk in Python leaves tuples of its own to the collector
def test_nobody_is_asked_about_what_another_phase_frees() -> None:
    # The interpreter keeps a tuple of its own for some calls that are made for the first time, ours among them.
    asked = [subject for subject, *_ in run("freed_in_another_phase")["holders"] if subject != "count/tuple"]
    assert asked == []


# --- the phase --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "phase"),
    [
        ("kept", "collect"), ("in_an_inner_phase", "rollout"), ("in_a_checkpoint_block", "encoder"),
        ("after_an_inner_phase", "train"), ("outside_phases", OUTSIDE), ("without_generations", "collect"),
        ("in_a_thread", "load"), ("held_by_a_closure", "log"),
    ],
)  # fmt: skip
def test_survivors_are_born_in_the_innermost_phase(name: str, phase: str) -> None:
    assert births(name, "Episode") == {phase: 3.0}
    assert only(name)["phase"] == phase


def test_the_rate_is_what_the_program_keeps() -> None:
    finding = only("kept")

    assert (finding["verdict"], finding["kind"], finding["subject"]) == ("leak", "objects", "Episode")
    assert finding["slope"] == pytest.approx(3.0)


# --- the holder -------------------------------------------------------------------------------------------------------


def test_the_holder_is_told_with_root_and_item() -> None:
    _, steps, root, item, bound = holders("kept", "Episode")

    assert steps[0] == "specimens.py main() local trainer (Trainer)"
    assert steps[1].startswith(".episodes (list, ")
    assert (root, item.rpartition(".")[2], bound) == ("local of a running function", "Episode", -1)


def test_a_closure_is_told_by_its_variable() -> None:
    assert "closure variable history (list, " in " ".join(holders("held_by_a_closure", "Episode")[1])


def test_a_bound_makes_it_filling() -> None:
    assert holders("bounded", "Episode")[-1] == 100
    assert only("bounded")["verdict"] == "filling"


def test_no_collection_is_forced_for_lists_of_our_own() -> None:
    """Lists grow in the profiler's series too: nobody is to take those for survivors that nothing holds."""
    assert run("kept")["collected"] == []
    assert holders("kept", "count/list")[1][1].startswith(".episodes (list, ")


# --- what the collector does not follow -------------------------------------------------------------------------------


def test_a_container_of_strings_is_found_by_its_growth() -> None:
    finding = only("strings")

    assert (finding["verdict"], finding["kind"], finding["subject"], finding["phase"]) == (
        "leak", "container", "list", "log",
    )  # fmt: skip
    assert finding["slope"] == pytest.approx(180 * 650, rel=0.05)  # a string of 600 letters, and its slot
    assert ".episodes (list, " in finding["holder"][-1]


def test_arrays_in_untracked_tuples_are_found() -> None:
    finding = only("arrays_in_untracked_tuples")

    assert (finding["kind"], finding["subject"], finding["phase"]) == ("arrays", "ndarray", "collect")
    assert finding["slope"] == pytest.approx(4 * 4000 * 8, rel=0.02)
    assert ".by_step (dict, " in " ".join(finding["holder"])


def test_buffers_that_grow_in_place_are_found() -> None:
    """Neither their number changes nor the length of what they lie in."""
    finding = only("buffers_grow_in_place")

    assert (finding["kind"], finding["subject"], finding["phase"]) == ("objects", "bytearray", "log")
    assert ".spare (list, 30)" in " ".join(finding["holder"])


def test_dead_cycles_are_confirmed_by_one_collection_for_all() -> None:
    name = "dead_cycles"
    finding = only(name)
    _, asked, freed = next(record for record in run(name)["collected"] if record[0].endswith("Episode"))

    assert (finding["kind"], finding["subject"], finding["phase"]) == ("garbage", "Episode", "rollout")
    assert freed == asked > 0


def test_growth_is_seen_although_our_collection_took_it_away() -> None:
    assert only("dead_cycles")["slope"] == pytest.approx(3 * 2000 * 24, rel=0.05)  # an object and its slot each


SMALL = "0.02"


@in_c
def test_what_goes_up_in_long_teeth_is_named() -> None:
    """By what waits at the last look, or by censuses, where the budget has room for two of so large a heap."""
    finding = only("dead_cycles_in_long_teeth", "0.04")

    assert (finding["verdict"], finding["kind"], finding["subject"], finding["phase"]) == (
        "leak", "garbage", "Episode", "rollout",
    )  # fmt: skip


def test_threads_are_named_by_one_look_at_the_end() -> None:
    finding = only("waiting_threads", SMALL)

    assert (finding["kind"], finding["subject"], finding["phase"]) == ("threads", "Thread", "load")
    assert ".episodes (list, 14)" in " ".join(finding["holder"])


@in_c
def test_objects_in_a_large_heap_are_named_by_few_looks() -> None:
    finding = only("kept_in_a_large_heap", SMALL)

    assert (finding["kind"], finding["subject"], finding["phase"]) == ("objects", "Scene", "collect")
    assert ".episodes (list, " in " ".join(finding["holder"])


def test_what_is_held_in_long_teeth_is_not() -> None:
    assert run("long_teeth_of_a_cache", SMALL)["findings"] == []


# --- under a budget ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind", "subject", "phase", "place"),
    [
        ("kept", "objects", "Episode", "collect", ".episodes (list, "),
        ("arrays_in_untracked_tuples", "arrays", "ndarray", "collect", ".by_step (dict, "),
    ],
)
def test_in_haste_the_same_is_found(name: str, kind: str, subject: str, phase: str, place: str) -> None:
    finding = only(name, "0.5")

    assert (finding["verdict"], finding["kind"], finding["subject"], finding["phase"]) == ("leak", kind, subject, phase)
    assert place in " ".join(finding["holder"])


@pytest.mark.parametrize("name", ["freed_in_another_phase", "one_generation_behind"])
def test_in_haste_the_innocent_are_not_named(name: str) -> None:
    assert run(name, "0.5")["findings"] == []


# --- watched classes --------------------------------------------------------------------------------------------------


def test_a_broken_expectation_is_looked_at_at_once_and_told_with_its_phase() -> None:
    name = "watched"
    broken = run(name)["violations"]

    assert broken[0][1] == 1  # too few in the first turn
    assert broken[-1][:3] == ["Episode", 14, "evaluate"]
    assert births(name, "watched/Episode") == {"evaluate": 1.0}
    assert only(name)["phase"] == "evaluate"


# --- forked children --------------------------------------------------------------------------------------------------


def test_the_heap_is_not_walked_while_children_share_many_strings() -> None:
    """A walk writes to the reference count of each, and every child would get a copy of its own."""
    shared = run("many_strings_shared_with_a_child")["readings"]

    assert "arrays_bytes" not in shared
    assert len(shared["children"]) > 5


@pytest.mark.parametrize("name", ["many_strings", "few_strings_shared_with_a_child"])
def test_it_is_walked_otherwise(name: str) -> None:
    assert len(run(name)["readings"]["arrays_bytes"]) > 3


# --- rhythm -----------------------------------------------------------------------------------------------------------


def test_walks_come_at_every_turn_at_first_and_seldom_later() -> None:
    walks = run("one_generation_behind")["readings"]["arrays_bytes"]

    assert walks[:4] == [0, 1, 2, 3]
    assert len(walks) < 14


def test_counters_are_read_at_every_turn() -> None:
    assert run("kept")["readings"]["malloc_in_use_bytes"] == list(range(14))
