"""Lines, callers, phases and events: who allocated what stayed."""

from __future__ import annotations

import pytest
from snapshot_builders import Item, block, frame, segment, snapshot

from phaseprof.analysis.snapshots.events import PhaseClock, live_allocations, sum_events
from phaseprof.analysis.snapshots.frames import FrameTable, innermost_own, is_own, site
from phaseprof.analysis.snapshots.model import DeviceSums, Frame
from phaseprof.analysis.snapshots.reduce import reduce_snapshot
from phaseprof.analysis.snapshots.sites import common_caller, site_growth

TORCH = "/v/lib/python3.12/site-packages/torch/nn/functional.py"


@pytest.mark.parametrize(
    ("filename", "own"),
    [
        ("/home/ann/train.py", True),
        ("C:\\work\\train.py", True),
        ("/tmp/ipykernel_7/1234.py", True),
        ("<stdin>", True),
        ("/home/ann/torch/experiments/run.py", True),
        ("/v/lib/python3.12/site-packages/torch/optim/adam.py", False),
        ("C:\\v\\Lib\\site-packages\\torch\\optim\\adam.py", False),
        ("/usr/lib/python3/dist-packages/numpy/core.py", False),
        ("/usr/lib/python3.11/contextlib.py", False),
        ("/opt/pytorch/torch/nn/modules/linear.py", False),
        ("/opt/pytorch/torch/_tensor.py", False),
        ("/tmp/torchinductor_ann/ab/cab.py", False),
        ("<frozen runpy>", False),
        ("/pytorch/c10/core/Alloc.cpp", False),
        ("??", False),
    ],
)
def test_own_code_is_told_from_foreign(filename: str, own: bool) -> None:
    assert is_own(Frame("f", filename, 1)) is own


def test_the_innermost_own_frame_is_taken() -> None:
    stack = (Frame("linear", TORCH, 5), Frame("forward", "/a/model.py", 7), Frame("main", "/a/train.py", 9))

    assert innermost_own(stack) == stack[1]


def test_without_own_frames_the_innermost_stands_in() -> None:
    stack = (Frame("linear", TORCH, 5), Frame("run", TORCH, 6))

    assert innermost_own(stack) == stack[0]
    assert innermost_own(()) is None


def test_a_site_is_written_with_its_folder() -> None:
    assert site(Frame("f", "/home/ann/lab/train.py", 7)) == "lab/train.py:7"


def device(*stacks: tuple[list[Item], int]) -> DeviceSums:
    blocks = [block(512, frames=stack) for stack, number in stacks for _ in range(number)]
    return reduce_snapshot(snapshot([segment(blocks)]), 100_000, "a").devices[0]


KEEP = [frame("keep", line=5), frame("collect", line=8), frame("main", line=9)]
STORE = [frame("store", line=6), frame("collect", line=7), frame("main", line=9)]
WEIGHTS = [frame("build", line=2), frame("main", line=3)]


def test_sites_are_ranked_by_growth_not_by_size() -> None:
    sites = site_growth([device((KEEP, 1), (WEIGHTS, 50)), device((KEEP, 11), (WEIGHTS, 50))], [0, 5])

    assert [(found.frame.name, found.growth, found.blocks_per_step) for found in sites] == [
        ("keep", 5120, 2),
        ("build", 0, 0),
    ]


def test_the_caller_shared_by_all_growth_is_named_with_its_lines() -> None:
    caller = common_caller([device((WEIGHTS, 9)), device((KEEP, 3), (STORE, 1), (WEIGHTS, 9))])

    assert caller is not None
    assert (caller.name, caller.share, dict(caller.lines)) == ("collect", 1.0, {8: 1536, 7: 512})


def test_the_function_that_holds_the_main_loop_is_not_named() -> None:
    other = [frame("other", line=4), frame("main", line=9)]

    assert common_caller([device((WEIGHTS, 9)), device((KEEP, 3), (other, 3), (WEIGHTS, 9))]) is None


def test_very_deep_stacks_take_no_long_time() -> None:
    deep = [frame(f"f{n}", line=n) for n in range(20_000)]

    caller = common_caller([device((WEIGHTS, 9)), device((deep, 2), (WEIGHTS, 9))])

    assert caller is not None
    assert caller.name == "f0"


def test_no_growth_has_no_caller() -> None:
    assert common_caller([device((KEEP, 3)), device((KEEP, 3))]) is None


def mark(stage: str, name: str, time_us: int) -> Item:
    return {"stage": stage, "name": name, "device": 0, "time_us": time_us}


MARKS = [
    mark("START", "## collect ##", 10),
    mark("END", "## collect ##", 20),
    mark("START", "## update ##", 20),
    mark("START", "Optimizer.step#Adam.step", 25),
    mark("END", "Optimizer.step#Adam.step", 28),
    mark("END", "## update ##", 30),
    mark("START", "Optimizer.step#Adam.step", 35),
]


@pytest.mark.parametrize(
    ("time_us", "phase"),
    [(5, None), (10, "collect"), (19, "collect"), (20, "update"), (26, "update"), (30, None),
     (36, "Optimizer.step#Adam.step"), (None, None)],
)  # fmt: skip
def test_the_open_phase_is_found(time_us: int | None, phase: str | None) -> None:
    assert PhaseClock.by_device(MARKS)[0].phase(time_us) == phase


def test_malformed_annotations_are_left_out() -> None:
    clock = PhaseClock.by_device([7, {"name": 3}, {"stage": "END", "name": "x", "device": 0, "time_us": 1}, *MARKS])[0]

    assert clock.phase(15) == "collect"


def event(action: str, address: int, time_us: int = 0, **fields: object) -> Item:
    return {"action": action, "addr": address, "size": 100, "time_us": time_us, "frames": KEEP, **fields}


def test_allocations_without_a_free_survive() -> None:
    trace = [
        event("free_completed", 7),  # allocated before the ring began
        event("alloc", 1), event("free_requested", 1), event("free_completed", 1),
        event("alloc", 1, 15), event("alloc", 2, 2_000_000), event("segment_alloc", 3),
    ]  # fmt: skip

    sums = sum_events(trace, live_allocations(trace), PhaseClock.by_device(MARKS)[0], FrameTable())

    assert (sums.events, sums.allocations, sums.span_s) == (7, 3, 2.0)
    assert {(found.phase, found.blocks, found.requested_bytes) for found in sums.survivors} == {
        ("collect", 1, 100),
        ("Optimizer.step#Adam.step", 1, 100),
    }


def test_failed_allocations_are_kept_with_what_the_device_had() -> None:
    trace = [{"action": "oom", "size": 5, "device_free": 9, "frames": KEEP}, {"action": "oom", "size": 6}]

    ooms = sum_events(trace, live_allocations(trace), None, FrameTable()).ooms

    assert [(oom.requested_bytes, oom.device_free_bytes, len(oom.stack)) for oom in ooms] == [(5, 9, 3), (6, -1, 0)]


def test_live_blocks_get_the_phase_of_their_recorded_allocation() -> None:
    root = snapshot(
        [segment([block(512, frames=KEEP, address=1), block(512, frames=KEEP, address=2)])],
        device_traces=[[event("alloc", 1, 15)]],
        external_annotations=MARKS,
    )

    (totals,) = reduce_snapshot(root, 10_000, "a").devices[0].stacks.values()

    assert totals.phases == {"collect": 1}
