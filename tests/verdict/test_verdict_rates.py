"""The published rates: the generators make what they say, and the worst classes stay within bounds."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "verdict_rates.py"
SPEC = importlib.util.spec_from_file_location("verdict_rates", SCRIPT)
rates = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(rates)
CLASSES = rates.LEAKS | rates.HEALTHY
NOISE = ("white noise", "AR(0.5) noise", "AR(0.9) noise", "random walk", "random walk, heavy tails")


def leak_rate(name, n, series):
    found = rates.verdicts(name, CLASSES[name], n, series)
    return found["leak"] / found.total()


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("n", [10, 100])
def test_every_class_makes_series_of_the_length_asked(name, n):
    values = CLASSES[name](np.random.default_rng(0), n)

    assert values.shape == (n,)
    assert np.isfinite(values).all()


def test_rates_are_the_same_each_time():
    assert rates.verdicts("random walk", rates.walk, 20, 20) == rates.verdicts("random walk", rates.walk, 20, 20)


@pytest.mark.parametrize("name", rates.LEAKS)
def test_leaks_are_found_in_a_hundred_readings(name):
    assert leak_rate(name, 100, 20) >= 0.9


@pytest.mark.parametrize("name", rates.HEALTHY)
def test_healthy_series_of_thirty_rarely_alarm(name):
    assert leak_rate(name, 30, 40) <= 0.1


@pytest.mark.parametrize("name", NOISE)
def test_noise_of_thirty_alarms_in_four_of_a_hundred_at_most(name):
    assert leak_rate(name, 30, 200) <= 0.04


@pytest.mark.parametrize("name", ["exact line", "quadratic", "step every 2nd", "step every 3rd"])
def test_exact_leaks_are_found_in_ten_readings(name):
    assert leak_rate(name, 10, 50) == 1


def test_the_command_prints_a_table(capsys):
    code = rates.main(["--series", "1", "--only", "wobbles"])

    out = capsys.readouterr().out
    assert code == 0
    assert (
        out.splitlines()[-1]
        == "| count that wobbles by one | 0.0 stable | 0.0 stable | 0.0 stable | 0.0 stable | 0.0 stable |"
    )
