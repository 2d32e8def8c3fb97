from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from phaseprof.analysis.imports import ImportFailure, import_files
from phaseprof.errors import UsageError
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.reader import load_run

TRACES = Path(__file__).parents[1] / "data" / "traces"


def make_run(tmp_path: Path, text: str, name: str = "log.csv") -> ProcessRun:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    import_files([file], tmp_path / "run")
    return load_run(tmp_path / "run").main


def refusal(tmp_path: Path, text: str | bytes) -> str:
    file = tmp_path / "log.csv"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(ImportFailure) as caught:
        import_files([file], tmp_path / "run")
    assert not (tmp_path / "run").exists()
    return str(caught.value)


def test_real_trace_keeps_every_point_and_value(tmp_path: Path) -> None:
    import_files([TRACES / "leak_league.csv.gz"], tmp_path / "run")
    process = load_run(tmp_path / "run").main
    with gzip.open(TRACES / "leak_league.csv.gz", "rt") as file:
        rows = [line.rstrip("\n").split(",") for line in file][1:]
    wanted = [float(row[4]) for row in rows if row[1] == "end of iteration" and row[3] == "cuda.allocated_bytes"]

    series = process.series["end of iteration", "cuda0/allocated_bytes"]

    assert series.values == wanted
    assert series.generations == list(range(400))


def test_points_become_labels_in_order(tmp_path: Path) -> None:
    process = make_run(tmp_path, "step,point,metric,value\n0,b,rss_bytes,1\n0,a,rss_bytes,2\n")

    assert [label.name for label in process.labels.values()] == ["b", "a"]


def test_last_point_of_each_metric_stands_for_the_end_of_the_generation(tmp_path: Path) -> None:
    text = "step,point,metric,value\n" + "".join(f"{s},a,n,1\n{s},a,m,2\n{s},b,n,3\n" for s in range(3))

    process = make_run(tmp_path, text)

    assert process.series["generation end", "n"].values == [3.0] * 3
    assert process.series["generation end", "m"].values == [2.0] * 3


def test_end_of_the_generation_is_not_made_up_where_the_file_has_it(tmp_path: Path) -> None:
    process = make_run(tmp_path, "step,point,metric,value\n0,generation end,n,1\n0,later,n,2\n")

    assert process.series["generation end", "n"].values == [1.0]


def test_columns_may_come_in_any_order(tmp_path: Path) -> None:
    process = make_run(tmp_path, "value,metric,point,step\n7,rss_bytes,end,3\n")

    assert list(process.series["end", "rss_bytes"]) == [(3, 7.0)]


def test_unsorted_steps_are_sorted(tmp_path: Path) -> None:
    process = make_run(tmp_path, "step,point,metric,value\n2,end,n,20\n0,end,n,0\n1,end,n,10\n")

    assert process.series["end", "n"].values == [0.0, 10.0, 20.0]


def test_steps_of_a_thousand_become_neighbouring_generations(tmp_path: Path) -> None:
    process = make_run(tmp_path, "step,point,metric,value\n1000,end,n,1\n2000,end,n,2\n4000,end,n,4\n")

    assert process.series["end", "n"].generations == [0, 1, 3]
    assert [generation.index for generation in process.generations] == [1000, 2000, 4000]


def test_nearly_even_steps_never_share_a_generation(tmp_path: Path) -> None:
    steps = [0, 997, 2003, 2004, 4001]
    process = make_run(tmp_path, "step,point,metric,value\n" + "".join(f"{step},end,n,1\n" for step in steps))

    assert process.series["end", "n"].generations == [0, 1, 2, 3, 4]


def test_times_become_seconds_of_generations(tmp_path: Path) -> None:
    text = "step,point,metric,value,time_s\n0,a,n,1,10.0\n0,b,n,1,10.5\n1,a,n,1,11.0\n1,b,n,1,11.25\n"

    process = make_run(tmp_path, text)

    assert [generation.seconds for generation in process.generations] == [0.5, 0.25]


def test_dates_become_the_start_of_the_process(tmp_path: Path) -> None:
    text = "step,point,metric,value,time_s\n0,a,n,1,1700000000\n1,a,n,1,1700000060\n"

    process = make_run(tmp_path, text)

    assert process.header is not None
    assert process.header.started_unix_s == 1700000000
    assert process.last_ns == 60 * 10**9


def test_missing_times_are_told(tmp_path: Path) -> None:
    process = make_run(tmp_path, "step,point,metric,value\n0,a,n,1\n")

    assert any("no times" in note for note in process.notes)


def test_readings_without_a_step_stay_outside_generations(tmp_path: Path) -> None:
    process = make_run(tmp_path, "step,point,metric,value\n,before,n,5\n0,end,n,6\n")

    assert list(process.series["before", "n"]) == [(-1, 5.0)]
    assert len(process.generations) == 1


def test_missing_values_are_left_out_and_not_zero(tmp_path: Path) -> None:
    process = make_run(tmp_path, "step,point,metric,value\n0,end,n,1\n1,end,n,\n2,end,n,NaN\n3,end,n,4\n")

    assert list(process.series["end", "n"]) == [(0, 1.0), (3, 4.0)]


def test_several_processes_in_one_file(tmp_path: Path) -> None:
    text = "step,point,metric,value,process\n0,end,n,1,rank0-pid10\n0,end,n,2,rank3-pid11\n"
    make_run(tmp_path, text)

    headers = [process.header for process in load_run(tmp_path / "run").processes]

    assert [(header.rank, header.pid) for header in headers if header] == [(0, 10), (3, 11)]


def test_each_file_is_a_process(tmp_path: Path) -> None:
    files = []
    for at in range(2):
        files.append(tmp_path / f"{at}.csv")
        files[-1].write_text(f"step,point,metric,value\n0,end,n,{at}\n")

    import_files(files, tmp_path / "run")

    assert [process.series["end", "n"].last for process in load_run(tmp_path / "run").processes] == [0.0, 1.0]


def test_quoted_labels_keep_commas_and_quotes(tmp_path: Path) -> None:
    process = make_run(tmp_path, 'step,point,metric,value\n0,"after ""x"", y",n,1\n')

    assert ('after "x", y', "n") in process.series


def test_packed_file_is_told_by_its_bytes_and_not_its_name(tmp_path: Path) -> None:
    file = tmp_path / "plain_name.csv"
    file.write_bytes(gzip.compress(b"step,point,metric,value\n0,end,n,1\n"))

    assert import_files([file], tmp_path / "run").n_readings == 1


@pytest.mark.parametrize(
    ("text", "line", "rule"),
    [
        ("step,point,metric,value\n0,end,n,1\n1,end,n,lots\n", 3, "value must be a number (got 'lots')"),
        ("step,point,metric,value\n-4,end,n,1\n", 2, "step must be from 0"),
        ("step,point,metric,value\nten,end,n,1\n", 2, "step must be a number"),
        ("step,point,metric,value\n0,end,n\n", 2, "4 fields (got 3)"),
        ("step,point,metric,value\n0,end,,1\n", 2, "metric must not be empty"),
        ("step,point,metric,value,value\n", 1, "column 'value' appears twice"),
        ("a,b,c\n1,2,3\n", 1, "no column's name is about memory (got a, b, c)"),
        ('step,point,metric,value\n0,"end"x,n,1\n', 2, "not CSV"),
    ],
)
def test_refusal_names_file_line_rule_and_next_step(tmp_path: Path, text: str, line: int, rule: str) -> None:
    message = refusal(tmp_path, text)

    assert f"log.csv line {line}: " in message
    assert rule in message
    assert "; " in message
    assert "\n" not in message


def test_binary_file_is_refused(tmp_path: Path) -> None:
    assert "not UTF-8 text" in refusal(tmp_path, b"step,point\xff\xfe\n")


def test_empty_file_is_refused(tmp_path: Path) -> None:
    assert "it is empty" in refusal(tmp_path, "")


def test_header_alone_is_refused(tmp_path: Path) -> None:
    assert "no reading" in refusal(tmp_path, "step,point,metric,value\n")


def test_cut_gzip_is_refused(tmp_path: Path) -> None:
    packed = gzip.compress(b"step,point,metric,value\n" + b"0,end,n,1\n" * 50000)

    assert "copy the file again" in refusal(tmp_path, packed[: len(packed) // 2])


def test_pickle_is_refused_unread(tmp_path: Path) -> None:
    assert "phaseprof snapshots" in refusal(tmp_path, b"\x80\x04\x95rm -rf")


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportFailure, match="No such file"):
        import_files([tmp_path / "none.csv"], tmp_path / "run")


def test_folder_with_a_recording_is_not_written_into(tmp_path: Path) -> None:
    make_run(tmp_path, "step,point,metric,value\n0,end,n,1\n")

    with pytest.raises(UsageError, match="--out must name a new folder"):
        import_files([tmp_path / "log.csv"], tmp_path / "run")
