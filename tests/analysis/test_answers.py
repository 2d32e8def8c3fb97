"""What a whole recording answers."""

from __future__ import annotations

import pytest
from scripted_runs import LAST, MIB, record, rising

from phaseprof.analysis.answers import answer
from phaseprof.analysis.findings import find_leaks
from phaseprof.analysis.symptoms import find_symptoms
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


@pytest.mark.parametrize(("exact", "said"), [(5, "not judged"), (6, "no leak")])
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


# Megabytes that malloc had in use in 11 of 14 generations on a busy machine, with an import among the first.
UNEVEN = {
    0: 103.3, 1: 106.6, 2: 110.1, 3: 112.4, 5: 159.9, 6: 163.4, 7: 166.9, 8: 170.2, 9: 173.4, 11: 178.7, 13: 184.4
}  # fmt: skip


def test_private_memory_speaks_where_malloc_could_not_be_judged() -> None:
    process = ProcessRun()
    for g in range(14):
        read = {"anonymous_bytes": 2e8 + 3e6 * g + 4e7 * (g > 3), "python_blocks": 3e5 + g % 3}
        process.add(fmt.Metrics(g, g, read | ({"malloc_in_use_bytes": UNEVEN[g] * 1e6} if g in UNEVEN else {})))

    assert find_symptoms(process)["malloc_in_use_bytes"].judgement.verdict == "growing"
    assert answered(process) == "leak"


@pytest.mark.parametrize(("n_read", "said"), [(5, "not judged"), (20, "leak")])
def test_blocks_that_rise_in_too_few_readings_are_not_ok(n_read: int, said: str) -> None:
    """They may be of any size, so resident memory that rises by more cannot speak for them."""
    process = ProcessRun()
    for g in range(20):
        read = {"anonymous_bytes": 2e8 + 3e6 * g, "malloc_in_use_bytes": 1e8}
        process.add(fmt.Metrics(g, g, read | ({"python_blocks": 3e5 + 3e4 * g} if g % (20 // n_read) == 0 else {})))

    assert answered(process) == said


@pytest.mark.parametrize(("metric", "n_read", "said"), [
    ("threads", 4, "not judged"), ("threads", 20, "leak"), ("shm_user_segments", 4, "not judged"),
])  # fmt: skip
def test_handles_that_rise_in_too_few_readings_are_not_ok(metric: str, n_read: int, said: str) -> None:
    process = ProcessRun()
    for g in range(20):
        read = {"malloc_in_use_bytes": 1e8, **({metric: 9.0 + g} if g % (20 // n_read) == 0 else {})}
        process.add(fmt.Metrics(g, g, read))

    assert answered(process) == said
