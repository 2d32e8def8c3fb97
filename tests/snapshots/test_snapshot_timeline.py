"""Blocks over time: allocations paired with their frees, in the order of the recorded events."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from phaseprof.analysis.snapshots.frames import FrameTable
from phaseprof.analysis.snapshots.model import Timeline
from phaseprof.analysis.snapshots.timeline import MOST_BLOCKS, MOST_LEVELS, build_timeline


def timeline(*events: tuple[str, int, int]) -> Timeline | None:
    return build_timeline([{"action": a, "addr": at, "size": size} for a, at, size in events], FrameTable())


def test_a_block_lives_from_its_allocation_to_its_free() -> None:
    found = timeline(("alloc", 1, 100), ("alloc", 2, 50), ("free_requested", 1, 100), ("free_completed", 1, 100))

    assert found is not None
    assert [block[:3] for block in found.blocks] == [(0, 2, 100), (1, -1, 50)]
    assert found.level_bytes == (100, 150, 50, 50)
    assert found.before_bytes == 0


def test_what_is_freed_without_an_allocation_was_there_before() -> None:
    found = timeline(("alloc", 1, 10), ("free_requested", 7, 90), ("free_completed", 7, 90), ("alloc", 7, 5))

    assert found is not None
    assert found.before_bytes == 90
    assert [block[:3] for block in found.blocks] == [(0, 1, 90), (0, -1, 10), (3, -1, 5)]
    assert found.level_bytes == (100, 10, 10, 15)


def test_without_an_event_there_is_nothing_to_draw() -> None:
    assert timeline() is None
    assert timeline(("segment_alloc", 1, 2)) is None


@given(st.lists(st.tuples(st.sampled_from(["alloc", "free"]), st.integers(1, 9), st.integers(0, 99)), max_size=900))
def test_any_events_stay_bounded_and_never_below_zero(events: list[tuple[str, int, int]]) -> None:
    found = timeline(*events)

    assert found is None or len(found.blocks) <= MOST_BLOCKS
    assert found is None or len(found.at) <= MOST_LEVELS + 2
    assert found is None or list(found.at) == sorted(set(found.at))
