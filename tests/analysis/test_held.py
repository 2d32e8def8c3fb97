"""A trainer that is deleted at the end, in cycles or not, is no garbage that piled up."""

from __future__ import annotations

import pytest
from scripted_runs import LAST, MIB, Curve, record

from phaseprof.analysis.held import WAITING, grew_held
from phaseprof.analysis.symptoms import AT, find_symptoms
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun

LOOK = 12


def rising(begin: int = 0) -> Curve:
    """One MiB a generation, which the last one takes away."""
    return lambda g: MIB * max(0, g - begin) * (g < LAST)


def run(memory: Curve, *, waits: float | None = None, look: int = LOOK, full_at: int = -1) -> ProcessRun:
    """Memory in use, a look and full collections; the last one takes 400 objects."""
    process = record({
        "malloc_in_use_bytes": memory, "gc/gc_collected": lambda g: 400.0 * ((g >= LAST) + (0 <= full_at <= g)),
        "after_full_collection": lambda g: float(g in (full_at, LAST)),
    })  # fmt: skip
    if waits is not None:
        process.add(fmt.Metrics(look, look, {WAITING: waits}, AT))
    return process


@pytest.mark.parametrize(
    ("process", "is_held"),
    [
        (run(rising(), waits=0), True),
        (run(rising(), waits=LOOK * MIB), False),  # all of it waited
        (run(rising(), full_at=LOOK), True),  # a collection by itself took none of it
        (run(rising()), False),  # nobody looked
        (run(rising(LOOK - 1), waits=0), False),  # it began later
        (run(lambda g: 8 * MIB * (g > 4) + rising()(g) / 10, waits=0, look=6), False),  # an import, and little else
    ],
)
def test_what_was_seen_before_the_end_tells(process: ProcessRun, is_held: bool) -> None:
    assert grew_held(process, AT, LAST) is is_held


@pytest.mark.parametrize(
    ("steps", "n_bytes", "graphs", "is_held"),
    [
        (["module app", ".losses (list, 12)"], 6 * MIB, 0, True),
        (["module app", ".losses (list, 12)"], 900, 9, True),  # what the graphs save lies in C++
        (["module app", ".losses (list, 12)"], 900, 0, False),  # a small part of it
        (["unreachable", "(Rollout)"], 6 * MIB, 9, False),
        (["outside Python", "(Tensor)"], 6 * MIB, 9, False),  # nobody knows who holds it
    ],
)
def test_what_came_to_a_place_between_two_looks_was_held(
    steps: list[str], n_bytes: int, graphs: int, is_held: bool
) -> None:
    process = run(rising())
    process.add(fmt.Places(LOOK, LOOK, 3, n_bytes, [fmt.Place(steps, "list", 1, n_bytes, graphs, [], [])]))

    assert grew_held(process, AT, LAST) is is_held


@pytest.mark.parametrize(("waits", "verdict"), [(0, "leak"), (LOOK * MIB, "sawtooth"), (None, "sawtooth")])
def test_what_was_held_leaks_though_a_collection_takes_it_at_the_end(waits: float | None, verdict: str) -> None:
    found = find_symptoms(run(rising(), waits=waits))

    assert found["malloc_in_use_bytes"].judgement.verdict == verdict


def test_without_counters_nothing_is_known() -> None:
    assert not grew_held(ProcessRun(), AT, LAST)
    assert not grew_held(record({WAITING: lambda g: 0.0}), AT, LAST)
