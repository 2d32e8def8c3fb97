from __future__ import annotations

import multiprocessing
import os
import pickle
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phaseprof.analysis.scale import MOST_WHOLE, load_and_reduce, load_large_run
from phaseprof.cli.judged import JudgedRun, judge_process, judge_run
from phaseprof.errors import RecordingError
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.reader import Run, load_run
from phaseprof.recording.series import Series
from phaseprof.recording.stored import StoredProcess
from phaseprof.report.build import build_report
from phaseprof.report.run import MAX_SECTIONS


@settings(max_examples=1)
@given(st.just(0))
def settle(_: int) -> None:
    """Hypothesis times collections from its first run on, by a callback that stays: have it there before any test."""


settle()


def write_rank(run: Path, rank: int, name: str = "") -> None:
    run.mkdir(exist_ok=True)
    records: list[fmt.Record] = [
        fmt.Header(format=1, phaseprof="0", pid=rank, started_unix_s=0, started_ns=0, page_bytes=4096, rank=rank),
        fmt.Label(0, "train", "phase"),
    ]
    for g in range(50):
        records += [
            fmt.GenerationBegin(g, g, g),
            fmt.Point(g, 0, fmt.ENTER, g, m=f"{900 + g} {500 + g * rank} 7"),
            fmt.Point(g + 1, 0, fmt.EXIT, g, m=f"{900 + g} {501 + g * rank} 7"),
            fmt.Metrics(g, g, {"n_objects": 5.0 * rank}),
        ]
    text = b"".join(fmt.encode(record) + b"\n" for record in records)
    (run / f"{name or f'rank{rank}-pid{rank}'}.jsonl").write_bytes(text)


def content(run: Run) -> list[tuple[object, ...]]:
    return [
        (
            process.header,
            {key: list(series) for key, series in process.series.items()},
            {key: list(series) for key, series in process.charges.items()},
            process.phases,
            process.generations,
            process.notes,
            process.n_records,
        )
        for process in run.processes
    ]


def test_workers_give_what_the_small_path_gives(tmp_path: Path) -> None:
    for rank in (0, 2, 11):
        write_rank(tmp_path / "run", rank)

    assert content(load_large_run(tmp_path / "run", workers=2)) == content(load_run(tmp_path / "run"))


def test_parts_of_one_process_stay_together(tmp_path: Path) -> None:
    write_rank(tmp_path / "run", 0)
    write_rank(tmp_path / "run", 0, "rank0-pid0.1")

    run = load_large_run(tmp_path / "run", workers=2)

    assert len(run.processes) == 1
    assert content(run) == content(load_run(tmp_path / "run"))


def test_a_file_that_is_no_recording_costs_the_others_nothing(tmp_path: Path) -> None:
    write_rank(tmp_path / "run", 0)
    (tmp_path / "run" / "rank1-pid1.jsonl").write_bytes(b"no recording\n")

    run = load_large_run(tmp_path / "run", workers=2)

    assert content(run) == content(load_run(tmp_path / "run"))
    assert len(run.processes) == 1
    assert "rank1-pid1" in str(run.left_out)


def test_missing_folder_is_told_as_ever(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="no such folder"):
        load_large_run(tmp_path / "none", workers=2)


# --- judged side by side ----------------------------------------------------------------------------------------------


def write_leaking(run: Path, rank: int) -> None:
    run.mkdir(exist_ok=True)
    records: list[fmt.Record] = [
        fmt.Header(format=1, phaseprof="0", pid=rank, started_unix_s=0, started_ns=0, page_bytes=4096, rank=rank),
        fmt.Watch("Env", 1, 1),
    ]
    for g in range(40):
        held = float(1 + g * (rank % 2))
        records += [fmt.GenerationBegin(g, g, g), fmt.Metrics(g, g, {"watched/Env": held, "n_objects": 9.0})]
        records += [fmt.Metrics(g, g, {"malloc_in_use_bytes": 1e6 * held})]
    (run / f"rank{rank}-pid{rank}.jsonl").write_bytes(b"".join(fmt.encode(record) + b"\n" for record in records))


def test_findings_of_workers_are_those_of_one_process(tmp_path: Path) -> None:
    for rank in range(4):
        write_leaking(tmp_path / "run", rank)

    one, two = (judge_run(str(tmp_path / "run"), workers=n) for n in (1, 2))

    assert [bool(found) for found in one.findings] == [False, True, False, True]
    assert two.findings == one.findings
    assert (two.status(), two.broken(), two.n_readings) == (one.status(), one.broken(), one.n_readings)
    assert str(build_report(two.run, two.findings)) == str(build_report(one.run, one.findings))


def test_many_processes_show_what_few_would_and_stay_on_disk(tmp_path: Path) -> None:
    for rank in range(MOST_WHOLE + 2):
        write_leaking(tmp_path / "run", rank)
        write_rank(tmp_path / "run", rank, f"rank{rank}-pid{1000 + rank}")
    whole = load_run(tmp_path / "run")
    plain = JudgedRun(whole, tuple(judge_process(process) for process in whole.processes))

    many = judge_run(str(tmp_path / "run"), workers=1)
    table = [many.ranks, many.findings, many.status(), many.broken(), many.missing(), many.n_readings, many.is_imported]

    assert table[:3] == [plain.ranks, plain.findings, plain.status()]
    assert table[3:] == [plain.broken(), plain.missing(), plain.n_readings, plain.is_imported]
    assert not any("series" in vars(process) for process in many.run.processes)
    assert many.run.processes.index(many.run.main) == whole.processes.index(whole.main)
    reports = [build_report(run.run, run.findings, ranks=run.ranks).to_dict() for run in (many, plain)]
    assert reports[0] == reports[1]
    assert sum("series" in vars(process) for process in many.run.processes) == MAX_SECTIONS
    assert content(many.run) == content(whole)


def test_a_process_on_disk_is_sent_as_little_and_knows_no_other_names(tmp_path: Path) -> None:
    write_rank(tmp_path / "run", 3)
    (process,) = load_run(tmp_path / "run").processes
    file = tmp_path / "run" / "rank3-pid3.jsonl"

    sent = pickle.loads(pickle.dumps(StoredProcess(process, [file])))

    assert len(pickle.dumps(sent)) < 2000
    assert not hasattr(sent, "no_such_name")
    assert (sent.header, sent.n_records, sent.has_generations) == (process.header, process.n_records, True)
    assert list(sent.series) == list(process.series)
    file.unlink()
    with pytest.raises(RecordingError, match="rank3-pid3"):
        len(StoredProcess(process, [file]).generations)


def test_parts_of_several_processes_are_read_by_workers(tmp_path: Path) -> None:
    for rank in (0, 1):
        write_rank(tmp_path / "run", rank)
        write_rank(tmp_path / "run", rank, f"rank{rank}-pid{rank}.1")

    run = load_large_run(tmp_path / "run", workers=2)

    assert len(run.processes) == 2
    assert content(run) == content(load_run(tmp_path / "run"))


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_counts_processes(tmp_path: Path, workers: int) -> None:
    for rank in range(3):
        write_rank(tmp_path / "run", rank)
    done: list[int] = []

    load_large_run(tmp_path / "run", workers=workers, on_done=done.append)

    assert done == [1, 2, 3]


def test_a_small_run_starts_no_worker(tmp_path: Path) -> None:
    for rank in range(3):
        write_rank(tmp_path / "run", rank)

    _, pids = load_and_reduce(tmp_path / "run", lambda process: os.getpid())  # a lambda could not be sent

    assert pids == [os.getpid()] * 3


def die_in_a_worker(process: ProcessRun) -> int:
    if multiprocessing.parent_process() is not None:
        os._exit(1)
    return process.n_records


def test_without_workers_one_process_does_the_work(tmp_path: Path) -> None:
    for rank in range(3):
        write_rank(tmp_path / "run", rank)

    run, records = load_and_reduce(tmp_path / "run", die_in_a_worker, workers=2)

    assert records == [process.n_records for process in run.processes] == [202, 202, 202]


# --- what is sent -----------------------------------------------------------------------------------------------------

NUMBERS = st.one_of(
    st.lists(st.integers(-(2**70), 2**70)), st.lists(st.floats(allow_nan=False)),
    st.lists(st.one_of(st.integers(0, 9), st.floats(0, 9))), st.integers(0, 60).map(lambda n: list(range(n))),
)  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(NUMBERS, st.sampled_from([1, 3, 10]))
def test_a_series_comes_out_as_it_went_in(values: list[float], spacing: int) -> None:
    series = Series()
    series.extend(range(5, 5 + spacing * len(values), spacing), values)

    sent = pickle.loads(pickle.dumps(series))

    assert len(sent) == len(values)
    assert (sent.generations, sent.values) == (series.generations, series.values)
    assert list(map(type, sent.values)) == list(map(type, values))


def test_a_series_that_was_sent_goes_on() -> None:
    series, whole = Series(), Series()
    for g in range(5000):  # thinned on the way, so it must go on with the same spacing
        series.put(g, float(g))
        whole.put(g, float(g))

    sent = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(series))))
    for g in range(5000, 5050):
        sent.put(g, float(g))
        whole.put(g, float(g))

    assert list(sent) == list(whole)


def test_a_packed_series_is_small() -> None:
    series = Series()
    series.extend(range(4000), [0.5 * g for g in range(4000)])

    assert len(pickle.dumps(series)) < 4000 * 8 + 500
    assert not hasattr(pickle.loads(pickle.dumps(series)), "no_such_name")


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9)), max_size=40), st.integers(1, 9))
def test_many_readings_at_once_are_as_one_by_one(readings: list[tuple[int, int]], cut: int) -> None:
    at_once, one_by_one = Series(), Series()

    for begin in range(0, len(readings), cut):
        part = readings[begin : begin + cut]
        at_once.extend([g for g, _ in part], [v for _, v in part])
    for generation, value in readings:
        one_by_one.extend((generation,), (value,))

    assert list(at_once) == list(one_by_one)
