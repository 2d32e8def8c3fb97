"""Verdicts on recordings of real training loops on one GPU, a series per point and metric, at every length."""

from __future__ import annotations

import csv
import gzip
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from phaseprof.verdict import judge

TRACES = Path(__file__).parents[1] / "data" / "traces"
COUNTERS = ("cuda.allocated_bytes", "cuda.active_bytes", "cuda.small_pool.active_blocks")
LOOP = ("start of iteration", "after rssm", "after optimizer")
ENDS = ("start of iteration", "end of iteration")
LEAKS = {
    "dreamer_collect": (LOOP, 88_064, 12),
    "dreamer_graph": (LOOP, 1_317_376, 108),
    "leak_league": (ENDS, 420_250, 0.8),
}


@cache
def trace(name):
    series = defaultdict(list)
    with gzip.open(TRACES / f"{name}.csv.gz", "rt") as lines:
        for row in csv.DictReader(lines):
            series[row["point"], row["metric"]].append(float(row["value"]))
    return dict(series)


def cases(traces):
    return [(name, point, metric) for name, points in traces for point in points for metric in COUNTERS]


@pytest.mark.parametrize(("name", "point", "metric"), cases((name, LEAKS[name][0]) for name in LEAKS))
def test_leak_is_found_with_its_slope(name, point, metric):
    found = judge(trace(name)[point, metric])

    assert found.verdict == "leak"
    assert found.slope == pytest.approx(LEAKS[name][2 if metric.endswith("blocks") else 1], rel=0.01)


@pytest.mark.parametrize(("name", "point", "metric"), cases([("dreamer_collect", LOOP), ("dreamer_graph", LOOP)]))
@pytest.mark.parametrize("n", [10, 20, 50, 150])
def test_leak_is_found_early_and_stays_found(name, point, metric, n):
    assert judge(trace(name)[point, metric][:n]).verdict == "leak"


@pytest.mark.parametrize("n", [31, 50, 105, 399])
def test_leak_in_steps_is_found_from_the_third_step(n):
    found = judge(trace("leak_league")["end of iteration", "cuda.allocated_bytes"][:n])

    assert (found.verdict, found.shape) == ("leak", "staircase")


@pytest.mark.parametrize(("name", "point", "metric"), cases([("dreamer_none", LOOP), ("healthy_fill", ENDS)]))
def test_buffer_that_filled_is_a_plateau(name, point, metric):
    found = judge(trace(name)[point, metric])

    assert (found.verdict, found.slope) == ("plateau", 0)


@pytest.mark.parametrize(("point", "metric"), [(point, metric) for point in ENDS for metric in COUNTERS])
@pytest.mark.parametrize("n", [10, 40, 400])
def test_varying_lengths_are_stable(point, metric, n):
    assert judge(trace("healthy_varlen")[point, metric][:n]).verdict == "stable"


def test_large_pool_stays_flat_beside_the_leak():
    assert judge(trace("dreamer_collect")["after rssm", "cuda.large_pool.active_bytes"]).verdict == "stable"
