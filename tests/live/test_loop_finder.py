"""``run`` finds a plain script's loop: which one, by what it is known, and when it says nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import CodeType

import pytest

from phaseprof.live.loop_code import loops_at, loops_of
from phaseprof.live.loop_finder import LoopFinder

NESTED = """
def main():
    for warm in range(2):
        turn("warm")
    for epoch, name in enumerate("abcdefghij" * 1000):
        for batch in range(3):
            turn("batch")
    after()
main()
"""
LEVEL = """
for seed in range(1):
    for epoch in range(100_000):
        turn("epoch")
"""
OPEN = """
n = 0
while True:
    n += 1
    turn("while")
"""


class Enough(Exception):
    """The loop has come round often enough."""


class Marks:
    """Counts what it is told."""

    def __init__(self, *, are_alone: bool = True) -> None:
        self.are_alone = are_alone
        self.n_generations = self.n_ends = 0

    def generation(self) -> None:
        self.n_generations += 1

    def end_generation(self, *, failed: bool) -> None:
        self.n_ends += 1


def code_of(text: str, folder: Path) -> CodeType:
    return compile(text, str(folder / "train.py"), "exec")


def watch(
    text: str, folder: Path, until: Callable[[Marks, LoopFinder], bool], marks: Marks, least_s: float = 0.0
) -> LoopFinder:
    """Run a program under a finder until what is asked for has come."""
    finder = LoopFinder(marks, folder, least_s=least_s, every_s=0.006)

    def turn(_: str) -> None:
        time.sleep(0.004)
        if until(marks, finder):
            raise Enough

    finder.start()
    try:
        exec(code_of(text, folder), {"turn": turn, "after": lambda: None, "__name__": "__main__"})
    except Enough:
        pass
    finally:
        finder.stop()
    return finder


def test_loops_are_read_from_the_code(tmp_path: Path) -> None:
    main = next(one for one in code_of(NESTED, tmp_path).co_consts if isinstance(one, CodeType))

    found = loops_of(main)

    assert [(loop.line, loop.variable) for loop in found] == [(3, "warm"), (5, "epoch"), (6, "batch")]
    assert [loop.variable for loop in loops_at(main, found[2].head)] == ["epoch", "batch"]
    assert str(found[1]) == f"{tmp_path / 'train.py'}:5 (for epoch ...)"


def test_a_while_loop_has_no_variable(tmp_path: Path) -> None:
    assert [loop.variable for loop in loops_of(code_of(OPEN, tmp_path))] == [None]


def test_an_await_is_no_loop() -> None:
    async def waits(other: Callable[[], object]) -> None:
        await other()  # type: ignore[misc]

    assert loops_of(waits.__code__) == ()


@pytest.mark.parametrize(("text", "variable"), [(NESTED, "epoch"), (LEVEL, "epoch")])
def test_the_outermost_loop_that_comes_round_is_taken_and_its_turns_are_marked(
    text: str, variable: str, tmp_path: Path
) -> None:
    marks = Marks()

    finder = watch(text, tmp_path, lambda marks, _: marks.n_generations >= 3, marks)

    assert finder.found is not None
    assert finder.found.variable == variable


def test_short_turns_are_gathered_to_one_generation(tmp_path: Path) -> None:
    marks, turns = Marks(), []

    def enough(marks: Marks, finder: LoopFinder) -> bool:
        turns.append(finder.found)
        return marks.n_generations >= 2

    finder = watch(LEVEL, tmp_path, enough, marks, least_s=0.1)

    assert finder.found is not None
    assert len([loop for loop in turns if loop is not None]) > 10


def test_a_program_that_marks_its_own_is_left_alone(tmp_path: Path) -> None:
    n_turns = iter(range(40))

    finder = watch(NESTED, tmp_path, lambda *_: next(n_turns) == 39, marks := Marks(are_alone=False))

    assert finder.found is None
    assert marks.n_generations == 0


def test_loops_of_libraries_are_none_of_the_programs(tmp_path: Path) -> None:
    n_turns = iter(range(40))
    library = tmp_path / "site-packages"

    finder = LoopFinder(marks := Marks(), tmp_path, least_s=0.0, every_s=0.002)
    finder.start()
    for _ in iter(lambda: next(n_turns), 39):
        exec(code_of("for i in range(1): turn(i)", library), {"turn": lambda _: time.sleep(0.004)})
    finder.stop()

    assert finder.found is None
    assert marks.n_generations == 0
