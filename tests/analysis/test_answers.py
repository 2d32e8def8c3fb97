"""What a whole recording answers."""

from __future__ import annotations

import pytest
from scripted_runs import LAST, MIB, record, rising

from phaseprof.analysis.answers import answer
from phaseprof.analysis.findings import find_leaks
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun


def answered(process: ProcessRun) -> str:
    return answer(process, find_leaks(process))


def test_a_leak_and_its_absence() -> None:
    assert answered(record({"malloc_in_use_bytes": rising(MIB)})) == "leak"
    assert answered(record({"malloc_in_use_bytes": 1e8})) == "no leak"


@pytest.mark.parametrize(("n", "said"), [(0, "too short"), (5, "too short"), (6, "no leak")])
def test_five_readings_are_too_short(n: int, said: str) -> None:
    assert answered(record({"rss_bytes": 1e8}, n=n)) == said


def test_readings_that_have_no_vote_are_not_judged() -> None:
    """Whatever grows in a column of an unknown name, nobody can say."""
    assert answered(record({"reward": rising(1), "loss_mb": rising(20)})) == "not judged"


@pytest.mark.parametrize(("read", "said"), [(0.4, "not judged"), (0.6, "no leak")])
def test_a_counter_must_be_read_over_half_of_the_run(read: float, said: str) -> None:
    process = ProcessRun()
    n = 10 * LAST
    for g in range(n):
        process.add(fmt.Metrics(g, g, {"loss": 1.0, **({"descriptors": 9.0} if g < read * n else {})}))

    assert answered(process) == said


@pytest.mark.parametrize(("exact", "said"), [(5, "too short"), (6, "no leak")])
def test_resident_memory_that_grows_leaves_open_what_no_exact_counter_could_judge(exact: int, said: str) -> None:
    process = ProcessRun()
    for g in range(6):
        read = {"anonymous_bytes": 1e8 + g * 3 * MIB, **({"malloc_in_use_bytes": 1e8} if g < exact else {})}
        process.add(fmt.Metrics(g, g, read))

    assert answered(process) == said


def test_resident_memory_that_hardly_grows_is_no_reason_to_doubt() -> None:
    assert answered(record({"anonymous_bytes": rising(0.1 * MIB)}, n=6)) == "no leak"


def test_a_counter_may_be_read_seldom() -> None:
    process = ProcessRun()
    for g in range(200):
        process.add(fmt.Metrics(g, g, {"loss": 1.0, **({"python_blocks": 9e5} if g % 20 == 0 else {})}))

    assert answered(process) == "no leak"
