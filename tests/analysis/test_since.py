"""One number for the generation in which growth began: the program's own, of the first generation that grew."""

from __future__ import annotations

import dataclasses

import pytest

from phaseprof.analysis.since import first_that_grew, named_since
from phaseprof.analysis.symptoms import Symptom
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.records import Evidence
from phaseprof.verdict import judge


def symptom(values: list[float], generations: list[int] | None = None) -> Symptom:
    ordinals = generations or list(range(len(values)))
    evidence = Evidence("generation end", "watched/Env", tuple(ordinals), tuple(values))
    return Symptom("watched/Env", judge(values, ordinals), evidence)


def run_of(indices: list[int | str]) -> ProcessRun:
    process = ProcessRun()
    for ordinal, index in enumerate(indices):
        process.add(fmt.GenerationBegin(ordinal, ordinal, index))
    return process


def test_growth_from_the_first_reading_on_began_in_its_generation() -> None:
    assert first_that_grew(symptom([50.0 * n for n in range(1, 13)])) == 0


@pytest.mark.parametrize("start", [1, 2, 3, 5])
def test_growth_that_starts_later_began_in_the_first_generation_that_shows_it(start: int) -> None:
    values = [10.0] * start + [10.0 + 50.0 * n for n in range(1, 13)]

    assert first_that_grew(symptom(values)) == start


def test_what_the_profiler_itself_adds_before_is_no_growth_of_the_program() -> None:
    """The slope, from which that was taken off, is far less than what the readings rise by."""
    one = symptom([100.0, 120.0, 163.0, 270.0, *(270.0 + 115.0 * n for n in range(1, 9))])
    judgement = dataclasses.replace(one.judgement, since=2, slope=70.0)

    assert first_that_grew(dataclasses.replace(one, judgement=judgement)) == 3


def test_the_programs_own_number_is_told_beside_the_ordinal() -> None:
    assert named_since(run_of([101, 102, 103]), 1) == {"since_generation": 102, "since_ordinal": 1}


def test_a_generation_with_a_name_is_told_by_it() -> None:
    assert named_since(run_of(["warm-up", "main"]), 1)["since_generation"] == "main"


def test_a_generation_without_a_number_goes_by_its_ordinal() -> None:
    assert named_since(ProcessRun(), 4) == {"since_generation": 4, "since_ordinal": 4}


def test_what_does_not_grow_began_nowhere() -> None:
    assert named_since(ProcessRun(), None) == {"since_generation": None, "since_ordinal": None}
