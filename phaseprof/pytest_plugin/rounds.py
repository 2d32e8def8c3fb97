"""Runs a test in rounds: set up, called and torn down each time, as pytest does it, and reported once.

All rounds but the last are silent: what pytest keeps of a run (reports, captured output, warnings, properties) is let
go after each, so that it counts for nothing.  The last round is an ordinary one, and bears the verdict.
"""

from __future__ import annotations

import bdb
import gc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Literal

import pytest

if TYPE_CHECKING:
    from phaseprof.live.repetition import Outcome, Repetition

CALLS, GROWTH = "phaseprof_calls", "phaseprof_growth"


class _RoundEndedError(Exception):
    """A round did not pass: its reports are those of the test."""


class _Sibling(pytest.Item):
    """Stands for the next round when one is torn down: a neighbour, so that wider fixtures stay."""

    def runtest(self) -> None:
        """Do nothing."""


class _Silent:
    """The hooks of an item, but those that tell a report to the terminal and to other plugins."""

    def __init__(self, hooks: object) -> None:
        self._hooks = hooks

    def __getattr__(self, name: str) -> object:
        if name in ("pytest_runtest_logreport", "pytest_exception_interact"):
            return lambda **_: None
        return getattr(self._hooks, name)


@contextmanager
def _silence(session: pytest.Session) -> Iterator[None]:
    """Let no report of a round reach the terminal and other plugins: subtests send theirs themselves."""
    hooks_of = session.gethookproxy
    session.gethookproxy = lambda path: _Silent(hooks_of(path))  # type: ignore[method-assign,assignment,return-value]
    try:
        yield
    finally:
        del session.gethookproxy  # the session's own again


def run_rounds(item: pytest.Item, nextitem: pytest.Item | None, how: Repetition) -> None:
    """Run the rounds of a test, and report the last."""
    from phaseprof.live.repetition import repeat

    sibling = _Sibling.from_parent(item.parent, name=f"{item.name}: next round")  # type: ignore[arg-type]
    ended: list[list[pytest.TestReport]] = []
    try:
        outcome = repeat(lambda: _silent_round(item, nextitem, sibling, ended), how, settle=_forget_finished)
    except _RoundEndedError:
        reports = ended.pop()
    else:
        item.user_properties += [(CALLS, str(outcome.calls + 1)), (GROWTH, str(outcome) or "none")]
        reports = _round(item, nextitem, verdict=outcome)
    finally:
        _let_go(item)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)


def _forget_finished() -> None:
    """Take from fixtures of wider scopes the finalizers of those of single tests, which have run.

    Pytest keeps them until the wider fixture itself is finished: some objects a test that uses one.
    """
    for fixture in gc.get_referrers(pytest.FixtureDef):
        kept = getattr(fixture, "_finalizers", None) if type(fixture) is pytest.FixtureDef else None
        if kept and fixture.scope != "function":
            kept[:] = [finalizer for finalizer in kept if not _is_of_one_test(finalizer)]


def _is_of_one_test(finalizer: object) -> bool:
    owner = getattr(finalizer.func, "__self__", None) if isinstance(finalizer, partial) else None
    return isinstance(owner, pytest.FixtureDef) and owner.scope == "function"


def _silent_round(
    item: pytest.Item, nextitem: pytest.Item | None, sibling: pytest.Item, ended: list[list[pytest.TestReport]]
) -> None:
    n_properties = len(item.user_properties)
    with _silence(item.session), warnings.catch_warnings(record=True):
        reports = _round(item, nextitem, sibling=sibling)
    if not all(report.passed for report in reports):
        ended.append(reports)
        raise _RoundEndedError
    del item.user_properties[n_properties:]


def _round(
    item: pytest.Item,
    nextitem: pytest.Item | None,
    *,
    sibling: pytest.Item | None = None,
    verdict: Outcome | None = None,
) -> list[pytest.TestReport]:
    """Run a test once; a round that did not pass is the last one, and is torn down as such."""
    _begin_anew(item)
    reports = [_phase(item, "setup", lambda: item.ihook.pytest_runtest_setup(item=item))]
    if reports[0].passed:
        reports.append(_phase(item, "call", lambda: _call(item, verdict)))
    is_last = sibling is None or not reports[-1].passed
    after = nextitem if is_last else sibling
    if is_last and (item.session.shouldfail or item.session.shouldstop):
        after = None
    reports.append(_phase(item, "teardown", lambda: item.ihook.pytest_runtest_teardown(item=item, nextitem=after)))
    return reports


def _call(item: pytest.Item, verdict: Outcome | None) -> None:
    __tracebackhide__ = True
    item.ihook.pytest_runtest_call(item=item)
    if verdict is not None and verdict.grown and not getattr(item, "_excinfo", None):
        pytest.fail(f"no_growth: {verdict} (over {verdict.calls} calls)", pytrace=False)


def _phase(
    item: pytest.Item, when: Literal["setup", "call", "teardown"], run: Callable[[], object]
) -> pytest.TestReport:
    reraise = (pytest.exit.Exception, *(() if item.config.getoption("usepdb", False) else (KeyboardInterrupt,)))
    call: pytest.CallInfo[object] = pytest.CallInfo.from_call(run, when=when, reraise=reraise)
    report: pytest.TestReport = item.ihook.pytest_runtest_makereport(item=item, call=call)
    expected = (pytest.skip.Exception, bdb.BdbQuit)
    if call.excinfo is not None and not isinstance(call.excinfo.value, expected) and not hasattr(report, "wasxfail"):
        item.ihook.pytest_exception_interact(node=item, call=call, report=report)
    return report


def _begin_anew(item: pytest.Item) -> None:
    """Give an item a fresh request and no captured output, as pytest itself does for an item that is run again."""
    begin = getattr(item, "_initrequest", None)
    if begin is not None:
        begin()
    if vars(item).get("_instance", item) is None:  # left so by pytest 8.2, which then finds no instance to make
        del item._instance  # type: ignore[attr-defined]
    sections = getattr(item, "_report_sections", None)
    if sections:
        sections.clear()


def _let_go(item: pytest.Item) -> None:
    """Let go of the fixtures of the last round, as pytest does at the end of a test."""
    if hasattr(item, "_request"):
        item._request = False
        item.funcargs = None  # type: ignore[attr-defined]
