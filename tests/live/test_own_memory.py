"""What our looks keep is taken off the counters of the allocators."""

from __future__ import annotations

import pytest

from phaseprof.live.own_memory import MOST, OwnMemory

IN_USE = "malloc_in_use_bytes"


class Allocator:
    in_use = 1_000_000.0

    def read(self) -> float:
        return self.in_use


@pytest.fixture
def allocator() -> Allocator:
    return Allocator()


@pytest.fixture
def own(allocator: Allocator) -> OwnMemory:
    return OwnMemory(lambda metric: allocator.read if metric == IN_USE else None)


def recorded(own: OwnMemory, allocator: Allocator) -> float:
    figures = {IN_USE: allocator.in_use, "threads": 3.0}
    own.take_off(figures)
    assert figures["threads"] == 3.0
    return figures[IN_USE]


def test_what_a_look_keeps_does_not_show(own: OwnMemory, allocator: Allocator) -> None:
    assert recorded(own, allocator) == 1_000_000
    allocator.in_use += 300_000
    own.looked()

    allocator.in_use += 7_000  # the program's
    assert recorded(own, allocator) == 1_007_000
    allocator.in_use -= 100_000  # the next look gives some of it back
    own.looked()
    assert recorded(own, allocator) == 1_007_000


def test_what_folding_keeps_does_not_show(own: OwnMemory, allocator: Allocator) -> None:
    own.begin()
    allocator.in_use += 530_000
    own.looked()

    assert recorded(own, allocator) == 1_000_000


def test_what_is_freed_of_the_programs_is_not_ours(own: OwnMemory, allocator: Allocator) -> None:
    recorded(own, allocator)
    allocator.in_use -= 400_000
    own.looked()

    assert recorded(own, allocator) == 600_000


def test_no_more_of_a_leak_in_another_thread_goes_unseen(own: OwnMemory, allocator: Allocator) -> None:
    for _ in range(10):
        recorded(own, allocator)
        allocator.in_use += 2**20
        own.looked()

    assert recorded(own, allocator) == allocator.in_use - MOST[IN_USE]
