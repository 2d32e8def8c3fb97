"""The pytest plugin: a fixture with a profiler of its own, and markers for counts and growth.

    @pytest.mark.object_count(TradingEnvironment=2)      # at the end of the test, its locals included
    @pytest.mark.no_growth(repeat=10)                    # the test's body, called again and again
    def test_epoch(trainer, phaseprof): ...

The plugin is loaded in every pytest run, so what it needs of phaseprof is imported by the tests that use it.
"""

from __future__ import annotations

import inspect
import re
import sys
import types
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

if TYPE_CHECKING:
    from phaseprof.live.watching import Expected
    from phaseprof.profiler import Profiler

_SECTION = "phaseprof"
_NO_GROWTH = ("repeat", "warm_up", "max_objects")
# A path to a holder that is not found in this time is left out of the failure.
_HOLDER_DEADLINE_S = 2.0


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, all of which begin with ``--phaseprof-``."""
    group = parser.getgroup("phaseprof", "memory by phase")
    group.addoption(
        "--phaseprof-report", action="store_true",
        help="print at the end the report of each test that uses the phaseprof fixture",
    )  # fmt: skip
    group.addoption(
        "--phaseprof-run", metavar="DIR",
        help="keep the recordings of tests that use the phaseprof fixture, a folder each, in DIR",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers."""
    config.addinivalue_line(
        "markers",
        "object_count(Env=2, ...): fail unless so many instances are alive at the end of the test; also a range "
        "(lo, hi), and a mapping {Env: 2}.",
    )
    config.addinivalue_line(
        "markers",
        "no_growth(repeat=10, warm_up=3, max_objects=0): call the test again and again; fail if objects, tensors or "
        "arrays pile up.",
    )


@pytest.fixture(name="phaseprof")
def _phaseprof(request: pytest.FixtureRequest) -> Iterator[Profiler]:
    """A fresh profiler without a budget, in memory unless ``--phaseprof-run`` is given; closed after the test."""
    from phaseprof.profiler import Profiler

    folder = request.config.getoption("--phaseprof-run")
    run = None if folder is None else str(Path(folder) / _folder_name(request.node.nodeid))
    profiler = Profiler(run, enabled=True, budget=None)
    try:
        yield profiler
        if request.config.getoption("--phaseprof-report"):
            request.node.add_report_section("teardown", _SECTION, str(profiler.report()))
    finally:
        profiler.close()


def _folder_name(nodeid: str) -> str:
    return re.sub(r"[^\w.\-\[\]]+", "_", nodeid)[-200:]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the reports that tests left; under xdist they come with the workers' results."""
    if not terminalreporter.config.getoption("--phaseprof-report"):
        return
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") != "teardown":
                continue
            for title, text in report.sections:
                if f" {_SECTION} " in title:
                    terminalreporter.section(f"phaseprof: {report.nodeid}")
                    terminalreporter.write_line(text)


# --- object_count ---------------------------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Count after a test that passed, while the locals of its function are still there."""
    expected = _expected_counts(pyfuncitem)
    if not expected:
        return (yield)
    with _KeptFrame(_code_of(pyfuncitem)):
        result = yield
        text = _broken_counts(expected)
    if text:
        pytest.fail(text, pytrace=False)
    return result


def _expected_counts(item: pytest.Function) -> dict[str | type, Expected]:
    """Join the markers of function, class and module; the closest to the test wins."""
    expected: dict[str | type, Expected] = {}
    for marker in reversed(list(item.iter_markers("object_count"))):
        if len(marker.args) > 1 or not all(isinstance(mapping, dict) for mapping in marker.args):
            pytest.fail(f"object_count takes Env=2 or one mapping {{Env: 2}} (got {marker.args!r})", pytrace=False)
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


def _code_of(item: pytest.Function) -> types.CodeType | None:
    function = inspect.unwrap(item.obj)
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


# --- no_growth ------------------------------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True, specname="pytest_pyfunc_call")
def pytest_pyfunc_call_again_and_again(pyfuncitem: pytest.Function) -> bool | None:
    """Run the body of a test marked ``no_growth`` several times, under a profiler of its own."""
    marker = pyfuncitem.get_closest_marker("no_growth")
    if marker is None:
        return None
    if marker.args or set(marker.kwargs) - set(_NO_GROWTH):
        given = ", ".join([*map(repr, marker.args), *marker.kwargs])
        pytest.fail(f"no_growth takes {', '.join(_NO_GROWTH)} by name (got {given})", pytrace=False)
    if inspect.iscoroutinefunction(pyfuncitem.obj):
        pytest.fail("no_growth can repeat an async test under pytest-asyncio only", pytrace=False)
    _assert_no_growth(_call_of(pyfuncitem), cast("dict[str, float]", dict(marker.kwargs)))
    return True


def _assert_no_growth(call: Callable[[], object], limits: dict[str, float]) -> None:
    from phaseprof.api import assert_no_growth
    from phaseprof.errors import ExpectationError, UsageError

    text = ""
    try:
        assert_no_growth(call, **limits)  # type: ignore[arg-type]  # checked by assert_no_growth itself
    except (ExpectationError, UsageError) as error:
        text = f"no_growth: {error}"
    if text:
        pytest.fail(text, pytrace=False)


def _call_of(item: pytest.Function) -> Callable[[], object]:
    """Return the test's function with its fixtures, which are set up once for all calls."""
    wanted = inspect.signature(item.obj).parameters
    arguments = {name: value for name, value in item.funcargs.items() if name in wanted}
    return lambda: item.obj(**arguments)
