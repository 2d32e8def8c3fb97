"""Progress is shown on a terminal only, seldom, and leaves no trace."""

from __future__ import annotations

import io

from phaseprof.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """A clock that goes on by a fixed step at each look."""

    def __init__(self, step_s: float) -> None:
        self.now, self.step = 0.0, step_s

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def shown(stream: io.StringIO, step_s: float, n: int = 20) -> str:
    list(Progress("reading", n, stream=stream, clock=Clock(step_s)).over(range(n)))
    return stream.getvalue()


def test_nothing_is_written_to_a_file() -> None:
    assert shown(io.StringIO(), 1.0) == ""


def test_short_work_shows_nothing() -> None:
    assert shown(Terminal(), 0.001) == ""


def test_long_work_shows_how_far_it_is() -> None:
    assert "\rreading: 10 of 20 (50%), 11 s" in shown(Terminal(), 1.0)


def test_the_line_is_wiped_at_the_end() -> None:
    text = shown(Terminal(), 1.0)

    assert text.endswith("\r") and text.rstrip("\r").rsplit("\r", 1)[1].strip() == ""


def test_writes_are_at_least_a_tenth_of_a_second_apart() -> None:
    assert shown(Terminal(), 0.01, n=1000).count("reading") <= 100


def test_items_pass_through() -> None:
    assert list(Progress("reading", stream=io.StringIO()).over("abc")) == ["a", "b", "c"]
