"""No collection comes while we measure."""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Iterator

import pytest

from phaseprof.live.collector import is_enabled, without_collections


@pytest.fixture(autouse=True)
def _collector() -> Iterator[None]:
    yield
    gc.enable()


def test_a_call_that_makes_many_objects_brings_no_collection() -> None:
    def make() -> int:
        made = [[] for _ in range(10 * gc.get_threshold()[0])]
        during = gc.get_stats()[0]["collections"]
        made.clear()
        return int(during)

    before = gc.get_stats()[0]["collections"]

    assert without_collections(make) == before
    assert gc.isenabled()


@pytest.mark.parametrize("is_on", [True, False])
def test_what_the_program_wants_of_the_collector_is_known_and_kept(*, is_on: bool) -> None:
    if not is_on:
        gc.disable()

    seen = without_collections(lambda: without_collections(lambda: (gc.isenabled(), is_enabled())))

    assert seen == (False, is_on)
    assert gc.isenabled() is is_enabled() is is_on


@pytest.mark.skipif(sys.version_info < (3, 11), reason="handlers may run between any two steps")
def test_it_is_on_again_whenever_a_signal_handler_raises() -> None:
    class AlarmError(Exception): ...

    def ring(*_: object) -> None:
        raise AlarmError

    before = signal.signal(signal.SIGALRM, ring)
    n_rung = 0
    try:
        for n in range(400):
            try:
                signal.setitimer(signal.ITIMER_REAL, 5e-6 + n * 2e-7)
                for _ in range(2000):
                    without_collections(list)
            except AlarmError:
                n_rung += 1
            assert gc.isenabled()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    assert n_rung > 100
