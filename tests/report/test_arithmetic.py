"""Totals in the text are re-added from the text itself."""

from __future__ import annotations

import re

import pytest

from phaseprof.recording.model import ProcessRun
from phaseprof.report.build import build_cost, build_explained, build_growth, build_tracked, build_trend
from phaseprof.report.text import Style
from phaseprof.units import GIB, MIB, parse_bytes

QUANTITY = re.compile(r"([+-]?)([\d.]+) ([KMGT]iB|[kMGT]?B)\b")


def quantities(line: str) -> list[float]:
    """Read every amount of bytes in a line."""
    return [
        (-1 if sign == "-" else 1) * parse_bytes(f"{number} {unit}") for sign, number, unit in QUANTITY.findall(line)
    ]


def body(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith(("=", "-"))]


def test_trend_changes_add_up_to_the_last_row(leaky: ProcessRun) -> None:
    rows = [line for line in body(build_trend(leaky).render(Style())) if "After" in line or "baseline" in line]
    levels = [float(re.findall(r" (\d+\.\d\d) ", line)[0]) * GIB for line in rows]
    changes = [quantities(line)[-1] for line in rows[1:]]

    assert levels[0] + sum(changes) == pytest.approx(levels[-1], abs=0.01 * GIB)


def test_growth_is_current_less_baseline(leaky: ProcessRun) -> None:
    text = build_growth(leaky).render(Style())
    figures = {name: quantities(line)[0] for line in body(text)[4:8] for name in re.findall(r"^   (\w+):", line)}

    assert figures["Growth"] == pytest.approx(figures["Current"] - figures["Baseline"], abs=0.01 * GIB)


def test_count_changes_are_differences(leaky: ProcessRun) -> None:
    text = build_growth(leaky).render(Style(unicode=False))
    rows = re.findall(r": +(\d+) -> +(\d+) \(([+-]\d+)\)", text)

    assert len(rows) == 3
    assert all(int(after) - int(before) == int(change) for before, after, change in rows)


def test_explained_terms_add_up_to_the_growth(leaky: ProcessRun) -> None:
    lines = build_explained(leaky).render(Style(unicode=False)).splitlines()
    rule = next(at for at, line in enumerate(lines) if line.startswith("   ---"))
    terms = [q for line in lines[3:rule] for q in quantities(line)]

    assert sum(terms) == pytest.approx(quantities(lines[rule + 1])[0], abs=0.02 * GIB)


def test_costs_add_up_to_the_total(leaky: ProcessRun) -> None:
    rows = re.findall(r"^(\w+) +([\d.]+) +([\d.]+)%$", build_cost(leaky).render(Style()), re.MULTILINE)
    seconds = {name: float(s) for name, s, _ in rows}
    shares = {name: float(share) for name, _, share in rows}

    assert seconds.pop("total") == pytest.approx(sum(seconds.values()))
    assert shares.pop("total") == pytest.approx(sum(shares.values()), abs=0.02)


def test_tracked_rate_times_epochs_is_the_growth(leaky: ProcessRun) -> None:
    text = build_tracked(leaky).render(Style())
    growth, rate = quantities(next(line for line in text.splitlines() if "experience" in line and "/epoch" in line))

    assert growth == pytest.approx(4 * rate, rel=0.001)
    assert growth == pytest.approx(32 * MIB, rel=0.001)
