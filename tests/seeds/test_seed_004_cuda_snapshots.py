"""Seed 004: CUDA snapshots over time, fine checkpoints, one change at a time, and growth against a setting."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from seed_programs import generations, nothing, run_on_device

from phaseprof import Profiler, load
from phaseprof.analysis.compare import compare
from phaseprof.analysis.experiment import judge_experiment
from phaseprof.analysis.findings import find_leaks
from phaseprof.analysis.imports import import_files
from phaseprof.cli import main
from phaseprof.recording.reader import Run
from phaseprof.report.compare_text import experiment_sentence
from phaseprof.report.snapshots_report import SnapshotReport, analyse_snapshots

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture(scope="module")
def leaking() -> SnapshotReport:
    return analyse_snapshots(DATA / "snapshots" / "dreamer_collect_leak")


def judged(trace: str, folder: Path) -> list[tuple[str, str | None]]:
    text = gzip.decompress((DATA / "traces" / f"{trace}.csv.gz").read_bytes())
    file = folder / f"{trace}.csv"
    file.write_bytes(text)
    import_files([file], folder / trace)
    return [(finding.verdict, finding.phase) for finding in find_leaks(load(folder / trace).main)]


def test_004_01_pools_and_blocks_by_step(leaking: SnapshotReport) -> None:
    rows = leaking.series[0].rows

    assert rows[-1].small_pool_blocks > 10 * rows[0].small_pool_blocks


def test_004_02_the_slope_of_the_small_pool(leaking: SnapshotReport) -> None:
    small, large = (leaking.series[0].line(name) for name in ("small_pool_bytes", "large_pool_bytes"))

    assert small is not None and large is not None
    assert (small.slope, large.slope) == (88_064, 0)


def test_004_03_scalars_beside_are_correlated(capsys: pytest.CaptureFixture[str]) -> None:
    folder = DATA / "snapshots" / "dreamer_collect_leak"

    main(["snapshots", str(folder), "--events", str(folder / "runs")])

    (row,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("train/memory/gpu_allocated_gb")]
    _, beside, matched, unit, *_, r = row.split()
    assert (beside, matched, unit) == ("active", "6", "GiB")
    assert float(r) > 0.999


def test_004_04_files_to_keep(tmp_path: Path) -> None:
    main(["snapshots", str(DATA / "snapshots" / "dreamer_collect_leak"), "--out", str(tmp_path / "out")])

    assert {"report.txt", "report.json"} <= {file.name for file in (tmp_path / "out").iterdir()}


def test_004_05_the_lines_that_grow() -> None:
    report = analyse_snapshots(DATA / "snapshots" / "dreamer_collect_leak_stacks")

    assert report.findings[0].site == "dreamer/gpu_lab.py:35"


def test_004_06_a_repair_against_what_was_before(capsys: pytest.CaptureFixture[str]) -> None:
    folder = DATA / "snapshots"

    main(["diff", str(folder / "dreamer_collect_leak"), str(folder / "dreamer_fixed")])

    assert "collapsed" in capsys.readouterr().out


def test_004_07_the_repaired_run_is_no_leak() -> None:
    assert analyse_snapshots(DATA / "snapshots" / "dreamer_fixed").exit_code == 0


def test_004_08_checkpoints_have_a_row_in_every_text_report() -> None:
    profiler = Profiler(budget=None)
    for g in range(8):
        with profiler.generation(g), profiler.phase("update"):
            profiler.checkpoint("after sampling")
            with profiler.checkpoint("encoder"):
                pass
            profiler.checkpoint("after backward")
    text = str(profiler.report())
    profiler.close()

    rows = text[text.index("PHASES AND CHECKPOINTS") :].splitlines()[4:8]
    assert [row.split("  ")[0] for row in rows] == ["update", "after sampling", "encoder", "after backward"]


def test_004_09_the_point_where_the_baseline_climbs(tmp_path: Path) -> None:
    assert judged("dreamer_collect", tmp_path)[:1] == [("leak", "after collect")]


@pytest.mark.parametrize("trace", ["dreamer_none", "healthy_varlen", "healthy_fill"])
def test_004_10_healthy_traces(trace: str, tmp_path: Path) -> None:
    assert "leak" not in dict(judged(trace, tmp_path))


def test_004_11_one_branch_switched_off(tmp_path: Path) -> None:
    judged("dreamer_graph", tmp_path)
    judged("dreamer_none", tmp_path)

    comparison = compare([load(tmp_path / "dreamer_none"), load(tmp_path / "dreamer_graph")], ["off", "on"])

    assert comparison.is_worse()


@pytest.mark.parametrize(("power", "words"), [(1, "Growth scales with length"), (0, "does not depend on length")])
def test_004_12_growth_against_the_sequence_length(power: int, words: str) -> None:
    lengths = (25, 50, 100)
    runs = [Run(None, [run_on_device([2048 + n**power * g / 10 for g in range(30)])]) for n in lengths]

    found = judge_experiment(compare(runs, [f"run{n}" for n in lengths]), [{"length": str(n)} for n in lengths])

    assert found.exponent is not None
    assert found.exponent[0] == pytest.approx(power, abs=0.05)
    assert words in experiment_sentence(found)


def test_004_13_a_graph_carried_through_collection() -> None:
    torch = pytest.importorskip("torch")
    cell, profiler = torch.nn.GRUCell(64, 64), Profiler(budget=None)
    state = [torch.zeros(64, 64)]

    def collect(turn: int) -> None:  # some 2 MB, which would be felt however slow the machine is
        for _ in range(10):
            state[0] = cell(torch.zeros(64, 64), state[0])

    generations(profiler, range(11), collect_experience=collect, train_population=nothing)
    found = profiler.findings()
    profiler.close()

    assert (found[0].verdict, found[0].kind, found[0].phase) == ("leak", "autograd graph", "collect_experience")


def test_004_14_a_snapshot_of_an_out_of_memory() -> None:
    report = analyse_snapshots(DATA / "snapshots" / "oom_graph_leak")

    assert report.findings[0].summary.endswith(
        "out of memory with 299.18 MiB of 300.00 MiB occupied; 36.3 % of that was allocated at "
        "dreamer/gpu_lab_model.py:35 in observe: 11,011 blocks, 4,404 of them of 12,288 bytes"
    )


def test_004_15_a_large_snapshot_is_read() -> None:
    report = analyse_snapshots(DATA / "snapshots" / "snapshot_380k.pickle.gz")

    assert report.series[0].rows[0].active_blocks > 300_000
