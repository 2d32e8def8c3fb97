"""The verdict on one counter, on scripted numbers: both sides of every threshold."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaseprof.analysis.snapshots.lines import SEGMENT_BYTES, GrowthLine, floor_bytes, growth_line

MB = 10**6


def line(*values: int, steps: tuple[int, ...] | None = None, material: bool = True) -> GrowthLine:
    return growth_line(
        "active_bytes",
        values,
        steps or tuple(range(0, 20 * len(values), 20)),
        floor=0 if material else math.inf,
        votes=True,
    )


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ((5,), "too short"),
        ((5, 9), "too short"),
        ((5, 9, 13), "leak"),  # the same twice, to the byte
        ((5_000, 9_000, 13_010), "too short"),  # nearly the same twice may be chance
        ((500, 900, 1310, 1700), "leak"),  # three times within a tenth is not
        ((500, 900, 1500, 1700), "too short"),
        ((7, 7, 7), "stable"),
        ((7, 9, 9, 9), "plateau"),  # warm-up, then flat
        ((7, 9, 9), "too short"),
        ((2, 9, 10, 11), "leak"),  # warm-up, then a line
        ((1, 4, 9, 16), "leak"),  # ever faster
        ((16, 20, 22, 22, 22), "plateau"),
        ((9, 12, 8, 9), "stable"),
        ((10, 30, 12, 31), "too short"),
    ],
)
def test_short_series(values: tuple[int, ...], verdict: str) -> None:
    assert line(*values).verdict == verdict


@pytest.mark.parametrize("values", [(5, 9, 13), (500, 900, 1310, 1700), (1, 4, 9, 16), (10, 30, 12, 31)])
def test_below_the_floor_a_rise_is_growing(values: tuple[int, ...]) -> None:
    assert line(*values, material=False).verdict == "growing"


def test_a_long_rough_rise_goes_to_the_general_judgement() -> None:
    noise = [0, 3, -2, 1, -3, 2, 0, -1, 3, -2, 1, 0]
    values = tuple(MB * (100 + 10 * n + wobble) for n, wobble in enumerate(noise))

    found = line(*values)

    assert found.verdict == "leak"
    assert found.slope_low < 10 * MB / 20 < found.slope_high


def test_a_long_rough_level_is_no_leak() -> None:
    noise = [0, 3, -2, 1, -3, 2, 0, -1, 3, -2, 1, 0]

    assert line(*(MB * (100 + wobble) for wobble in noise)).verdict not in ("leak", "growing")


def test_slope_is_per_step_however_far_apart_the_snapshots_are() -> None:
    found = line(0, 1000, 1500, 4500, steps=(0, 10, 15, 45))

    assert (found.slope, found.slope_low, found.slope_high, found.is_exact) == (100, 100, 100, True)


def test_the_interval_of_an_uneven_line_spans_its_intervals() -> None:
    found = line(500, 900, 1310, 1700, steps=(0, 1, 2, 3))

    assert (found.slope_low, found.slope, found.slope_high) == (390, 400, 410)
    assert not found.is_exact


@pytest.mark.parametrize(
    ("active", "floor"), [(0, SEGMENT_BYTES), (100 * MB, SEGMENT_BYTES), (1000 * MB, 10 * MB), (70_000 * MB, 700 * MB)]
)
def test_the_floor_is_a_segment_or_a_hundredth(active: int, floor: int) -> None:
    assert floor_bytes(active) == floor


@pytest.mark.parametrize(("floor", "verdict"), [(8, "leak"), (9, "growing")])
def test_growth_must_reach_the_floor(floor: int, verdict: str) -> None:
    assert growth_line("x_bytes", [5, 9, 13], [0, 1, 2], floor=floor, votes=True).verdict == verdict


@pytest.mark.parametrize("n", [4, 6, 12])
def test_a_warm_up_does_not_lift_a_trifle_over_the_floor(n: int) -> None:
    values = [70 * MB, *(72 * MB + 3584 * place for place in range(n))]

    found = growth_line("active_bytes", values, range(0, 20 * (n + 1), 20), floor=2 * MB, votes=True)

    assert found.verdict == "growing"
    assert found.judged_growth <= 3584 * n


@given(
    start=st.integers(0, 10**12),
    slope=st.integers(1, 10**9),
    gaps=st.lists(st.integers(1, 1000), min_size=2, max_size=40),
)
def test_every_exact_line_is_found_exactly(start: int, slope: int, gaps: list[int]) -> None:
    steps = [0]
    for gap in gaps:
        steps.append(steps[-1] + gap)

    found = growth_line("x_bytes", [start + slope * step for step in steps], steps, floor=0, votes=True)

    assert (found.slope, found.verdict, found.is_exact) == (slope, "leak", True)


@given(level=st.integers(0, 10**12), n=st.integers(3, 40))
def test_a_constant_is_stable(level: int, n: int) -> None:
    assert line(*[level] * n).verdict == "stable"
