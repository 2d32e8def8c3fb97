"""No collection comes while we measure."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from phaseprof.live.collector import Paused, is_enabled


@pytest.fixture(autouse=True)
def _collector() -> Iterator[None]:
    yield
    gc.enable()


def test_a_block_that_makes_many_objects_brings_no_collection() -> None:
    before = gc.get_stats()[0]["collections"]

    with Paused():
        made = [[] for _ in range(10 * gc.get_threshold()[0])]
        during = gc.get_stats()[0]["collections"]
        made.clear()

    assert during == before
    assert gc.isenabled()


@pytest.mark.parametrize("is_on", [True, False])
def test_what_the_program_wants_of_the_collector_is_known_and_kept(*, is_on: bool) -> None:
    if not is_on:
        gc.disable()

    with Paused(), Paused():
        assert not gc.isenabled()
        assert is_enabled() is is_on

    assert gc.isenabled() is is_enabled() is is_on
