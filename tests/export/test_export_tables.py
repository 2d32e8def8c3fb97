from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path

import pytest

from phaseprof.analysis.imports import import_files
from phaseprof.errors import MissingExtra, RecordingError, UsageError
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.reader import load_run
from phaseprof.report.export import export_run

PAGE = 4096


def recorded(folder: Path, *, rank: int = 0, generations: int = 5, indices: tuple[int | str, ...] = ()) -> Path:
    """Write a run with a phase, a checkpoint, a device, metrics, items, and readings outside all generations."""
    records: list[fmt.Record] = [
        fmt.Header(
            format=1, phaseprof="0", pid=7 + rank, started_unix_s=1.7e9, started_ns=50, page_bytes=PAGE, rank=rank
        ),
        fmt.Label(0, "train", "phase"),
        fmt.Label(1, 'mid, "quoted"', "checkpoint"),
        fmt.Point(60, 1, m="9 5 1"),
    ]
    for g in range(generations):
        t = 1000 + g * 10_000
        records += [
            fmt.GenerationBegin(t, g, indices[g] if indices else g),
            fmt.Point(t + 10, 0, fmt.ENTER, g, m=f"{100 + g} {50 + g} 20"),
            fmt.Point(t + 20, 1, fmt.POINT, g, d={"cuda0": [10**9 + g, 2, -1]}),
            fmt.Point(t + 30, 0, fmt.EXIT, g, m=f"{101 + g} {51 + g} 20"),
            fmt.Metrics(t + 40, g, {"live/ReplayMemory": g, "tracked/buffer_bytes": 0.1 * g, "uss": 3.0}),
            fmt.GenerationEnd(t + 50, g, 5e-8, 64.0 if g % 2 else -1),
        ]
    folder.mkdir(exist_ok=True)
    (folder / f"rank{rank}-pid{7 + rank}.jsonl").write_bytes(b"".join(fmt.encode(r) + b"\n" for r in records))
    return folder


def series_of(process: ProcessRun) -> dict[tuple[str, str], list[tuple[int, float]]]:
    return {key: list(series) for key, series in process.series.items()}


def test_round_trip_gives_identical_series(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run")
    export_run(run, tmp_path / "out.csv", form="csv")

    import_files([tmp_path / "out.csv"], tmp_path / "again")

    before, after = load_run(run).main, load_run(tmp_path / "again").main
    assert series_of(after) == series_of(before)
    assert len(series_of(before)) == 4 + 4 + 2 + 4 + 3


def test_times_are_told_apart_to_the_microsecond(tmp_path: Path) -> None:
    export_run(recorded(tmp_path / "run"), tmp_path / "out.csv", form="csv")

    with (tmp_path / "out.csv").open(newline="") as file:
        times = [float(row["time_s"]) for row in csv.DictReader(file) if row["metric"] == "generation_seconds"]
    steps = [after - before for before, after in pairwise(times)]
    assert steps == pytest.approx([10e-6] * 4, abs=2e-6)


def test_round_trip_keeps_generations(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run", indices=(0, 1000, 2500, 2501, "last"))
    export_run(run, tmp_path / "out.csv.gz", form="csv")

    import_files([tmp_path / "out.csv.gz"], tmp_path / "again")

    for before, after in zip(
        load_run(run).main.generations, load_run(tmp_path / "again").main.generations, strict=True
    ):
        assert (after.ordinal, after.index, after.seconds, after.items) == (
            before.ordinal, before.index, before.seconds, before.items,
        )  # fmt: skip


def test_round_trip_of_several_ranks(tmp_path: Path) -> None:
    recorded(tmp_path / "run", rank=0)
    run = recorded(tmp_path / "run", rank=2, generations=3)
    export_run(run, tmp_path / "out.csv", form="csv")

    import_files([tmp_path / "out.csv"], tmp_path / "again")

    before, after = load_run(run), load_run(tmp_path / "again")
    assert [series_of(p) for p in after.processes] == [series_of(p) for p in before.processes]
    assert [(p.header.rank, p.header.pid) for p in after.processes if p.header] == [(0, 7), (2, 9)]


def test_long_run_is_exported_whole_though_the_model_thins_it(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run", generations=5000)

    export_run(run, tmp_path / "out.csv", form="csv")

    with (tmp_path / "out.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["metric"] == "live/ReplayMemory"]
    assert [float(row["value"]) for row in rows] == list(range(5000))
    assert len(load_run(run).main.series["generation end", "live/ReplayMemory"]) < 5000


def test_rotated_parts_are_exported_in_order(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run", generations=0)
    header = (run / "rank0-pid7.jsonl").read_bytes().splitlines(keepends=True)[0]
    for part in (1, 2, 10):
        metric = fmt.Metrics(part, part, {"n": part})
        (run / f"rank0-pid7.{part}.jsonl").write_bytes(header + fmt.encode(metric) + b"\n")

    export_run(run, tmp_path / "out.csv", form="csv")

    with (tmp_path / "out.csv").open(newline="") as file:
        assert [row["value"] for row in csv.DictReader(file) if row["metric"] == "n"] == ["1", "2", "10"]


def test_two_recordings_under_one_name_stay_apart(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run")
    again = (run / "rank0-pid7.jsonl").read_bytes().replace(b'"started_ns":50', b'"started_ns":51', 1)
    (run / "rank0-pid7.1.jsonl").write_bytes(again)

    export_run(run, tmp_path / "out.csv", form="csv")

    with (tmp_path / "out.csv").open(newline="") as file:
        assert {row["process"] for row in csv.DictReader(file)} == {"rank0-pid7", "rank0-pid7-2"}


def test_cut_last_line_is_left_out(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run")
    n = export_run(run, tmp_path / "whole.csv", form="csv")
    file = run / "rank0-pid7.jsonl"
    file.write_bytes(file.read_bytes()[:-20])

    assert export_run(run, tmp_path / "cut.csv", form="csv") == n - 1


def test_parquet_has_the_rows_of_the_csv(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    run = recorded(tmp_path / "run")
    export_run(run, tmp_path / "out.csv", form="csv")

    n = export_run(run, tmp_path / "out.parquet", form="parquet")

    table = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(table) == n == len(rows)
    for one, other in zip(table, rows, strict=True):
        assert (one["point"], one["metric"], one["value"]) == (other["point"], other["metric"], float(other["value"]))
        assert one["step"] == (int(other["step"]) if other["step"] else None)


def test_parquet_without_its_package_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = recorded(tmp_path / "run")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)

    with pytest.raises(MissingExtra, match=r"phaseprof\[parquet\]"):
        export_run(run, tmp_path / "out.parquet", form="parquet")


def test_failure_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("precious")

    with pytest.raises(RecordingError):
        export_run(tmp_path / "no run", tmp_path / "out.csv", form="csv")

    assert (tmp_path / "out.csv").read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_folder_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run")

    with pytest.raises(UsageError, match="cannot write"):
        export_run(run, tmp_path / "none" / "out.csv", form="csv")


def test_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="format must be one of csv, parquet, perfetto, openmetrics"):
        export_run(tmp_path, tmp_path / "out", form="excel")
