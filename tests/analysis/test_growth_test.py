"""What breaks an assertion on growth."""

from __future__ import annotations

import pytest

from phaseprof.analysis.growth_test import CALL, describe_growth
from phaseprof.records import Finding


def finding(summary: str = "it leaks", **fields: object) -> Finding:
    given = {
        "verdict": "leak", "kind": "objects", "phase": CALL, "slope": 4.0, "slope_unit": "objects/generation", **fields
    }  # fmt: skip
    return Finding(summary=summary, **given)  # type: ignore[arg-type]


def test_a_leak_of_the_call_breaks_it() -> None:
    assert describe_growth([finding()], 0.0, phase=CALL) == "it leaks"


def test_what_is_born_elsewhere_is_not_the_calls_doing() -> None:
    elsewhere = [finding(phase="(outside phases)"), finding(phase=None)]

    assert describe_growth(elsewhere, 0.0, phase=CALL) == ""


@pytest.mark.parametrize("verdict", ["growing", "filling", "plateau", "step"])
def test_other_verdicts_do_not(verdict: str) -> None:
    assert describe_growth([finding(verdict=verdict)], 0.0, phase=CALL) == ""


@pytest.mark.parametrize(("tolerated", "breaks"), [(3.9, True), (4.0, False)])
def test_objects_within_the_tolerance_do_not(tolerated: float, breaks: bool) -> None:
    assert bool(describe_growth([finding()], tolerated, phase=CALL)) is breaks


@pytest.mark.parametrize("unit", ["bytes/generation", "nodes/generation", "items/generation"])
def test_the_tolerance_is_for_objects_only(unit: str) -> None:
    assert describe_growth([finding(slope_unit=unit)], 100.0, phase=CALL) == "it leaks"


def test_all_that_leaks_is_told() -> None:
    assert describe_growth([finding("one"), finding("two")], 0.0, phase=CALL) == "one; two"
