"""Files that the tools themselves wrote, with names of machines, users and paths taken out."""

from __future__ import annotations

import gzip
import json
import sqlite3
from pathlib import Path

import pytest
from importing import CLEAN, DATA, GIB, KIB, LEAK, MIB, NOT_SAID, judged, judged_file, refusal, values

from phaseprof.analysis.imports import ImportFailure, import_files

# File, exit status, a metric, its number of readings, its first and last value in bytes.
TOOLS = [
    ("psrecord.txt", LEAK, "rss_bytes", 24, 11.180 * MIB, None),
    ("pidstat.txt", LEAK, "rss_bytes", 10, 18876 * KIB, 110396 * KIB),
    ("pidstat_h.txt", LEAK, "rss_bytes", 10, 18876 * KIB, 110396 * KIB),
    ("ps.txt", LEAK, "rss_bytes", 10, None, None),
    ("ps_aux.txt", LEAK, "rss_bytes", 10, 9748 * KIB, None),
    ("top.txt", LEAK, "rss_bytes", 10, 10776 * KIB, None),
    ("mprof.dat", LEAK, "rss_bytes", 28, 7.503906 * MIB, None),
    ("proc_status.txt", LEAK, "rss_bytes", 10, None, None),
    ("openmetrics.txt", LEAK, "rss_bytes", 12, None, 73891840),
    ("scalene.json", LEAK, "footprint_bytes", 60, 4.000611305236816 * MIB, None),
    ("sar.txt", CLEAN, "kbmemused_bytes", 10, 487228 * KIB, 774992 * KIB),
    ("sadf.csv", CLEAN, "kbmemused_bytes", 10, 487228 * KIB, 774992 * KIB),
    ("sadf_p.txt", CLEAN, "kbmemused_bytes", 10, 487228 * KIB, 774992 * KIB),
    ("sadf.json", CLEAN, "system_memused_bytes", 10, 487228 * KIB, 774992 * KIB),
    ("sar_all.txt", CLEAN, "kbanonpg_bytes", 8, 353492 * KIB, None),
    ("run-offline.wandb", LEAK, "rss_bytes", 30, 100e6, 158e6),
]


@pytest.mark.parametrize(("name", "status", "metric", "n", "first", "last"), TOOLS, ids=[tool[0] for tool in TOOLS])
def test_files_of_tools(
    tmp_path: Path, name: str, status: int, metric: str, n: int, first: float | None, last: float | None
) -> None:
    run = judged_file(DATA / name, tmp_path / "run")

    found = values(run.run.main, metric)
    assert (run.status(), len(found)) == (status, n)
    assert first is None or found[0] == pytest.approx(first)
    assert last is None or found[-1] == pytest.approx(last)


@pytest.mark.parametrize("name", [tool[0] for tool in TOOLS])
def test_files_of_tools_may_be_packed(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress((DATA / name).read_bytes()))

    assert import_files([tmp_path / f"{name}.gz"], tmp_path / "run").n_readings


def test_times_of_a_clock_stand_on_the_day_of_the_banner(tmp_path: Path) -> None:
    process = judged_file(DATA / "pidstat.txt", tmp_path / "run").run.main

    assert process.header is not None
    assert process.header.started_unix_s == 1795885975.0  # 2026-11-28 17:12:55
    assert [generation.seconds for generation in process.generations[:3]] == [1.0] * 3


def test_the_process_goes_by_its_number(tmp_path: Path) -> None:
    process = judged_file(DATA / "pidstat.txt", tmp_path / "run").run.main

    assert process.header is not None
    assert process.header.pid == 7827


def test_the_unit_of_free_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(ImportFailure, match="--unit"):
        import_files([DATA / "free_m.txt"], tmp_path / "run")

    run = judged_file(DATA / "free_m.txt", tmp_path / "run", "MiB")
    assert values(run.run.main, "system_memory_used_bytes")[0] == 741 * MIB


def test_the_monitor_of_the_system_is_a_process_of_its_own(tmp_path: Path) -> None:
    history, monitor = judged_file(DATA / "run-offline.wandb", tmp_path / "run").run.processes

    assert values(history, "cuda0/used_bytes")[0] == GIB
    assert values(monitor, "rss_bytes")[0] == pytest.approx(61.4453125 * MIB)


def test_a_run_that_is_cut_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    (tmp_path / "run.wandb").write_bytes((DATA / "run-offline.wandb").read_bytes()[:5000])

    assert 5 < len(values(judged_file(tmp_path / "run.wandb", tmp_path / "run").run.main, "rss_bytes")) < 30


def test_a_folder_of_runs_is_read(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "run-x.wandb").write_bytes((DATA / "run-offline.wandb").read_bytes())

    assert import_files([tmp_path / "runs"], tmp_path / "run").n_processes == 4


def test_metrics_of_mlflow_are_one_process_a_run(tmp_path: Path) -> None:
    for run in ("one", "two"):
        folder = tmp_path / "mlruns" / "0" / run / "metrics" / "system"
        folder.mkdir(parents=True)
        lines = [f"{1700000000000 + 1000 * s} {100 + s} {s}\n" for s in range(20)]
        (folder / "memory_rss_mib").write_text("".join(lines))
        (folder.parent / "loss").write_text("1700000000000 0.5 0\n")

    run = judged_file(tmp_path / "mlruns", tmp_path / "run")

    assert [values(process, "rss_bytes")[:2] for process in run.run.processes] == [[100 * MIB, 101 * MIB]] * 2
    assert run.status() == LEAK


def test_one_metric_of_mlflow_goes_by_the_name_of_its_file(tmp_path: Path) -> None:
    run = judged(tmp_path, "1700000000000 100 0\n1700000001000 101 1\n", name="gpu_mem_gib")

    assert values(run.run.main, "cuda0/used_bytes") == [100 * GIB, 101 * GIB]


def database(file: Path, table: str, columns: str, rows: list[tuple[object, ...]]) -> None:
    connection = sqlite3.connect(file)
    connection.execute(f"CREATE TABLE {table} ({columns})")
    connection.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(rows[0]))})", rows)
    connection.commit()
    connection.close()


def test_a_database_of_metrics(tmp_path: Path) -> None:
    rows = [(name, 100 + step, 1700000000000 + step, "abc", step) for step in range(20) for name in ("rss_mib", "loss")]
    database(tmp_path / "mlflow.db", "metrics", "key, value, timestamp, run_uuid, step", rows)
    database(tmp_path / "mlflow.db", "latest_metrics", "key, value, timestamp, step", [("rss_mib", 1.0, 1, 1)])

    run = judged_file(tmp_path / "mlflow.db", tmp_path / "run")

    assert (len(run.run.processes), run.status()) == (1, LEAK)
    assert values(run.run.main, "rss_bytes")[:2] == [100 * MIB, 101 * MIB]


def test_a_table_of_samples_in_a_database(tmp_path: Path) -> None:
    rows = [(7, rank, 1.7e9 + s, 1e9 + 2e7 * s * rank, "cuda:0", 5.0) for s in range(20) for rank in (0, 1)]
    columns = "id, rank, sample_ts_s, ram_used_bytes, device, gpu_mem_used_bytes"
    database(tmp_path / "t.db", "process_samples", columns, rows)

    run = judged_file(tmp_path / "t.db", tmp_path / "run")

    assert [[f.verdict for f in found] for found in run.findings] == [[], ["leak"]]


def test_a_database_without_memory_is_refused(tmp_path: Path) -> None:
    database(tmp_path / "a.db", "users", "name, age", [("a", 1)])

    assert "SQLite database, and no table of it measures memory" in refusal(tmp_path, (tmp_path / "a.db").read_bytes())


def test_a_damaged_database_is_refused(tmp_path: Path) -> None:
    assert "SQLite database, and cannot be read" in refusal(tmp_path, b"SQLite format 3\x00" + b"\x07" * 500)


def test_a_folder_of_nothing_known_is_refused(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.txt").write_text("hello\n")

    with pytest.raises(ImportFailure, match="no TensorBoard event file, no W&B run"):
        import_files([tmp_path / "logs"], tmp_path / "run")


def test_a_leak_of_mprof_whose_last_sample_falls_is_a_leak(tmp_path: Path) -> None:
    samples = [f"MEM {10 + 1.9 * (at // 2):f} {1.7e9 + 0.1 * at:.4f}" for at in range(110)]
    text = "\n".join(["CMDLINE python train.py", *samples, f"MEM 24.000000 {1.7e9 + 11.1:.4f}"])

    assert judged(tmp_path, text + "\n", name="mprofile.dat").status() == LEAK


TRACE = {
    "name": "[memory]", "ph": "i",
    "args": {"Total Allocated": 0, "Total Reserved": 0, "Bytes": 1, "Device Id": -1, "Device Type": 0},
}  # fmt: skip


def trace(*, steps: bool) -> dict[str, object]:
    events: list[dict[str, object]] = []
    for step in range(20):
        if steps:
            events.append({"name": f"ProfilerStep#{step}", "ph": "X", "ts": step * 100.0, "dur": 99.0})
        for device, total in ((-1, 50_000_000 + 3_000_000 * step), (0, 7_000_000)):
            inside = {**TRACE["args"], "Total Allocated": total, "Device Id": device}  # type: ignore[dict-item]
            events += [{**TRACE, "ts": step * 100.0 + 10, "args": {**inside, "Total Allocated": 9 * total}}]
            events += [{**TRACE, "ts": step * 100.0 + 50, "args": inside}]
    return {"schemaVersion": 1, "traceEvents": events}


def test_a_trace_of_the_profiler_is_read_by_its_steps(tmp_path: Path) -> None:
    run = judged(tmp_path, json.dumps(trace(steps=True)), name="trace.json")

    assert values(run.run.main, "cuda0/allocated_bytes") == [7_000_000.0] * 20
    assert [finding.slope for finding in run.findings[0]] == pytest.approx([3_000_000.0])


def test_a_trace_without_steps_is_not_judged(tmp_path: Path) -> None:
    assert judged(tmp_path, json.dumps(trace(steps=False)), name="trace.json").status() == NOT_SAID
