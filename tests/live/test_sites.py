"""Labels say where in the program they are written."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

from phaseprof import Profiler, load
from phaseprof.live.origin import defined_at


def sites(folder: Path) -> dict[str, str]:
    return {label.name: label.site for label in load(folder).main.labels.values()}


def line() -> int:
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def test_a_block_is_written_where_it_stands(tmp_path: Path) -> None:
    profiler = Profiler(str(tmp_path / "run"))

    with profiler.phase("collect"):
        here = line() - 1
    with contextlib.ExitStack() as stack:
        stack.enter_context(profiler.phase("stacked"))
        there = line() - 1
    profiler.checkpoint("point")
    after = line() - 1

    profiler.close()
    found = sites(tmp_path / "run")
    assert found["collect"] == f"{__file__}:{here}"
    assert found["stacked"] == f"{__file__}:{there}"
    assert found["point"] == f"{__file__}:{after}"


def test_a_decorated_function_is_written_where_it_is_defined(tmp_path: Path) -> None:
    profiler = Profiler(str(tmp_path / "run"))

    @profiler.phase("train")
    def train() -> None: ...

    train()

    profiler.close()
    assert sites(tmp_path / "run")["train"] == f"{__file__}:{inspect.unwrap(train).__code__.co_firstlineno}"


def wrapped(function: Callable[[], None]) -> Callable[[], None]:
    return functools.wraps(function)(lambda: function())


def plain() -> None: ...


class Lies:
    @property
    def __code__(self) -> object:
        raise AssertionError("it was asked")


@pytest.mark.parametrize("function", [plain, wrapped(plain)])
def test_what_is_wrapped_is_looked_through(function: Callable[[], None]) -> None:
    assert defined_at(function) == f"{__file__}:{plain.__code__.co_firstlineno}"


@pytest.mark.parametrize("function", [len, Lies(), functools.partial(plain)])
def test_of_what_is_no_function_of_python_no_place_is_known(function: object) -> None:
    assert defined_at(function) == ""


def test_a_function_that_wraps_itself_has_no_place() -> None:
    def ring() -> None: ...

    ring.__dict__["__wrapped__"] = ring

    assert defined_at(ring) == ""
