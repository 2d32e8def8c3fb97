"""Profilers for tests: closed at the end, and read back through their own recordings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from phaseprof import Profiler, load
from phaseprof.recording.model import ProcessRun


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Profiler]]:
    """Return a maker of profilers that record into the test's folder."""
    made: list[Profiler] = []

    def maker(**settings: object) -> Profiler:
        profiler = Profiler(**{"run": str(tmp_path / "run"), **settings})
        made.append(profiler)
        return profiler

    yield maker
    for profiler in made:
        profiler.close()


@pytest.fixture
def profiler(make: Callable[..., Profiler]) -> Profiler:
    """A profiler with the default settings, recording to a folder."""
    return make()


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[[Profiler], ProcessRun]:
    """Return a function that ends a recording and reads it back from its file."""

    def read(profiler: Profiler) -> ProcessRun:
        profiler.close()
        return load(tmp_path / "run").main

    return read
