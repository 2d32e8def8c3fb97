"""The pytest plugin: a fixture with a profiler of its own, and markers for counts and growth.

    @pytest.mark.object_count(TradingEnvironment=2)      # at the end of the test, its locals included
    @pytest.mark.no_growth(repeat=10)                    # the whole test, fixtures included, again and again
    def test_epoch(trainer, phaseprof): ...

The plugin is loaded in every pytest run, so what it needs of phaseprof is imported by the tests that use it.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from phaseprof.pytest_plugin.counts import pytest_runtest_call
from phaseprof.pytest_plugin.marks import (
    add_ini,
    broken_marks,
    mark_all,
    register_markers,
    repetition_of,
)
from phaseprof.pytest_plugin.rounds import run_rounds
from phaseprof.pytest_plugin.summary import show_growth

if TYPE_CHECKING:
    from phaseprof.profiler import Profiler

__all__ = ["pytest_runtest_call"]

_SECTION = "phaseprof"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, all of which begin with ``--phaseprof-``, and the settings of the ini file."""
    group = parser.getgroup("phaseprof", "memory by phase")
    group.addoption(
        "--phaseprof-report", action="store_true",
        help="print at the end the report of each test that uses the phaseprof fixture",
    )  # fmt: skip
    group.addoption(
        "--phaseprof-run", metavar="DIR",
        help="keep the recordings of tests that use the phaseprof fixture, a folder each, in DIR",
    )  # fmt: skip
    group.addoption(
        "--phaseprof-no-growth", action="store_true",
        help="repeat every test, as if each were marked no_growth",
    )  # fmt: skip
    add_ini(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, and read the defaults of the ini file, which must be right."""
    register_markers(config)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn a test whose marker has wrong arguments into an error of its own; the others are collected."""
    report = yield
    broken = broken_marks(report)
    if broken:
        report.result = [node for node in report.result if node.nodeid not in broken]
        for nodeid, text in broken.items():
            wrong = pytest.CollectReport(nodeid, "failed", text, None)
            collector.ihook.pytest_collectreport(report=wrong)
    return report


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark every test where that is asked for."""
    if config.getoption("--phaseprof-no-growth"):
        mark_all(items)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test marked ``no_growth`` in rounds, each with its fixtures anew."""
    how = repetition_of(item)
    if how is None or item.config.getoption("setuponly", False):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    run_rounds(item, nextitem, how)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


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
    """Print what grew most, and the reports that tests left; under xdist they come with the workers' results."""
    show_growth(terminalreporter)
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
