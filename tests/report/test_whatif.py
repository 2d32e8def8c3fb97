"""What each leak was worth: the arithmetic of memory at the end and of the time that is left."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.records import Finding
from phaseprof.report.text import Style
from phaseprof.report.whatif import build_what_if

SECOND, MIB = 10**9, 2.0**20


def run_of(n: int = 10, *, left_mib: float | None = 500.0) -> ProcessRun:
    """Generations of two seconds that end with 100 MiB of private memory."""
    process = ProcessRun()
    process.add(fmt.Header(1, "0", 1, 0.0, 0, 4096))
    figures = {"anonymous_bytes": 100 * MIB} | ({} if left_mib is None else {"available_bytes": left_mib * MIB})
    for g in range(n):
        process.add(fmt.GenerationBegin(2 * g * SECOND, g, g))
        process.add(fmt.Metrics(2 * g * SECOND + 1, g, figures, "generation end"))
        process.add(fmt.GenerationEnd(2 * (g + 1) * SECOND, g, 2.0))
    return process


def leak(mib: float, since: int = 0, subject: str = "Env", phase: str = "train") -> Finding:
    return Finding("leak", "objects", phase, subject, bytes_slope=mib * MIB, since_ordinal=since)


def test_each_leak_is_taken_off_by_itself_and_all_together() -> None:
    report = build_what_if(run_of(), [leak(4), leak(1, since=5, subject="Batch")])

    assert [(row.name, row.end_bytes, row.seconds_left) for row in report.rows] == [
        ("as it is", 100 * MIB, 500 / 5 * 2),
        ("without Env", 60 * MIB, 540 / 1 * 2),
        ("without Batch", 95 * MIB, 505 / 4 * 2),
        ("without any of them", 55 * MIB, None),
    ]
    text = report.render(Style())
    assert "3 min 20 s" in text
    assert "not reached" in text


def test_where_no_limit_is_known_no_time_is_said() -> None:
    report = build_what_if(run_of(left_mib=None), [leak(4)])

    assert [row.seconds_left for row in report.rows] == [None, None]
    assert report.render(Style()).count("not known") == 2


def test_leaks_of_one_type_are_told_apart_by_their_phases() -> None:
    names = [row.name for row in build_what_if(run_of(), [leak(4), leak(2, phase="collect")]).rows]

    assert names[1:3] == ["without Env in train", "without Env in collect"]


@pytest.mark.parametrize(
    "finding",
    [
        replace(leak(4), verdict="growing"),
        replace(leak(4), bytes_slope=0.0),
        replace(leak(4), metric="cuda0/allocated_bytes"),
    ],
)
def test_what_is_no_leak_in_bytes_of_this_memory_is_left_out(finding: Finding) -> None:
    report = build_what_if(run_of(), [finding])

    assert report.rows == ()
    assert "No leak was measured in bytes." in report.render(Style())


@given(st.lists(st.tuples(st.floats(1e-3, 1e3), st.integers(0, 9)), min_size=1, max_size=4))
def test_without_a_leak_there_is_never_more_memory_nor_less_time(leaks: list[tuple[float, int]]) -> None:
    report = build_what_if(run_of(), [leak(mib, since) for mib, since in leaks])

    before, *others = report.rows
    assert before.end_bytes is not None
    for row in others:
        assert row.end_bytes is not None
        assert 0 <= row.end_bytes <= before.end_bytes
        assert row.seconds_left is None or (before.seconds_left is not None and row.seconds_left >= before.seconds_left)
    json.dumps(report.to_dict(), allow_nan=False)
