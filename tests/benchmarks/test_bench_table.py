"""The one table of all benchmarks: bounds are judged rightly, and the page keeps what people wrote."""

from __future__ import annotations

import datetime
import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("table")


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("run")


def found(**more: object) -> dict[str, object]:
    return {"name": "one point", "ours": 4e-6, "peer": 12e-6, "peer_name": "psutil", "ratio": 3.0, "bound": 3, **more}


@pytest.mark.parametrize(
    ("more", "met"),
    [
        ({}, True),
        ({"ratio": 2.99}, False),
        ({"most": 6e-6}, True),
        ({"most": 3.9e-6}, False),
        ({"bound": None}, None),
        ({"bound": None, "most": 4e-6}, True),
    ],
)
def test_a_bound_is_met_or_not(table: ModuleType, more: dict[str, object], met: bool | None) -> None:
    assert table.make_row("points", found(**more)).met is met


def test_a_row_without_a_figure_is_an_error(table: ModuleType) -> None:
    with pytest.raises(TypeError, match="points: ours must be a number"):
        table.make_row("points", found(ours="fast"))


def test_the_table_shows_figures_in_readable_units(table: ModuleType) -> None:
    rows = [table.make_row("points", found()), table.make_row("loop", found(ours=2 << 20, unit="bytes", peer=None))]

    text = table.render(rows, markdown=True)

    assert "| 4.00 µs " in text
    assert "| 2.00 MiB " in text
    assert text.count("\n") == 3


def test_the_line_below_names_what_was_not_met(table: ModuleType) -> None:
    rows = [table.make_row("points", found()), table.make_row("points", found(name="two points", ratio=1.0))]

    assert table.verdict_line(rows) == "1 of 2 bounds met; not met: two points."


def test_machine_and_date_are_said(table: ModuleType) -> None:
    lines = table.machine_lines(quick=True, today=datetime.date(2030, 1, 2))

    assert lines[0].startswith("Date: 2030-01-02 (quick")
    assert "CPUs" in lines[1]
    assert lines[2].startswith("Python 3.")


def test_a_page_keeps_what_is_around_the_table(driver: ModuleType) -> None:
    page = f"above\n{driver.BEGIN}\nold\n{driver.END}\nbelow\n"

    assert driver.page_with(page, "new") == f"above\n{driver.BEGIN}\nnew\n{driver.END}\nbelow\n"


def test_a_page_without_markers_is_left_alone(driver: ModuleType) -> None:
    with pytest.raises(SystemExit, match="must hold"):
        driver.page_with("no markers", "new")


def test_every_benchmark_is_in_the_order_of_the_table(driver: ModuleType) -> None:
    assert driver.benchmarks() == list(driver.ORDER)


def test_the_arms_of_the_loop_do_the_same_work(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    arms = {}
    for arm in ("bare", "by turns"):
        command = [sys.executable, str(BENCHMARKS / "loop_arm.py"), arm, "none", "2", str(tmp_path / arm)]
        environ = {"PYTHONPATH": str(BENCHMARKS.parent), "PATH": ""}
        done = subprocess.run(command, check=True, capture_output=True, encoding="utf-8", env=environ)
        arms[arm] = json.loads(done.stdout)

    assert [on for on, _, _ in arms["bare"]["turns"]] == [False, False]
    assert [on for on, _, _ in arms["by turns"]["turns"]] == [True, False]
    assert arms["bare"]["fitness"] == arms["by turns"]["fitness"]
    assert not (tmp_path / "bare").exists()
    assert list((tmp_path / "by turns").glob("*.jsonl"))
