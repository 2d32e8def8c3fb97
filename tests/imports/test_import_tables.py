"""Tables of any tool, as they are written: delimiters, headers, units, axes, labels, and what is broken in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from importing import CLEAN, GIB, LEAK, MIB, judged, refusal, values

from phaseprof.analysis.imports import ImportFailure, import_files
from phaseprof.errors import PhaseprofError


def rows(template: str, n: int = 20) -> str:
    return "".join(template.format(s=s, mb=1000 + 20 * s) + "\n" for s in range(n))


@pytest.mark.parametrize(
    "text",
    [
        "step,rss_mb\n" + rows("{s},{mb}"),
        "step;rss_mb\n" + rows("{s};{mb}"),
        "step;rss_mb\n" + rows("{s};{mb},5"),
        "step\trss_mb\n" + rows("{s}\t{mb}"),
        "step rss_mb\n" + rows("{s} {mb}"),
        "| step | rss_mb |\n|------|--------|\n" + rows("| {s} | {mb} |"),
        "# step   rss (MB)   cpu time\n" + rows("{s}   {mb}   0.5"),
        "# made by a tool\n# on Monday\n#step,rss_mb\n" + rows("{s},{mb}"),
        "rss_mb\n" + rows("{mb}"),
        "rss\n" + rows("{mb}MB"),
        "rss\n" + rows("{mb} MB"),
        "time,rss_mb\n" + rows("2026-11-28T10:00:{s:02d}Z,{mb}"),
        "time,rss_mb\n" + rows("10:00:{s:02d},{mb}"),
        "Wall time,Step,Value\n" + rows("{s}.5,{s},{mb}000000"),
        "step,metric,value,unit\n" + rows("{s},rss,{mb},MB"),
        "name,value,step\n" + rows("rss_mb,{mb},{s}\nloss,{mb},{s}"),
        "epoch,loss,memory/rss_mb\n" + rows("{s},0.5,{mb}"),
        '"step","rss_mb"\n' + rows('"{s}","{mb}"'),
        'step,rss_mb\n' + rows('{s},"{mb:,}"'),
        "step,rss_mb,\n" + rows("{s},{mb},"),
        "\ufeffstep,rss_mb\r\n" + rows("{s},{mb}\r"),
    ],
)  # fmt: skip
def test_a_leak_is_found_however_the_table_is_written(tmp_path: Path, text: str) -> None:
    run = judged(tmp_path, text, name="rss_bytes.csv")

    assert run.status() == LEAK
    assert [finding.slope for found in run.findings for finding in found] == pytest.approx([20e6])


@pytest.mark.parametrize(
    ("header", "cell", "metric", "factor"),
    [
        ("memory.used [MiB]", "25073 MiB", "cuda0/used_bytes", MIB),
        ("gpu_mem", "1.5GiB", "cuda0/used_bytes", GIB),
        ("container_memory", "1020Mi", "container_memory_bytes", MIB),
        ("rss", "12 kB", "rss_bytes", 1000),
        ("rss (MiB)", "7", "rss_bytes", MIB),
        ("rss_mib_mean", "7", "rss_bytes", MIB),
    ],
)
def test_units_in_cells_and_headers(tmp_path: Path, header: str, cell: str, metric: str, factor: float) -> None:
    number = float("".join(c for c in cell if c.isdigit() or c == "."))
    name = "gpu." + header if header.startswith("memory") else header

    run = judged(tmp_path, f"step,{name}\n0,{cell}\n1,{cell}\n", name="log.csv")

    assert values(run.run.main, metric) == pytest.approx([number * factor] * 2)


def test_a_wide_table_of_devices(tmp_path: Path) -> None:
    run = judged(tmp_path, "step,gpu0_mem_mib,gpu1_mem_mib\n" + rows("{s},500,{mb}"), name="log.csv")

    assert [finding.subject for finding in run.findings[0]] == ["cuda1"]


NVIDIA = "timestamp, index, name, utilization.gpu [%], memory.total [MiB], memory.used [MiB]\n"


def test_rows_of_devices_are_one_process(tmp_path: Path) -> None:
    text = NVIDIA + rows(
        "2026/11/28 10:00:{s:02d}.950, 0, NVIDIA A100, 92 %, 40960 MiB, {mb} MiB\n"
        "2026/11/28 10:00:{s:02d}.951, 1, NVIDIA A100, 0 %, 40960 MiB, 15 MiB"
    )

    run = judged(tmp_path, text)

    assert len(run.run.processes) == 1
    assert [finding.subject for finding in run.findings[0]] == ["cuda0"]
    assert values(run.run.main, "cuda1/used_bytes") == [15 * MIB] * 20


def test_rows_of_devices_that_no_column_names_go_by_their_order(tmp_path: Path) -> None:
    text = "timestamp, name, memory.used [MiB]\n" + rows(
        "2026/11/28 10:00:{s:02d}.950, A100, 500 MiB\n2026/11/28 10:00:{s:02d}.952, A100, {mb} MiB"
    )

    run = judged(tmp_path, text)

    assert [finding.subject for finding in run.findings[0]] == ["cuda1"]
    assert values(run.run.main, "cuda0/used_bytes") == [500 * MIB] * 20


def test_one_device_stays_one(tmp_path: Path) -> None:
    text = "timestamp, name, memory.used [MiB]\n" + rows("2026/11/28 10:00:{s:02d}.950, A100, {mb} MiB")

    assert [finding.subject for finding in judged(tmp_path, text).findings[0]] == ["cuda0"]


def test_rows_of_processes_become_processes(tmp_path: Path) -> None:
    text = "  PID   RSS    VSZ COMMAND\n" + rows(
        "   10  1000   2000 python calm.py\n   11 {mb}000   2000 python wild.py --all"
    )

    run = judged(tmp_path, text)

    assert [[f.verdict for f in found] for found in run.findings] == [[], ["leak"]]
    assert [process.header.pid for process in run.run.processes if process.header] == [10, 11]


def test_containers_with_their_limit(tmp_path: Path) -> None:
    text = "CONTAINER ID   NAME      CPU %     MEM USAGE / LIMIT     MEM %     NET I/O         BLOCK I/O   PIDS\n"
    text += rows("f13116   web       0.5%      {mb}MiB / 7.668GiB    12.4%     18.5kB / 18kB   0B / 0B     10")

    run = judged(tmp_path, "\x1b[2J\x1b[H" + text)

    assert run.status() == LEAK
    assert "Container memory leaks: +20.00 MiB" in run.findings[0][0].summary


def test_pods_whose_header_comes_again(tmp_path: Path) -> None:
    text = rows(
        "NAME          CPU(cores)   MEMORY(bytes)\n"
        "trainer-0     980m         {mb}Mi\n"
        "other-1       1m           30Mi"
    )

    run = judged(tmp_path, text)

    assert [[f.verdict for f in found] for found in run.findings] == [["leak"], []]


def test_a_share_of_a_total_in_the_same_row_is_an_amount(tmp_path: Path) -> None:
    run = judged(tmp_path, "step,gpu_memory_percent,gpu_memory_total_mib\n" + rows("{s},{s},10000"), name="log.csv")

    assert values(run.run.main, "cuda0/used_bytes")[1] == pytest.approx(100 * MIB)
    assert run.status() == LEAK


def test_a_share_beside_its_amount_is_left_out(tmp_path: Path) -> None:
    run = judged(tmp_path, "step,gpu_memory_percent,gpu_memory_used_mib\n0,5,100\n", name="log.csv")

    assert {metric for _, metric in run.run.main.series} == {"cuda0/used_bytes"}


def test_batches_that_begin_anew_in_each_epoch_go_on(tmp_path: Path) -> None:
    lines = "".join(f"{s % 5},{1000 + 20 * s}\n" for s in range(40))

    assert judged(tmp_path, "batch,rss_mb\n" + lines, name="log.csv").status() == LEAK


def test_the_newest_row_may_stand_first(tmp_path: Path) -> None:
    lines = rows("2026-11-28 10:00:{s:02d},{mb}").splitlines(keepends=True)

    run = judged(tmp_path, "time,rss_mb\n" + "".join(reversed(lines)), name="log.csv")

    assert run.status() == LEAK
    assert run.findings[0][0].slope > 0


def test_a_clock_may_pass_midnight(tmp_path: Path) -> None:
    text = "time,rss_mb\n23:59:58,1\n23:59:59,2\n00:00:00,3\n00:00:01,4\n"

    process = judged(tmp_path, text, name="log.csv").run.main

    assert [generation.seconds for generation in process.generations[:3]] == [1.0] * 3


def test_names_that_do_not_recur_split_nothing(tmp_path: Path) -> None:
    run = judged(tmp_path, "name,step,rss_mb\n" + rows("epoch-{s},{s},{mb}"), name="log.csv")

    assert (len(run.run.processes), run.status()) == (1, LEAK)


def test_points_stay_apart(tmp_path: Path) -> None:
    text = "step,phase,rss_mb\n" + rows("{s},train,{mb}\n{s},eval,500")

    assert {point for point, _ in judged(tmp_path, text, name="log.csv").run.main.series} >= {"train", "eval"}


# --- what is broken ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("7,1e300", "line 9: rss_mb is more than any memory holds (got '1e300')"),
        ("7,1e9999", "line 9: rss_mb is more than any memory holds (got '1e9999')"),
        ("7," + "9" * 400, "line 9: rss_mb must be a number (got '9999"),
        ("7,lots", "line 9: rss_mb must be a number (got 'lots')"),
        ("1e300,7", "line 9: the step must be from 0 to 2**53 (got '1e300')"),
        ("-1,7", "line 9: the step must be from 0 to 2**53 (got '-1')"),
        ("seven,7", "line 9: the step must be a number (got 'seven')"),
        ("7", "line 9: there must be 2 fields (got 1)"),
        ("7,8,9", "line 9: there must be 2 fields (got 3)"),
    ],
)
def test_a_bad_row_is_left_out_with_its_line(tmp_path: Path, bad: str, why: str) -> None:
    lines = ("step,rss_mb\n" + rows("{s},{mb}")).splitlines(keepends=True)
    lines.insert(8, bad + "\n")

    run = judged(tmp_path, "".join(lines), name="log.csv")

    assert run.status() == LEAK
    assert any(why in note for note in run.run.main.notes)


@pytest.mark.parametrize("time", ["inf", "1e400", "-5", "nonsense", "99:99:99", "2026-13-45"])
def test_a_bad_time_is_left_out_with_its_line(tmp_path: Path, time: str) -> None:
    text = "time,rss_mb\n1,1\n2,2\n" + f"{time},3\n" + "4,4\n5,5\n"

    run = judged(tmp_path, text, name="log.csv")

    assert any("line 4: time must be a time" in note for note in run.run.main.notes)
    assert len(values(run.run.main, "rss_bytes")) == 4


def test_a_row_that_is_still_being_written_is_left_out(tmp_path: Path) -> None:
    run = judged(tmp_path, "step,rss_mb,loss\n" + rows("{s},{mb},1") + "20,14", name="log.csv")

    assert run.status() == LEAK


def test_a_table_of_broken_rows_is_refused(tmp_path: Path) -> None:
    assert "line 3: rss_mb must be a number (got 'x'), as in 9 lines" in refusal(
        tmp_path, "step,rss_mb\n0,1\n" + "1,x\n" * 9, "log.csv"
    )


def test_a_split_into_too_many_processes_is_refused(tmp_path: Path) -> None:
    text = "PID,RSS\n" + "1,1\n" * 500 + "".join(f"{pid},1\n" for pid in range(5000))

    assert "split it into over 4,096 processes" in refusal(tmp_path, text, "log.csv")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("epoch,loss\n0,1\n", "it seems to be a table, and no column's name is about memory (got epoch, loss)"),
        ("step,rss_mb\n", "it seems to be a table with rss_mb, and none of its rows can be read"),
        ("1 2 3\n4 5 6\n", "it seems to be a table without names (it begins '1 2 3')"),
        ("hello world\nhow are you\n", "it seems to be a log of text (it begins 'hello world')"),
        ("<?xml version='1.0'?><a/>", "it seems to be XML"),
        ("<html><body></body></html>", "it seems to be a web page"),
        ("#!/bin/sh\necho 1\n", "it seems to be a script"),
        ("\x00\x01\x02\x03", "it seems to be binary"),
    ],
)
def test_a_refusal_says_what_the_file_seems_to_be(tmp_path: Path, text: str, what: str) -> None:
    assert what in refusal(tmp_path, text)


def test_a_log_of_text_is_pointed_to_patterns(tmp_path: Path) -> None:
    assert "--pattern 'RSS:" in refusal(tmp_path, "epoch 1 done\nepoch 2 done\n")


WORDS = ["rss_mb", "step", "time", "1", "-1", "1e999", "", "nan", "x", "7 MiB", "#", "2026-11-28", "pid", "gpu"]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.text(max_size=300),
        st.lists(
            st.lists(st.sampled_from(WORDS), max_size=5),
            max_size=8,
        ).map(lambda table: "\n".join(",".join(row) for row in table)),
    ),
    st.sampled_from([",", ";", "\t", " ", "|"]),
)  # fmt: skip
def test_any_text_is_read_or_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, text: str, mark: str
) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / "log.txt").write_text(text.replace(",", mark), encoding="utf-8", errors="surrogatepass")

    try:
        import_files([folder / "log.txt"], folder / "run")
    except PhaseprofError as error:
        assert isinstance(error, ImportFailure)
        assert "\n" not in str(error)


def test_text_that_a_shell_of_windows_redirected(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_bytes(("step,rss_mb\r\n" + rows("{s},{mb}\r")).encode("utf-16"))

    assert import_files([tmp_path / "log.csv"], tmp_path / "run").n_readings == 20


def test_bytes_that_only_begin_as_such_text_are_refused(tmp_path: Path) -> None:
    assert "nor UTF-16" in refusal(tmp_path, b"\xff\xfe\x00\xd8\x00")


def test_levels_stay_clean(tmp_path: Path) -> None:
    assert judged(tmp_path, "step rss_mb\n" + rows("{s} 500")).status() == CLEAN
