from __future__ import annotations

from pathlib import Path

import pytest

from phaseprof.analysis.scale import load_large_run
from phaseprof.errors import RecordingError
from phaseprof.recording import format as fmt
from phaseprof.recording.reader import Run, load_run


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


def test_error_of_one_file_is_the_error_of_the_run(tmp_path: Path) -> None:
    write_rank(tmp_path / "run", 0)
    (tmp_path / "run" / "rank1-pid1.jsonl").write_bytes(b"no recording\n")

    with pytest.raises(RecordingError, match="rank1-pid1"):
        load_large_run(tmp_path / "run", workers=2)


def test_missing_folder_is_told_as_ever(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="no such folder"):
        load_large_run(tmp_path / "none", workers=2)
