"""What users see: the command, its files, its exit status."""

from __future__ import annotations

import argparse
import csv
import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest
from snapshot_builders import RECORDED, block, frame, live_blocks, segment, snapshot, write_series

from phaseprof.cli.snapshots import add_parser
from phaseprof.report.snapshots_report import analyse_snapshots

LEAK, FIXED, STACKS = (
    RECORDED / name for name in ("dreamer_collect_leak", "dreamer_fixed", "dreamer_collect_leak_stacks")
)


def command(*arguments: object) -> int:
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    args = parser.parse_args(["snapshots", *map(str, arguments)])
    return int(args.run(args))


@pytest.mark.parametrize(
    ("path", "status"),
    [(LEAK, 1), (FIXED, 0), (STACKS, 1), (RECORDED / "oom_graph_leak", 3), (RECORDED / "nowhere", 2)],
)
def test_exit_status(path: Path, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(path) == status


def test_the_text_has_table_slopes_and_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    command(LEAK)

    out = capsys.readouterr().out
    assert "Verdict: LEAK" in out
    assert re.search(r"^ +100 +77\.06 MiB +13\.06 MiB +64\.00 MiB +1,290 +80\.00 MiB +2\.94 MiB +10$", out, re.M)
    assert re.search(r"^small pool +\+86\.00 KiB +\+83\.98 MiB +exact +\+8\.40 MiB +leak$", out, re.M)


def test_the_table_adds_up() -> None:
    for row in analyse_snapshots(LEAK).series[0].rows:
        assert row.active_bytes == (row.small_pool_bytes or 0) + (row.large_pool_bytes or 0)


def test_json_has_format_and_findings(capsys: pytest.CaptureFixture[str]) -> None:
    status = command(LEAK, "--json")

    tree = json.loads(capsys.readouterr().out)
    assert (tree["format"], tree["verdict"], tree["exit_code"]) == (1, "leak", status)
    assert tree["findings"][0]["metric"] == "small_pool_bytes"
    slopes = {line["metric"]: line["slope_per_1000_steps"] for line in tree["series"][0]["slopes"]}
    assert (slopes["small_pool_bytes"], slopes["large_pool_bytes"]) == (88_064_000, 0)


@pytest.mark.parametrize("path", sorted(path for path in RECORDED.iterdir()), ids=lambda path: path.name)
def test_every_report_is_json_and_text(path: Path) -> None:
    report = analyse_snapshots(path)

    assert json.loads(json.dumps(report.to_dict(), allow_nan=False))["verdict"] == report.verdict
    assert str(report).isascii()


def test_a_hostile_file_spares_the_rest_of_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    class Payload:
        def __reduce__(self) -> tuple[object, ...]:
            return Path.mkdir, (tmp_path / "made by the payload",)

    write_series(tmp_path, {step: live_blocks({1 << 20: 4}) for step in range(4)})
    (tmp_path / "snapshot_step_9.pickle").write_bytes(pickle.dumps(snapshot([], extra=Payload())))
    (tmp_path / "snapshot_step_8.pickle").write_bytes(b"")

    status = command(tmp_path)

    out, err = capsys.readouterr()
    assert status == 2
    assert not (tmp_path / "made by the payload").exists()
    assert len(err.splitlines()) == 2
    assert "snapshot_step_9.pickle is not a readable snapshot" in err
    assert "Device 0: stable" in out


def test_a_single_bad_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.pickle").write_bytes(b"text")

    assert command(tmp_path / "a.pickle") == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_cap_can_be_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(FIXED, "--max-file-size", "1 KiB") == 2
    assert "raise the limit with --max-file-size" in capsys.readouterr().err


def test_an_unknown_size_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(FIXED, "--max-file-size", "many") == 2
    assert "a size is a number" in capsys.readouterr().err


def test_out_writes_every_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    status = command(STACKS, "--out", tmp_path / "new" / "folder")

    written = {path.name for path in (tmp_path / "new" / "folder").iterdir()}
    assert status == 1
    assert written == {
        "report.txt", "report.md", "report.json", "growth.csv", "slopes.csv", "size_classes.csv", "sites.csv",
        "report.html", "growth.png",
    }  # fmt: skip
    assert (tmp_path / "new" / "folder" / "growth.png").read_bytes().startswith(b"\x89PNG")


def test_csv_holds_the_table_exactly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command(LEAK, "--out", tmp_path)

    with (tmp_path / "growth.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["step"], row["active_bytes"]) for row in rows][:2] == [("0", "71996416"), ("20", "73757696")]
    with (tmp_path / "slopes.csv").open(newline="") as stream:
        verdicts = {row["metric"]: row["verdict"] for row in csv.DictReader(stream)}
    assert verdicts["small_pool_bytes"] == "leak"


def test_without_an_extra_the_rest_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)

    assert command(LEAK, "--out", tmp_path) == 1
    assert not (tmp_path / "growth.png").exists()
    assert (tmp_path / "report.html").exists()
    assert "phaseprof[plots]" in capsys.readouterr().err


def test_what_is_asked_for_without_its_extra_is_wrong_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)

    assert command(LEAK, "--png", tmp_path / "a.png") == 2
    assert "phaseprof[plots]" in capsys.readouterr().err


def test_the_page_is_written_beside_the_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(LEAK, "--html", tmp_path / "a.html") == 1
    assert "Verdict: LEAK" in capsys.readouterr().out
    assert "1 leak found in 6 snapshots, step 0 to 100" in (tmp_path / "a.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("option", ["--html", "--png"])
def test_a_file_in_no_folder_is_wrong_use(tmp_path: Path, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert command(LEAK, option, tmp_path / "nowhere" / "a") == 2
    assert "give a file in a folder that exists" in capsys.readouterr().err


def test_an_unwritable_folder_is_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")

    assert command(LEAK, "--out", tmp_path / "file") == 2
    assert "cannot write into" in capsys.readouterr().err


def test_markup_in_names_stays_text_in_markdown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stack = [frame("<img src=x>|keep", line=3)]
    steps = {n: snapshot([segment([block(512, frames=stack)] * 2000 * (1 + n))]) for n in range(3)}

    command(write_series(tmp_path, steps), "--markdown")

    out = capsys.readouterr().out
    assert r"&lt;img src=x>\|keep" in out
    assert "<img" not in out


def test_letters_that_the_terminal_lacks_do_not_stop_the_report(tmp_path: Path) -> None:
    stack = [frame("\u5b66\u7fd2", line=3)]
    folder = write_series(tmp_path, {1: snapshot([segment([block(512, frames=stack)])])})
    program = (
        "import argparse; from phaseprof.cli.snapshots import add_parser; parser = argparse.ArgumentParser(); "
        "add_parser(parser.add_subparsers()); args = parser.parse_args(); raise SystemExit(args.run(args))"
    )

    done = subprocess.run(
        [sys.executable, "-c", program, "snapshots", str(folder)],
        capture_output=True, text=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}, check=False,
    )  # fmt: skip

    assert done.returncode == 3
    assert r"\u5b66\u7fd2" in done.stdout


def test_plots_of_such_names_are_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    stack = [frame("keep", "/home/\u5b66/$x_{$.py")]
    steps = {n: snapshot([segment([block(512, frames=stack)] * (1 + n))]) for n in range(3)}

    command(write_series(tmp_path, steps), "--png", tmp_path / "a.png")

    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_the_command_needs_no_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)

    assert command(LEAK) == 1
