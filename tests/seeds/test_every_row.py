"""The page on the seeds has every row, and every row has its test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "explanation" / "seeds.md"
ROWS = re.findall(r"^\| (\d{3}\.\d+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
TESTS = "".join(file.read_text(encoding="utf-8") for file in HERE.glob("test_seed_*.py"))


def test_the_page_has_every_row_once() -> None:
    wanted = {"000": 18, "001": 29, "002": 12, "003": 9, "004": 15}

    assert [f"{seed}.{row}" for seed, n in wanted.items() for row in range(1, n + 1)] == ROWS
    assert len(ROWS) == 83


@pytest.mark.parametrize("row", ROWS)
def test_every_row_has_a_test_of_its_name(row: str) -> None:
    seed, number = row.split(".")

    assert re.search(rf'(?:def test_|id="){seed}_{int(number):02}[_ ]', TESTS)
