"""The marker ``object_count``: how many instances are alive at the end of a test, its locals included."""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from phaseprof.live.watching import Expected

# A path to a holder that is not found in this time is left out of the failure.
_HOLDER_DEADLINE_S = 2.0


def complaint_about_counts(marker: pytest.Mark) -> str:
    """Say what is wrong with the arguments of a marker; empty if nothing is."""
    from phaseprof.errors import UsageError
    from phaseprof.live.watching import check_expected

    is_one = len(marker.args) <= 1 and all(isinstance(mapping, dict) for mapping in marker.args)
    if not is_one or not any((*marker.args, marker.kwargs)):
        return f"object_count takes Env=2 or one mapping {{Env: 2}} (got {marker.args!r})"
    for mapping in (*marker.args, marker.kwargs):
        for name, bound in mapping.items():
            if not isinstance(name, str | type):
                return f"object_count takes classes and names (got {name!r})"
            try:
                check_expected(bound)
            except UsageError as error:
                return f"object_count: {name}: {error}"
    return ""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Count after a test that passed, while the locals of its function are still there."""
    __tracebackhide__ = True
    expected = _expected_counts(item) if isinstance(item, pytest.Function) else {}
    if not expected:
        return (yield)
    with _KeptFrame(_code_of(item)):
        result = yield
        text = "" if getattr(item, "_excinfo", None) else _broken_counts(expected)  # a case of unittest says so there
    if text:
        pytest.fail(text, pytrace=False)
    return result


def _expected_counts(item: pytest.Function) -> dict[str | type, Expected]:
    """Join the markers of function, class and module; the closest to the test wins."""
    expected: dict[str | type, Expected] = {}
    for marker in reversed(list(item.iter_markers("object_count"))):
        for mapping in (*marker.args, marker.kwargs):
            for name, bound in mapping.items():
                expected[_named_class(item, name)] = bound
    return expected


def _named_class(item: pytest.Function, name: str | type) -> str | type:
    """Prefer the class of that name which the test's own module knows: other modules may have one, too."""
    if isinstance(name, type):
        return name
    found = vars(item.module).get(name) if isinstance(item.module, types.ModuleType) else None
    return found if isinstance(found, type) else name


def _broken_counts(expected: dict[str | type, Expected]) -> str:
    """Return what is wrong with the counts, and what holds the newest of the objects that are too many."""
    from phaseprof.api import assert_counts
    from phaseprof.errors import ExpectationError, UsageError

    lines = []
    for name, bound in expected.items():
        try:
            assert_counts({name: bound})
        except ExpectationError as error:
            lines.append(f"object_count: {error}")
            lines += [f"  {line}" for line in _holder_of_newest(name, bound)]
        except UsageError as error:
            lines.append(f"object_count: {error}")
    return "\n".join(lines)


def _holder_of_newest(name: str | type, bound: Expected) -> list[str]:
    """Say what keeps one surplus object alive; nothing where there are too few."""
    from phaseprof.live.watching import check_expected
    from phaseprof.probes import census
    from phaseprof.probes.holders import find_holders

    if not isinstance(name, type):
        return []
    found = census.instances([name])
    try:
        if len(found) <= check_expected(bound)[1]:
            return []
        newest = found[-1:]
        path = find_holders(newest, deadline_s=_HOLDER_DEADLINE_S, ignore=(id(found), id(newest)))[0]
        return [f"one of them is held by: {path}"] if path.steps else []
    finally:
        found.clear()
        newest = []


def _code_of(item: pytest.Item) -> types.CodeType | None:
    function = inspect.unwrap(item.obj) if isinstance(item, pytest.Function) else None
    return getattr(getattr(function, "__func__", function), "__code__", None)


class _KeptFrame:
    """Keeps the frame of a function past its return, so that what its locals hold can be counted.

    A frame that somebody refers to is not cleared when its function returns.  The reference is taken by a profile
    function that goes away at the first call of the code, so the test itself runs unprofiled.  Where the program has a
    profile function of its own, that one stays, and locals are not kept.
    """

    def __init__(self, code: types.CodeType | None) -> None:
        self._code = code
        self._frame: types.FrameType | None = None

    def __enter__(self) -> _KeptFrame:
        if self._code is not None and sys.getprofile() is None:
            sys.setprofile(self._take)
        return self

    def _take(self, frame: types.FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code is self._code:
            self._frame = frame
            sys.setprofile(None)

    def __exit__(self, *exc_info: object) -> None:
        if sys.getprofile() == self._take:
            sys.setprofile(None)
        self._frame = None
