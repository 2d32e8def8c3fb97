"""The recorded series against figures from an independent calculation, and what must be said of each."""

from __future__ import annotations

from functools import cache

import pytest
from snapshot_builders import RECORDED

from phaseprof.analysis.snapshots.lines import GrowthLine
from phaseprof.analysis.snapshots.series import DeviceSeries
from phaseprof.report.snapshots_report import SnapshotReport, analyse_snapshots


@cache
def report_on(name: str) -> SnapshotReport:
    return analyse_snapshots(RECORDED / name)


def series_of(name: str) -> DeviceSeries:
    return report_on(name).series[0]


def line_of(name: str, metric: str) -> GrowthLine:
    line = series_of(name).line(metric)
    assert line is not None
    return line


@pytest.mark.parametrize(
    ("name", "active", "slope", "blocks", "small_blocks"),
    [
        ("dreamer_collect_leak", (71_996_416, 80_802_816), 88_064, 12, (88, 1288)),
        ("dreamer_fixed", (71_913_984, 72_272_384), 3_584, 2, (79, 279)),
        ("dreamer_collect_leak_stacks", (71_996_416, 75_518_976), 88_064, 12, (88, 568)),
        ("expandable_collect_leak", (71_996_416, 77_280_256), 88_064, 12, (88, 808)),
        ("annotated_kl_leak", (71_926_784, 71_959_552), 4_096, 3, (89, 113)),
    ],
)
def test_growth_is_that_of_an_independent_calculation(
    name: str, active: tuple[int, int], slope: int, blocks: int, small_blocks: tuple[int, int]
) -> None:
    rows = series_of(name).rows

    assert (rows[0].active_bytes, rows[-1].active_bytes) == active
    assert (rows[0].small_pool_blocks, rows[-1].small_pool_blocks) == small_blocks
    for metric, expected in (("small_pool_bytes", slope), ("large_pool_bytes", 0), ("active_blocks", blocks)):
        line = line_of(name, metric)
        assert (line.slope, line.slope_low, line.slope_high) == (expected, expected, expected)


@pytest.mark.parametrize(
    ("name", "verdict", "exit_code"),
    [
        ("dreamer_collect_leak", "leak", 1),
        ("dreamer_collect_leak_stacks", "leak", 1),
        ("expandable_collect_leak", "leak", 1),
        ("graphs_and_streams", "leak", 1),
        ("dreamer_fixed", "growing", 0),
        ("annotated_kl_leak", "growing", 0),
        ("oom_graph_leak", "too short", 3),
        ("snapshot_380k.pickle.gz", "too short", 3),
    ],
)
def test_verdict_and_exit_code(name: str, verdict: str, exit_code: int) -> None:
    assert report_on(name).verdict == verdict
    assert report_on(name).exit_code == exit_code


def test_the_leak_is_in_the_small_pool_and_the_large_one_is_flat() -> None:
    (finding,) = report_on("dreamer_collect_leak").findings

    assert (finding.verdict, finding.kind, finding.metric) == ("leak", "gpu", "small_pool_bytes")
    assert (finding.slope, finding.slope_unit) == (88_064, "bytes/step")
    assert "the large pool is flat" in finding.summary
    assert line_of("dreamer_collect_leak", "large_pool_bytes").verdict == "stable"


def test_the_fixed_run_is_stated_with_its_figures() -> None:
    (finding,) = report_on("dreamer_fixed").findings

    assert "grows 3.50 KiB a step" in finding.summary
    assert "0.5 % in 100 steps, no plateau yet; below the floor" in finding.summary


def test_size_classes_speak_without_stacks() -> None:
    leak = {(found.size_bytes, found.blocks_per_step) for found in series_of("dreamer_collect_leak").growing_classes}
    fixed = {
        (found.size_bytes, found.requested_bytes, found.blocks_per_step)
        for found in series_of("dreamer_fixed").growing_classes
    }

    assert len(leak) == 9
    assert sum(size * blocks for size, blocks in leak) == 88_064
    assert fixed == {(3072, 3072, 1), (512, 192, 1)}


def test_stacks_name_the_lines_under_the_collection_step() -> None:
    series = series_of("dreamer_collect_leak_stacks")

    top = [(found.frame.name, found.frame.line, found.blocks_per_step) for found in series.growing_sites]
    assert top == [
        ("observe", 35, 5), ("step", 57, 2), ("observe", 36, 2), ("step", 58, 1), ("collect", 55, 1), ("step", 59, 1),
    ]  # fmt: skip
    assert series.growing_sites[0].bytes_per_step == 51_712
    assert series.caller is not None
    assert (series.caller.name, series.caller.share) == ("collect", 1)
    assert series.stackless == (21, 71_996_416 - 2_903_552)


def test_the_finding_of_the_stacks_run_names_line_and_caller() -> None:
    (finding,) = report_on("dreamer_collect_leak_stacks").findings

    assert finding.site == "dreamer/gpu_lab.py:35"
    assert finding.holder == ("allocated under collect (dreamer/gpu_lab.py:62)",)
    assert "collect" in finding.summary


def test_recorded_events_show_allocations_without_a_free() -> None:
    events = series_of("dreamer_collect_leak_stacks").events

    assert (events.events, events.allocations) == (3000, 1000)
    assert sum(found.blocks for found in events.survivors) == 42


def test_phases_come_from_the_annotations() -> None:
    phases = {found.frame.line: set(found.phases) for found in series_of("annotated_kl_leak").growing_sites}

    assert phases == {55: {"collect"}, 59: {"collect"}, 75: {"update"}}


def test_the_kept_scalar_is_pointed_at_without_calling_it_a_leak() -> None:
    (finding,) = report_on("annotated_kl_leak").findings

    assert finding.verdict == "growing"
    assert "gpu_lab_model.py:75 keeps a tensor of one element at each step" in finding.advice


def test_streams_and_graphs_are_named_as_the_cause() -> None:
    (finding,) = report_on("graphs_and_streams").findings
    new = series_of("graphs_and_streams").new_pools

    assert finding.subject == "streams and private pools of CUDA graphs or MemPool"
    assert (new.streams, new.private_pools) == (3, 3)
    assert finding.slope == pytest.approx(34.67e6, rel=0.01)
    assert "CUDA graph" in finding.advice


def test_expandable_segments_are_recognised() -> None:
    assert series_of("expandable_collect_leak").expandable_segments == 2


def test_an_out_of_memory_dump_says_who_holds_the_memory() -> None:
    report = report_on("oom_graph_leak")
    (finding,) = report.findings
    text = str(report)

    assert (finding.verdict, finding.site) == ("too short", "dreamer/gpu_lab_model.py:35")
    assert "Out of memory: 36.00 KiB asked for at dreamer/gpu_lab_model.py:77 in update" in text
    assert "the device had 138.77 GiB free" in text
    assert "fragmentation is not the cause" in text


def test_one_snapshot_makes_no_claim_of_growth() -> None:
    text = str(report_on("snapshot_380k.pickle.gz"))

    assert "380,003" in text
    assert "One snapshot says what is there, not what grows" in text
    assert "a step" not in text.replace("every few steps", "")


def test_two_snapshots_get_a_difference(tmp_path: object) -> None:
    folder = tmp_path / "two"  # type: ignore[operator]
    folder.mkdir()
    for step in (20, 40):
        source = RECORDED / "dreamer_collect_leak" / f"snapshot_step_{step}.pickle.gz"
        (folder / source.name).write_bytes(source.read_bytes())

    report = analyse_snapshots(folder)

    assert report.exit_code == 3
    assert "Block sizes that changed (9)" in str(report)
    assert report.series[0].line("active_blocks").growth == 240  # type: ignore[union-attr]
