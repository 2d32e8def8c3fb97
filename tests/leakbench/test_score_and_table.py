"""The grading and the table of LeakBench, on made-up findings and results."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from leakbench import Finding, Truth, load_cases
from leakbench.score import Score, function_at, grade, in_order, is_whole
from leakbench.table import price, table, until

TRUTH = Truth(phase="train", kind="tensors", subject="Tensor", holder=("Stats", "losses"), also=("objects",))
RIGHT = Finding("train", "tensors", "torch.Tensor", "trainer (Trainer) .stats (Stats) .losses (list, 9) [-1]")


def test_a_finding_with_every_field_right_is_whole() -> None:
    assert all(grade(TRUTH, [RIGHT]).values())


@pytest.mark.parametrize(
    ("mark", "wrong"),
    [
        ("phase", Finding("evaluate", "tensors", "Tensor", RIGHT.holder)),
        ("kind", Finding("train", "native", "Tensor", RIGHT.holder)),
        ("subject", Finding("train", "tensors", "list", RIGHT.holder)),
        ("holder", Finding("train", "tensors", "Tensor", "losses Stats")),
    ],
)
def test_each_field_is_a_mark_of_its_own(mark: str, wrong: Finding) -> None:
    marks = grade(TRUTH, [wrong])

    assert [name for name, right in marks.items() if not right] == [mark]


def test_no_finding_earns_no_mark() -> None:
    assert not any(grade(TRUTH, []).values())


def test_suspects_after_the_third_are_ignored() -> None:
    noise = Finding("evaluate", "native")

    assert not grade(TRUTH, [noise, noise, noise, RIGHT])["phase"]


def test_words_of_a_holder_count_in_their_order_only() -> None:
    assert in_order(("stats", "losses"), "Trainer.STATS.losses")
    assert not in_order(("losses", "stats"), "Trainer.stats.losses")


def test_a_build_without_an_answer_is_a_missed_leak_and_an_error() -> None:
    score = Score()

    score.add({"case": "x", "build": "leaky", "error": "no output", "grade": grade(TRUTH, [])})

    assert (score.sums["leaky"], score.sums["errors"], score.sums["detected"]) == (1, 1, 0)


def run_of(tool: str, seconds: float, slept: float = 0.0, **row: Any) -> dict[str, Any]:
    score = Score()
    full = {"case": "x", "build": "leaky", "findings": [], "seconds": seconds, "slept": slept, **row}
    full["grade"] = grade(TRUTH, [])
    score.add(full)
    settings = {"budget": "none", "stretch": 1.0 if slept else 0.0, "until": "first_whole" in row, "jobs": 1}
    return {"tool": tool, "settings": settings, "score": score.to_dict(), "results": [full]}


def test_price_is_the_loop_with_the_tool_over_the_loop_without() -> None:
    assert price(run_of("a", 3.0), run_of("null", 2.0)) == "1.50 x"


def test_padding_hides_nothing_that_a_tool_adds() -> None:
    """Ten seconds of loop, of which the tool took one out of the sleep: 10 % and not nothing."""
    assert price(run_of("a", 10.0, slept=8.0), run_of("null", 10.0, slept=9.0)) == "1.10 x"


def test_the_median_says_how_many_leaks_it_stands_for() -> None:
    assert until(run_of("a", 1.0, first_whole=6)) == "6 (n=1)"


def test_the_table_has_a_row_a_run_and_none_for_null() -> None:
    lines = table([run_of("null", 2.0), run_of("a", 3.0)]).splitlines()

    assert len(lines) == 3
    assert lines[2].startswith("| a | 0/1 |")


# --- the sixth mark --------------------------------------------------------------------------------------------------

SITED = Truth(phase="train", kind="tensors", subject="Tensor", holder=("Stats", "losses"), site=("Trainer.step",))
PROGRAM = "class Trainer:\n    def step(self):\n        return 1\n\n    def run(self):\n        return 2\n"


@pytest.mark.parametrize(("line", "right"), [(2, True), (3, True), (6, False), (1, False), (99, False)])
def test_a_line_is_right_within_the_function(tmp_path: Path, line: int, *, right: bool) -> None:
    file = tmp_path / "case.py"
    file.write_text(PROGRAM)

    marks = grade(SITED, [replace(RIGHT, site=f"{file}:{line}")])

    assert marks["site"] is right
    assert is_whole(marks)


def test_a_case_without_a_line_is_not_graded_for_one() -> None:
    assert "site" not in grade(TRUTH, [RIGHT])
    assert grade(SITED, [RIGHT])["site"] is False


def test_every_site_is_a_function_of_its_case() -> None:
    wrong = []
    for case in load_cases().values():
        file = importlib.import_module(f"leakbench.cases.{case.name}").__file__ or ""
        lines = range(1, 1 + len(Path(file).read_text().splitlines()))
        functions = {function_at(f"{file}:{line}") for line in lines}
        wrong += [f"{case.name}: {name}" for name in case.truth.site if name not in functions]

    assert not wrong
