"""TensorBoard scalars beside the snapshots, and event files of strangers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from snapshot_builders import RECORDED, live_blocks, write_series

from phaseprof.analysis.event_files import ScalarSeries, read_scalars
from phaseprof.analysis.snapshots.beside import ScalarMatch, match_scalars
from phaseprof.errors import UsageError
from phaseprof.report.snapshots_report import analyse_snapshots

GIB, GB, MIB = 1 << 30, 10**9, 1 << 20


@pytest.fixture
def four_steps(tmp_path: Path) -> Path:
    """256, 512, 768 and 1,024 MiB at steps 0, 10, 20, 30."""
    folder = tmp_path / "snapshots"
    folder.mkdir()
    return write_series(folder, {10 * n: live_blocks({256 * MIB: 1 + n}) for n in range(4)})


def match(folder: Path, values: dict[int, float], tag: str = "gpu/allocated_gb") -> ScalarMatch:
    (series,) = analyse_snapshots(folder).series
    scalar = ScalarSeries(tag, ".", tuple(values), tuple(values.values()), tuple(map(float, values)))
    (found,) = match_scalars([scalar], series)
    return found


def levels(unit: float, extra: float = 0.0) -> dict[int, float]:
    return {10 * n: (256 * MIB * (1 + n) + extra) / unit for n in range(4)}


@pytest.mark.parametrize(
    ("tag", "factor", "unit"),
    [
        ("gpu/allocated_gb", GIB, "GiB"),
        ("gpu/allocated_gb", GB, "GB"),
        ("gpu/allocated_mb", MIB, "MiB"),
        ("cuda memory", 1, "B"),
        ("cuda memory", GB, "GB"),
        ("memory_bytes", 1, "B"),
    ],
)
def test_the_unit_is_found_from_the_levels(four_steps: Path, tag: str, factor: int, unit: str) -> None:
    found = match(four_steps, levels(factor), tag)

    assert found.unit == unit
    assert found.offset_bytes == pytest.approx(0, abs=1)


def test_offset_and_slopes_are_in_bytes(four_steps: Path) -> None:
    found = match(four_steps, levels(GIB, extra=MIB))

    assert found.offset_bytes == MIB
    assert found.scalar_slope == pytest.approx(25.6 * MIB)
    assert found.snapshot_slope == pytest.approx(25.6 * MIB)
    assert found.r == pytest.approx(1)


def test_only_common_steps_are_matched(four_steps: Path) -> None:
    values = {0: 0.25, 5: 9.0, 10: 0.5, 30: 1.0}

    assert match(four_steps, values).matched_steps == (0, 10, 30)


@pytest.mark.parametrize(
    ("values", "reason"),
    [({0: 0.3, 10: 0.3, 20: 0.3}, "the scalar is constant"), ({0: 0.3, 10: 0.5}, "fewer than three matched steps")],
)
def test_r_is_undefined_with_its_reason(four_steps: Path, values: dict[int, float], reason: str) -> None:
    found = match(four_steps, values)

    assert found.r is None
    assert found.r_reason == reason


def test_a_scalar_of_something_else_gets_no_unit(four_steps: Path) -> None:
    found = match(four_steps, {0: 900.0, 10: 900.0, 20: 900.0}, "host_memory_gb")

    assert found.unit is None
    assert "counts something else" in found.unit_reason


def test_no_common_step_is_said(four_steps: Path) -> None:
    found = match(four_steps, {1: 0.3, 11: 0.5})

    assert (found.matched_steps, found.unit_reason) == ((), "no step is in both")


def test_scalars_that_do_not_name_memory_are_left_out(four_steps: Path) -> None:
    (series,) = analyse_snapshots(four_steps).series

    assert match_scalars([ScalarSeries("loss/total", ".", (0, 10), (1.0, 0.5), (0.0, 1.0))], series) == ()


def test_names_without_steps_cannot_be_matched(tmp_path: Path) -> None:
    write_series(tmp_path, {1: live_blocks({MIB: 1})})
    (tmp_path / "snapshot_step_1.pickle").rename(tmp_path / "snapshot.pickle")

    assert match(tmp_path, {0: 0.3}).unit_reason == "the snapshots' names give no steps"


class TestEventFiles:
    @pytest.fixture(autouse=True)
    def package(self) -> None:
        pytest.importorskip("tensorboard")

    def test_recorded_scalars_agree_with_the_snapshots(self) -> None:
        folder = RECORDED / "dreamer_collect_leak"

        allocated, reserved = analyse_snapshots(folder, folder / "runs").scalars

        assert (allocated.tag, allocated.unit) == ("train/memory/gpu_allocated_gb", "GiB")
        assert allocated.matched_steps == (0, 20, 40, 60, 80, 100)
        assert (allocated.scalar_slope, allocated.snapshot_slope) == (88_064, 88_064)
        assert allocated.r == pytest.approx(0.99986, abs=1e-5)
        assert (reserved.metric, reserved.offset_bytes) == ("reserved_bytes", 0)

    def test_the_fixed_run_correlates_too(self) -> None:
        folder = RECORDED / "dreamer_fixed"

        report = analyse_snapshots(folder, folder / "runs")

        assert report.scalars[0].r == pytest.approx(0.956, abs=1e-3)
        assert report.verdict != "leak"

    def test_scalars_stored_as_tensors_are_read(self, tmp_path: Path) -> None:
        write_events(tmp_path, [(step, "gpu_gb", 0.5 * step) for step in range(3)], as_tensor=True)

        (series,) = read_scalars(tmp_path).series

        assert (series.tag, series.steps, series.values) == ("gpu_gb", (0, 1, 2), (0.0, 0.5, 1.0))

    def test_values_that_are_not_finite_are_left_out(self, tmp_path: Path) -> None:
        write_events(tmp_path, [(0, "gpu_gb", 1.0), (1, "gpu_gb", float("nan")), (2, "gpu_gb", 2.0)])

        assert read_scalars(tmp_path).series[0].steps == (0, 2)

    def test_runs_in_folders_below_are_kept_apart(self, tmp_path: Path) -> None:
        for run in ("a", "b"):
            (tmp_path / run).mkdir()
            write_events(tmp_path / run, [(0, "gpu_gb", 1.0)])

        assert [series.run for series in read_scalars(tmp_path).series] == ["a", "b"]

    @pytest.mark.parametrize("content", [b"", b"some text that is no record at all " * 9, b"\xff" * 64])
    def test_foreign_files_are_one_line(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "events.out.tfevents.1").write_bytes(content)

        found = read_scalars(tmp_path)

        assert found.series == ()
        assert found.errors[0].startswith("events.out.tfevents.1 is not a TensorBoard event file")

    def test_a_cut_file_is_read_up_to_its_last_whole_record(self, tmp_path: Path) -> None:
        (source,) = (RECORDED / "dreamer_fixed" / "runs").iterdir()
        (tmp_path / source.name).write_bytes(source.read_bytes()[:5000])

        assert 10 < len(read_scalars(tmp_path).series[0].steps) < 101


def write_events(folder: Path, scalars: list[tuple[int, str, float]], *, as_tensor: bool = False) -> None:
    from tensorboard.compat.proto import event_pb2, summary_pb2
    from tensorboard.summary.writer.event_file_writer import EventFileWriter
    from tensorboard.util.tensor_util import make_tensor_proto

    writer = EventFileWriter(str(folder))
    for step, tag, value in scalars:
        item = summary_pb2.Summary.Value(tag=tag)
        if as_tensor:
            item.tensor.CopyFrom(make_tensor_proto(value))
        else:
            item.simple_value = value
        writer.add_event(event_pb2.Event(step=step, wall_time=1.0 + step, summary=summary_pb2.Summary(value=[item])))
    writer.close()


def test_the_package_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)

    assert len(read_scalars(RECORDED / "dreamer_fixed" / "runs").series) == 2


@pytest.mark.parametrize("name", ["nowhere", "."])
def test_a_folder_without_event_files_is_wrong_use(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="event file"):
        read_scalars(tmp_path / name)
