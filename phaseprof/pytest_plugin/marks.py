"""Markers and their defaults: what they take, and what is wrong with what they were given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from phaseprof.pytest_plugin.counts import complaint_about_counts

if TYPE_CHECKING:
    from phaseprof.live.repetition import Repetition

_ARGUMENTS = ("repeat", "warm_up", "max_objects")
_WORDS = {
    "repeat": "calls in a stretch of a test marked no_growth (default: 10)",
    "warm_up": "calls of a test marked no_growth before the first reading (default: 3)",
    "max_objects": "objects of one type a call that no_growth tolerates (default: 0)",
}


def add_ini(parser: pytest.Parser) -> None:
    """Add the defaults of ``no_growth`` to the settings of the ini file."""
    for name, words in _WORDS.items():
        parser.addini(f"phaseprof_{name}", words, default=None)


def register_markers(config: pytest.Config) -> None:
    """Register the markers.

    Raises:
        UsageError: a default in the ini file is wrong.
    """
    config.addinivalue_line(
        "markers",
        "object_count(Env=2, ...): fail unless that many instances are alive at the end of the test; also a range "
        "(lo, hi), and a mapping {Env: 2}.",
    )
    config.addinivalue_line(
        "markers",
        "no_growth(repeat=10, warm_up=3, max_objects=0): run the test, fixtures included, again and again; fail if "
        "objects, tensors or arrays pile up.",
    )
    defaults = _defaults(config)
    if defaults:
        complaint = _complaint_about_numbers(defaults)
        if complaint:
            raise pytest.UsageError(f"phaseprof in the ini file: {complaint}")


def _defaults(config: pytest.Config) -> dict[str, object]:
    """Return the defaults that the ini file gives, as numbers where they are such."""
    given = {name: config.getini(f"phaseprof_{name}") for name in _ARGUMENTS}
    return {name: _number(str(text)) for name, text in given.items() if text not in (None, "")}


def _number(text: str) -> object:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _complaint_about_numbers(given: dict[str, object]) -> str:
    from phaseprof.errors import UsageError
    from phaseprof.live.repetition import Repetition

    try:
        Repetition(**given)  # type: ignore[arg-type]  # checked by it
    except UsageError as error:
        return str(error)
    return ""


def broken_marks(report: pytest.CollectReport) -> dict[str, str]:
    """Map the tests of a collector whose markers have wrong arguments to what is wrong."""
    broken = {}
    for item in report.result or () if report.passed else ():
        if isinstance(item, pytest.Item):
            text = _complaint(item)
            if text:
                broken[item.nodeid] = text
    return broken


def _complaint(item: pytest.Item) -> str:
    for marker in item.iter_markers("object_count"):
        text = complaint_about_counts(marker)
        if text:
            return text
    for marker in item.iter_markers("no_growth"):
        if marker.args or set(marker.kwargs) - set(_ARGUMENTS):
            given = ", ".join([*map(repr, marker.args), *marker.kwargs])
            return f"no_growth takes {', '.join(_ARGUMENTS)} by name (got {given})"
        text = _complaint_about_numbers(dict(marker.kwargs))
        if text:
            return f"no_growth: {text}"
    return ""


def mark_all(items: Sequence[pytest.Item]) -> None:
    """Mark every test that is not marked yet."""
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("no_growth") is None:
            item.add_marker("no_growth")


def repetition_of(item: pytest.Item) -> Repetition | None:
    """Return how a test is to be repeated; ``None``: it is not."""
    marker = item.get_closest_marker("no_growth") if isinstance(item, pytest.Function) else None
    if marker is None:
        return None
    from phaseprof.live.repetition import Repetition

    return Repetition(**{**_defaults(item.config), **marker.kwargs})
