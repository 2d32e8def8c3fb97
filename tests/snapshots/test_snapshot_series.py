"""Order, ranks, devices, doubts: how single files become series."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest
from snapshot_builders import block, frame, live_blocks, segment, snapshot, write_series

from phaseprof.analysis.snapshots.files import read_folder, step_in_name
from phaseprof.errors import UsageError
from phaseprof.report.snapshots_report import analyse_snapshots

MIB = 1 << 20
MANY_SIZES = {512 * n: 1 for n in range(1, 9)}  # as a kept graph of eight layers would add at each step


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("snapshot_step_100.pickle", 100),
        ("snapshot_step_7.pickle.gz", 7),
        ("mem-0040.pkl", 40),
        ("rank3_iter_12.pickle", 12),
        ("epoch2_step40.pickle", 40),
        ("oom_rank0.pickle", None),
        ("snapshot_20251109_215746.pickle", None),
        ("host_1234.Nov_09_21_57_46.pickle", None),
        ("2025-11-09_step_40.pickle", 40),
        ("memory.00000120.pickle", 120),
        ("run.step.5.pickle.gz", 5),
        ("snapshot.pickle", None),
    ],
)
def test_step_in_name(name: str, step: int | None) -> None:
    assert step_in_name(name) == step


def test_steps_are_ordered_as_numbers(tmp_path: Path) -> None:
    write_series(tmp_path, {100: live_blocks({}), 20: live_blocks({}), 3: live_blocks({})})

    assert [found.step for found in read_folder(tmp_path).snapshots] == [3, 20, 100]


def test_names_without_steps_are_ordered_by_the_time_of_their_events(tmp_path: Path) -> None:
    for name, time_us in (("b.pickle", 1_000_000), ("a.pickle", 2_000_000)):
        root = snapshot([segment([block(512)])], device_traces=[[{"action": "snapshot", "time_us": time_us}]])
        (tmp_path / name).write_bytes(pickle.dumps(root))

    found = read_folder(tmp_path)

    assert [(one.name, one.step) for one in found.snapshots] == [("b.pickle", 0), ("a.pickle", 1)]
    assert "ordered by time" in found.notes[0]


def test_names_without_steps_or_events_are_ordered_by_the_date_of_the_file(tmp_path: Path) -> None:
    for name, time_s in (("b.pickle", 1_000), ("a.pickle", 2_000)):
        (tmp_path / name).write_bytes(pickle.dumps(live_blocks({512: 1})))
        os.utime(tmp_path / name, (time_s, time_s))

    assert [one.name for one in read_folder(tmp_path).snapshots] == ["b.pickle", "a.pickle"]


def test_the_usual_folder_inside_is_found(tmp_path: Path) -> None:
    (tmp_path / "memory_snapshots").mkdir()
    write_series(tmp_path / "memory_snapshots", {1: live_blocks({512: 1})})

    assert len(read_folder(tmp_path).snapshots) == 1


@pytest.mark.parametrize("name", ["nowhere", "."])
def test_a_path_without_snapshots_says_what_to_pass(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="DIR must"):
        read_folder(tmp_path / name)


def test_each_rank_is_a_series_of_its_own(tmp_path: Path) -> None:
    for rank in (0, 1):
        for step in range(3):
            root = live_blocks({MIB: 4 + 4 * step * rank, **MANY_SIZES, 4096: 1 + step * rank, 8192: 1 + step * rank})
            (tmp_path / f"rank{rank}_step{step}.pickle").write_bytes(pickle.dumps(root))

    report = analyse_snapshots(tmp_path)

    assert [(series.rank, len(series.rows)) for series in report.series] == [(0, 3), (1, 3)]
    assert report.series[0].line("active_bytes").verdict == "stable"  # type: ignore[union-attr]
    assert "rank 1, device 0" in report.findings[0].summary


def test_the_device_that_leaks_is_named(tmp_path: Path) -> None:
    steps = {
        step: snapshot(
            [
                segment([block(size) for size in MANY_SIZES for _ in range(1 + 200 * step)], device=1),
                segment([block(MIB)], device=0),
            ]
        )
        for step in range(4)
    }

    (finding,) = analyse_snapshots(write_series(tmp_path, steps)).findings

    assert finding.verdict == "leak"
    assert finding.summary.startswith("device 1:")


def growing(sizes: dict[int, int], n: int) -> dict[int, object]:
    return {
        step: live_blocks({MIB: 10} | {size: number * (1 + step) for size, number in sizes.items()})
        for step in range(n)
    }


def test_even_growth_in_many_sizes_is_a_leak_after_three_snapshots(tmp_path: Path) -> None:
    report = analyse_snapshots(write_series(tmp_path, growing(dict.fromkeys(MANY_SIZES, 100), 3)))

    assert report.verdict == "leak"


def test_even_growth_in_few_sizes_is_left_open_with_few_snapshots(tmp_path: Path) -> None:
    """A buffer that stores three tensors a step looks the same."""
    report = analyse_snapshots(write_series(tmp_path, growing({512: 1000, 1024: 1000}, 5)))

    assert (report.verdict, report.exit_code) == ("too short", 3)
    assert "do not tell a leak from a filling buffer" in report.findings[0].summary


def test_with_six_snapshots_it_is_a_leak_with_less_confidence(tmp_path: Path) -> None:
    few = analyse_snapshots(write_series(tmp_path, growing({512: 1000, 1024: 1000}, 6))).findings[0]
    many_folder = tmp_path / "many"
    many_folder.mkdir()
    many = analyse_snapshots(write_series(many_folder, growing(dict.fromkeys(MANY_SIZES, 400), 6))).findings[0]

    assert (few.verdict, many.verdict) == ("leak", "leak")
    assert few.confidence < many.confidence


def test_a_buffer_that_filled_is_no_leak(tmp_path: Path) -> None:
    steps = {step: live_blocks({MIB: 10, 2048: 2000 * min(step, 3)}) for step in range(8)}

    report = analyse_snapshots(write_series(tmp_path, steps))

    assert report.verdict in ("plateau", "filling")
    assert report.exit_code == 0


def test_reserved_memory_alone_is_fragmentation(tmp_path: Path) -> None:
    steps = {
        step: snapshot([segment([block(MIB)] * 20 + [block(4 * MIB * (1 + step), "inactive")])]) for step in range(4)
    }

    report = analyse_snapshots(write_series(tmp_path, steps))

    assert report.exit_code == 0
    assert [(finding.kind, finding.verdict) for finding in report.findings] == [("fragmentation", "growing")]


def test_a_series_that_starts_without_a_device_counts_from_where_it_appears(tmp_path: Path) -> None:
    steps: dict[int, object] = {0: snapshot([])}
    steps |= {step: live_blocks({MIB: 4}) for step in (1, 2, 3)}

    (series,) = analyse_snapshots(write_series(tmp_path, steps)).series

    assert series.steps == (1, 2, 3)


def test_snapshots_without_any_memory_say_so(tmp_path: Path) -> None:
    report = analyse_snapshots(write_series(tmp_path, {0: snapshot([])}))

    assert report.exit_code == 3
    assert "CUDA had allocated nothing" in str(report)


def test_stacks_in_some_snapshots_only_are_compared_among_those(tmp_path: Path) -> None:
    stack = [frame("linear", "/v/lib/python3.12/site-packages/torch/nn/functional.py"), frame("keep"), frame("main")]
    steps: dict[int, object] = {0: live_blocks({512: 10})}
    for step in (1, 2):
        steps[step] = snapshot([segment([block(512, frames=stack)] * step + [block(512)])])

    (series,) = analyse_snapshots(write_series(tmp_path, steps)).series

    assert series.site_steps == (1, 2)
    assert [(found.frame.name, found.callers, found.blocks) for found in series.sites] == [("keep", ("main",), (1, 2))]
