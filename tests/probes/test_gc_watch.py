"""The collector, watched and left alone."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from phaseprof.probes.gc_watch import GcWatch


@pytest.fixture
def watch() -> Iterator[GcWatch]:
    was_enabled = gc.isenabled()
    gc.disable()
    opened = GcWatch()
    yield opened
    opened.close()
    if was_enabled:
        gc.enable()


def make_cycles(count: int) -> None:
    for _ in range(count):
        cycle: list[object] = []
        cycle.append(cycle)


@pytest.mark.parametrize("generation", [0, 1, 2])
def test_a_collection_is_counted_in_its_generation(watch: GcWatch, generation: int) -> None:
    gc.collect(generation)

    counts = [watch.read()[f"gc_collections_{index}"] for index in range(3)]
    assert counts == [int(index == generation) for index in range(3)]


def test_a_full_collection_is_told_once(watch: GcWatch) -> None:
    gc.collect()

    assert [watch.full_since_last(), watch.full_since_last()] == [True, False]


def test_a_young_collection_is_not_full(watch: GcWatch) -> None:
    gc.collect(0)
    gc.collect(1)

    assert watch.full_since_last() is False


def test_two_watches_are_told_independently(watch: GcWatch) -> None:
    other = GcWatch()
    gc.collect()
    told = watch.full_since_last()

    assert told and other.full_since_last()
    other.close()


def test_collected_objects_are_counted(watch: GcWatch) -> None:
    gc.collect()
    before = watch.read()["gc_collected"]

    make_cycles(50)
    gc.collect()

    assert watch.read()["gc_collected"] - before == 50


def test_nothing_is_counted_after_close(watch: GcWatch) -> None:
    watch.close()
    gc.collect()

    assert watch.full_since_last() is False


def test_no_callback_is_left_in_the_collector(watch: GcWatch) -> None:
    """What a signal handler raised inside one would never reach the program."""
    assert not [callback for callback in gc.callbacks if "phaseprof" in repr(callback)]
