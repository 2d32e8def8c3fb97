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


# --- the innocent -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["freed_in_another_phase", "one_generation_behind", "many_strings"],
)
def test_the_innocent_are_not_named(name: str) -> None:
    assert run(name)["findings"] == []


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
    assert only(name)["phase"] == phase


def test_the_rate_is_what_the_program_keeps() -> None:
    finding = only("kept")

    assert (finding["verdict"], finding["kind"], finding["subject"]) == ("leak", "objects", "Episode")
    assert finding["slope"] == pytest.approx(3.0)


# --- the holder -------------------------------------------------------------------------------------------------------


def test_the_holder_is_told_from_its_root_on() -> None:
    steps = only("kept")["holder"]

    assert steps[0] == "specimens.py main() local trainer (Trainer)"
    assert steps[1].startswith(".episodes (list, ")


def test_a_closure_is_told_by_its_cell() -> None:
    assert only("held_by_a_closure")["holder"][-1] == ".cell_contents (list, 42)"


def test_a_bound_makes_it_filling() -> None:
    assert only("bounded")["verdict"] == "filling"


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


def test_dead_cycles_are_garbage_that_nobody_holds() -> None:
    finding = only("dead_cycles")

    assert (finding["kind"], finding["subject"], finding["phase"]) == ("garbage", "Episode", "rollout")
    assert finding["slope"] == pytest.approx(3 * 2000 * 24, rel=0.1)  # an object and its slot each


SMALL = "0.06"


@in_c
def test_what_goes_up_in_long_teeth_is_named() -> None:
    """By what waits at the last look, or by censuses, where the budget has room for two of so large a heap."""
    finding = only("dead_cycles_in_long_teeth", "0.3")

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


# --- rhythm -----------------------------------------------------------------------------------------------------------


def test_counters_are_read_at_every_turn() -> None:
    assert run("kept")["readings"]["malloc_in_use_bytes"] == list(range(14))
