"""The tutorial shows what the demo prints: its parts, in the order and form in which they come."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

pytest.importorskip("torch")
import pages


@pytest.fixture(scope="module")
def printed() -> dict[str, str]:
    """Return what the demo prints now, by part."""
    return pages.demo_outputs()


def headings(text: str) -> list[str]:
    """Return the lines between rules and the column heads, figures masked; how wide a column is, its rows say."""
    return [re.sub(r"\d+", "N", " ".join(line.split())) for line in _headings(text.splitlines())]


def _headings(lines: list[str]) -> Iterator[str]:
    for before, line, after in zip(["", *lines], lines, [*lines[1:], ""], strict=False):
        ruled = bool(before) and set(before) == {"="} and bool(after) and set(after) == {"="}
        if ruled or (after.startswith("---") and set(after) <= {"-", " "}):
            yield line


@pytest.mark.parametrize("name", pages.demo_blocks(pages.TUTORIAL))
def test_a_part_of_the_tutorial_looks_like_the_demos(printed: dict[str, str], name: str) -> None:
    shown = pages.demo_blocks(pages.TUTORIAL)[name]

    assert headings(shown) == headings(printed[name])[: len(headings(shown))], "run tests/docs/pages.py --demo"


def test_the_tutorial_shows_the_parts_that_matter() -> None:
    assert {"start", "findings", "growth", "counts", "check"} <= set(pages.demo_blocks(pages.TUTORIAL))
