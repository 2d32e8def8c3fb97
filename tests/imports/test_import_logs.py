"""Histories of experiment trackers, allocator dumps, mprof and memray files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from phaseprof.analysis.imports import ImportFailure, import_files, parse_units
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.reader import load_run

MIB = 1 << 20
DATA = Path(__file__).parents[1] / "data"


def make_run(tmp_path: Path, text: str, name: str, *units: str) -> ProcessRun:
    (tmp_path / name).write_text(text, encoding="utf-8")
    import_files([tmp_path / name], tmp_path / "run", units=parse_units(list(units)))
    return load_run(tmp_path / "run").main


def refusal(tmp_path: Path, text: str, name: str = "log.json") -> str:
    with pytest.raises(ImportFailure) as caught:
        make_run(tmp_path, text, name)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_wandb_csv_takes_memory_and_leaves_the_rest(tmp_path: Path) -> None:
    text = "_step,_timestamp,train/loss,train/memory/gpu_allocated_gib\n0,1700000000,0.5,1\n50,1700000009,0.4,2\n"

    process = make_run(tmp_path, text, "history.csv")

    assert list(process.series["history", "cuda0/allocated_bytes"]) == [(0, 2.0**30), (1, 2.0**31)]
    assert any("not about memory: train/loss" in note for note in process.notes)
    assert process.generations[0].seconds == 9.0


def test_wandb_csv_with_gaps(tmp_path: Path) -> None:
    process = make_run(tmp_path, "_step,rss_bytes,heap_bytes\n0,1,\n1,,2\n2,3,4\n", "history.csv")

    assert list(process.series["history", "rss_bytes"]) == [(0, 1.0), (2, 3.0)]


def test_wandb_chart_makes_each_run_a_process(tmp_path: Path) -> None:
    text = '"Step","calm - rss_mib","calm - rss_mib__MIN","wild - rss_mib","wild - rss_mib__MAX"\n0,1,0,2,9\n'
    make_run(tmp_path, text, "chart.csv")

    runs = load_run(tmp_path / "run").processes

    assert [process.series["history", "rss_bytes"].values for process in runs] == [[1.0 * MIB], [2.0 * MIB]]


def test_wandb_csv_without_memory_is_refused(tmp_path: Path) -> None:
    assert "no column's name is about memory" in refusal(tmp_path, "_step,loss\n0,1\n", "history.csv")


def test_wandb_json_lines(tmp_path: Path) -> None:
    text = '{"_step": 0, "memory": {"rss_mb": 100}, "loss": 1}\n{"_step": 1, "memory": {"rss_mb": 101}, "loss": NaN}\n'

    process = make_run(tmp_path, text, "history.jsonl")

    assert list(process.series["log", "rss_bytes"]) == [(0, 100e6), (1, 101e6)]


def test_not_a_number_in_the_first_line_or_in_a_list_was_not_measured(tmp_path: Path) -> None:
    rows = '{"_step": 0, "rss_bytes": NaN, "heap_bytes": 1}', '{"_step": 1, "rss_bytes":-Infinity, "heap_bytes":2}'
    (tmp_path / "list.json").write_text("[" + ",".join(rows) + "]")
    make_run(tmp_path, "\n".join(rows), "lines.jsonl")
    import_files([tmp_path / "list.json"], tmp_path / "run of list")

    for folder in ("run", "run of list"):
        series = load_run(tmp_path / folder).main.series
        assert series["log", "heap_bytes"].values == [1.0, 2.0]
        assert ("log", "rss_bytes") not in series


def test_unit_is_asked_for(tmp_path: Path) -> None:
    assert "--unit gpu_mem=MiB" in refusal(tmp_path, '{"_step": 0, "gpu_mem": 100}\n')


def test_unit_as_told(tmp_path: Path) -> None:
    process = make_run(tmp_path, '{"_step": 0, "gpu_mem": 3}\n', "log.json", "gpu_mem=KiB")

    assert next(iter(process.series.values())).values == [3 * 1024.0]


def stats(allocated: int) -> dict[str, int]:
    return {
        "allocated_bytes.all.current": allocated, "allocated_bytes.all.peak": allocated + 5,
        "allocated_bytes.all.allocated": 10**12, "active.all.current": 7, "num_ooms": 0,
        "active_bytes.small_pool.current": 3,
    }  # fmt: skip


def test_memory_stats_as_json_lines(tmp_path: Path) -> None:
    text = "\n".join(json.dumps({"step": step, "point": "end", **stats(100 + step)}) for step in range(3))

    process = make_run(tmp_path, text, "stats.jsonl")

    assert process.series["end", "cuda0/allocated_bytes"].values == [100.0, 101.0, 102.0]
    assert process.series["end", "cuda0/active_blocks"].values == [7.0] * 3
    assert process.series["end", "cuda0/small_pool_active_bytes"].values == [3.0] * 3
    assert ("end", "cuda0/peak_allocated_bytes") in process.series


def test_memory_stats_running_totals_are_left_out(tmp_path: Path) -> None:
    process = make_run(tmp_path, json.dumps(stats(1)), "stats.json")

    assert 1e12 not in {series.last for series in process.series.values()}
    assert any("running totals" in note for note in process.notes)


def test_memory_stats_as_one_list_numbers_its_entries(tmp_path: Path) -> None:
    process = make_run(tmp_path, json.dumps([stats(5), stats(6)], indent=1), "stats.json")

    assert list(process.series["log", "cuda0/allocated_bytes"]) == [(0, 5.0), (1, 6.0)]


def test_memory_stats_nested_and_by_device(tmp_path: Path) -> None:
    nested = {"step": 4, "device": 1, "allocated_bytes": {"all": {"current": 9}}}

    process = make_run(tmp_path, json.dumps(nested), "stats.json")

    assert list(process.series["log", "cuda1/allocated_bytes"]) == [(4, 9.0)]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ('{"_step": 0, "rss_bytes": 1}\n{"_step": 1,\n', "line 2: it is not JSON"),
        ('{"_step": 0, "rss_bytes": 1}\n[1]\n', "line 2: there must be an object (got list)"),
        ('{"_step": "zero", "rss_bytes": 1}', "_step must be a number"),
        ('{"_step": -1, "rss_bytes": 1}', "step must be from 0"),
        ('[{"_step": 0, "rss_bytes": 1}, 5]', "entry 2 must be an object"),
        ('[{"_step": 0,', "it is not JSON"),
        ('{"_step": 0, "loss": 1}', "no name in it is about memory (got loss)"),
        ('{"a": ' * 12 + "1" + "}" * 12, "nested"),
        ("[" * 100_000, "it is not JSON"),
        ('{"total_num_allocations": 5, "total_bytes_allocated": 9}', "memray stats are totals"),
    ],
)
def test_bad_json_is_refused(tmp_path: Path, text: str, rule: str) -> None:
    assert rule in refusal(tmp_path, text)


def test_memray_table_is_refused_with_the_way_out(tmp_path: Path) -> None:
    text = "allocator,num_allocations,size,tid,thread_name,stack_trace\nMALLOC,1,10,1,main,f;a.py;1\n"

    assert "memray's own .bin file" in refusal(tmp_path, text, "table.csv")


MPROF = """CMDLINE python train.py
MEM 100.5 1700000000.0
FUNC __main__.train 100.5 1700000000.1 110.0 1700000000.3
CHLD 42 10.0 1700000000.4
MEM 111.0 1700000000.5
"""


def test_mprof_samples(tmp_path: Path) -> None:
    process = make_run(tmp_path, MPROF, "mprofile.dat")

    assert list(process.series["sample", "rss_bytes"]) == [(0, 100.5 * MIB), (1, 111.0 * MIB)]
    assert process.series["after __main__.train", "rss_bytes"].values == [110.0 * MIB]


def test_mprof_children_are_processes(tmp_path: Path) -> None:
    make_run(tmp_path, MPROF, "mprofile.dat")

    assert [len(process.series) for process in load_run(tmp_path / "run").processes] == [4, 2]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("MEM 1.0\n", "line 1: MEM must have 2 fields (got 1)"),
        ("MEM much 1.0\n", "line 1: fields must be numbers"),
        ("MEM nan 1.0\n", "line 1: fields must be finite"),
        ("CMDLINE x\n", "no MEM line"),
    ],
)
def test_bad_mprof_is_refused(tmp_path: Path, text: str, rule: str) -> None:
    assert rule in refusal(tmp_path, text, "mprofile.dat")


def test_memray_capture(tmp_path: Path) -> None:
    memray = pytest.importorskip("memray")
    with memray.Tracker(tmp_path / "capture.bin"):
        kept = bytearray(8 * MIB)

    import_files([tmp_path / "capture.bin"], tmp_path / "run")

    process = load_run(tmp_path / "run").main
    assert ("sample", "heap_bytes") in process.series
    assert process.series["sample", "rss_bytes"].last > len(kept)


def test_damaged_memray_capture_is_refused(tmp_path: Path) -> None:
    (tmp_path / "capture.bin").write_bytes(b"memray\0" + b"\x99" * 64)

    with pytest.raises(ImportFailure, match="memray"):
        import_files([tmp_path / "capture.bin"], tmp_path / "run")


def test_event_files(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    imported = import_files([DATA / "snapshots" / "dreamer_collect_leak" / "runs"], tmp_path / "run")

    series = load_run(tmp_path / "run").main.series["scalars", "cuda0/allocated_bytes"]

    assert len(series) == 101
    assert any("say --unit train/memory/gpu_allocated_gb=GiB" in note for note in imported.notes)


def test_event_files_without_memory_are_refused(tmp_path: Path) -> None:
    writer = pytest.importorskip("tensorboard.summary.writer.event_file_writer")
    event_pb2 = pytest.importorskip("tensorboard.compat.proto.event_pb2")
    summary_pb2 = pytest.importorskip("tensorboard.compat.proto.summary_pb2")
    events = writer.EventFileWriter(str(tmp_path / "runs"))
    value = summary_pb2.Summary.Value(tag="loss", simple_value=1.0)
    events.add_event(event_pb2.Event(step=1, wall_time=1.0, summary=summary_pb2.Summary(value=[value])))
    events.close()

    with pytest.raises(ImportFailure, match=r"no tag is about memory \(got loss\)"):
        import_files([tmp_path / "runs"], tmp_path / "run")
