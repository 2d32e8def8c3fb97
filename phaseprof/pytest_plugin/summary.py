"""The part of the terminal's summary that tells which tests leave most behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from phaseprof.pytest_plugin.rounds import CALLS, GROWTH

_MOST_TESTS = 10


def show_growth(terminal: pytest.TerminalReporter) -> None:
    """Print the tests that grew, the worst first; nothing where none did."""
    grown = sorted(_grown(terminal), reverse=True)
    if not grown:
        return
    terminal.section("phaseprof: what tests leave behind")
    for _, nodeid, text, calls in grown[:_MOST_TESTS]:
        terminal.write_line(f"{nodeid} ({calls} calls): {text}")
    if len(grown) > _MOST_TESTS:
        terminal.write_line(f"and {len(grown) - _MOST_TESTS} more")


def _grown(terminal: pytest.TerminalReporter) -> Iterator[tuple[float, str, str, str]]:
    for reports in terminal.stats.values():
        for report in reports:
            if getattr(report, "when", "") != "call":
                continue
            properties = dict(report.user_properties)
            text = str(properties.get(GROWTH, "none"))
            if text != "none":
                yield _per_call(text), report.nodeid, text, str(properties.get(CALLS, ""))


def _per_call(text: str) -> float:
    """Read the first rate of a text such as ``Env: +1 a call``."""
    number = text.partition(": ")[2].partition(" ")[0]
    try:
        return float(number)
    except ValueError:
        return 0.0
