"""One file to sums: the layouts of several releases, the traps of the format, and where the right sums are known."""

from __future__ import annotations

from dataclasses import replace

import pytest
from snapshot_builders import RECORDED, Item, block, frame, segment, snapshot

from phaseprof.analysis.snapshots.model import DeviceSums, Frame
from phaseprof.analysis.snapshots.reduce import Reduced, reduce_snapshot
from phaseprof.analysis.snapshots.unpickle import load_snapshot
from phaseprof.errors import SnapshotError


def reduced(root: object) -> Reduced:
    return reduce_snapshot(root, 10_000, "a.pickle")


def sums_of(*segments: Item, **fields: object) -> DeviceSums:
    return reduced(snapshot(segments, **fields)).devices[0]


def test_sums_of_a_mixed_segment() -> None:
    sums = sums_of(segment([block(512, requested_size=4), block(1024), block(2048, "inactive")]))

    assert sums.total("active_bytes") == 1536
    assert sums.total("requested_bytes") == 1028
    assert sums.total("active_blocks") == 2
    assert sums.total("reserved_bytes") == 3584
    assert sums.total("inactive_split_bytes") == 2048


def test_free_blocks_keep_a_stale_request_that_is_not_counted() -> None:
    sums = sums_of(segment([block(512, "inactive", requested_size=500), block(512)]))

    assert sums.total("requested_bytes") == 512


@pytest.mark.parametrize("state", ["active_pending_free", "active_awaiting_free"])
def test_blocks_that_wait_for_a_free_are_occupied(state: str) -> None:
    sums = sums_of(segment([block(512, state), block(512)]))

    assert sums.total("active_bytes") == 1024
    assert sums.total("pending_bytes") == 512


def test_a_wholly_free_segment_is_cache_not_fragmentation() -> None:
    sums = sums_of(segment([block(2048, "inactive")]))

    assert sums.total("inactive_split_bytes") == 0
    assert sums.total("reserved_bytes") == 2048


def test_pools_are_told_apart_by_kind_private_pool_and_stream() -> None:
    sums = sums_of(
        segment([block(512)]),
        segment([block(512)], segment_type="large"),
        segment([block(512)], segment_pool_id=[3, 0]),
        segment([block(512)], stream=77),
    )

    assert sorted(sums.pools) == [
        ("large", (0, 0), 0),
        ("small", (0, 0), 0),
        ("small", (0, 0), 77),
        ("small", (3, 0), 0),
    ]


def test_each_device_is_summed_on_its_own() -> None:
    devices = reduced(snapshot([segment([block(512)], device=1), segment([block(1024)])])).devices

    assert {device: sums.total("active_bytes") for device, sums in devices.items()} == {0: 1024, 1: 512}


def test_an_expandable_reservation_listed_in_two_runs_adds_up() -> None:
    sums = sums_of(segment([block(512)], is_expandable=True), segment([block(1024)], is_expandable=True, address=9999))

    assert sums.total("reserved_bytes") == 1536
    assert sums.total("expandable_segments") == 2


def test_a_bare_list_of_segments_is_a_snapshot() -> None:
    assert reduced([segment([block(512)])]).devices[0].total("active_bytes") == 512


def test_blocks_of_old_releases_keep_request_and_frames_in_a_history() -> None:
    old = {"size": 512, "state": "active_allocated", "history": [{"addr": 1, "real_size": 40, "frames": [frame("f")]}]}

    sums = reduced([{"total_size": 512, "blocks": [old]}]).devices[0]

    assert sums.total("requested_bytes") == 40
    assert list(sums.stacks) == [(Frame("f", "/home/ann/train.py", 1),)]


def test_segments_without_a_type_are_of_an_unknown_pool() -> None:
    sums = reduced([{"total_size": 512, "blocks": [{"size": 512, "state": "active_allocated"}]}]).devices[0]

    assert sums.has_unknown_pools


def test_blocks_of_one_stack_are_summed_once_with_their_sizes() -> None:
    stack = [frame("inner"), frame("outer")]
    same = [frame("inner"), frame("outer")]

    sums = sums_of(segment([block(512, requested_size=4, frames=stack), block(1024, frames=same), block(512)]))

    (totals,) = sums.stacks.values()
    assert (totals.blocks, totals.active_bytes, totals.sizes) == (2, 1536, {4: 1, 1024: 1})


def test_free_blocks_do_not_count_for_their_last_stack() -> None:
    assert not sums_of(segment([block(512, "inactive", frames=[frame("f")])])).stacks


@pytest.mark.parametrize(
    ("blocks", "traces", "history"),
    [
        ([block(512)], [[]], "none"),
        ([block(512, frames=[frame("f")])], [[{"action": "alloc", "addr": 1, "size": 4}]], "state"),
        ([block(512, frames=[frame("f")])], [[{"action": "alloc", "addr": 1, "size": 4}] * 2], "events"),
    ],
)
def test_what_was_recorded_is_told(blocks: list[Item], traces: list[list[Item]], history: str) -> None:
    assert reduced(snapshot([segment(blocks)], device_traces=traces)).history == history


@pytest.mark.parametrize(
    "root",
    [
        {"weights": [1, 2]},
        {"segments": {"a": 1}},
        "text",
        None,
        [1, 2],
        snapshot([segment([])], device_traces=[[{"action": "alloc", "addr": 1, "size": -4}]]),
        [{"blocks": []}],
        [{"total_size": 512, "blocks": [{"state": "active_allocated"}]}],
        [{"total_size": 512, "blocks": [{"size": 512}]}],
        [{"total_size": 512, "blocks": [{"size": "big", "state": "inactive", "requested_size": 1}]}],
        [{"total_size": 512, "blocks": [{"size": [], "state": "inactive", "requested_size": 1}]}],
        [{"total_size": 2**80, "blocks": []}],
    ],
)
def test_foreign_data_is_refused_in_one_line(root: object) -> None:
    with pytest.raises(SnapshotError, match=r"^a\.pickle is not a readable snapshot: .*; pass files written by"):
        reduced(root)


def test_control_characters_in_names_are_not_passed_on() -> None:
    sums = sums_of(segment([block(512, frames=[frame("evil\x1b[31m\ud800", "a\nb.py")])]))

    ((found,),) = sums.stacks
    assert found.name == "evil?[31m?"
    assert found.filename == "a?b.py"


def test_the_large_recorded_snapshot_has_the_right_sums() -> None:
    root, n_bytes = load_snapshot(RECORDED / "snapshot_380k.pickle.gz")

    sums = reduce_snapshot(root, n_bytes, "snapshot_380k").devices[0]

    assert sums.total("active_bytes") == 650_933_248
    assert sums.total("requested_bytes") == 602_246_784
    assert (sums.total("active_bytes", "small"), sums.total("active_blocks", "small")) == (583_824_384, 380_001)
    assert (sums.total("active_bytes", "large"), sums.total("active_blocks", "large")) == (67_108_864, 2)
    assert (sums.total("reserved_bytes"), sums.total("segments")) == (652_214_272, 281)


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*/*.gz")), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_block_sums_equal_what_the_allocator_wrote_for_each_segment(path: object) -> None:
    root, n_bytes = load_snapshot(path)  # type: ignore[arg-type]

    sums = reduce_snapshot(root, n_bytes, "x").devices[0]

    segments = root["segments"]  # type: ignore[index]
    assert sums.total("active_bytes") == sum(one["active_size"] for one in segments)
    assert sums.total("reserved_bytes") == sum(one["total_size"] for one in segments)


def test_sums_do_not_depend_on_whether_requests_are_written() -> None:
    """Blocks without a requested size take the slow way; it must count alike."""
    blocks = [block(512), block(1024), block(512, "inactive")]
    bare = [{key: value for key, value in one.items() if key != "requested_size"} for one in blocks]

    fast, slow = sums_of(segment(blocks)), sums_of(segment(bare))

    assert fast == replace(slow)
