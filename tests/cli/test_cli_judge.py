"""``report`` and ``check`` on recordings with scripted numbers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from phaseprof import Profiler
from phaseprof.cli import main
from phaseprof.recording import format as fmt

SECOND_NS = 1_000_000_000


def record(
    folder: Path, turns: int, count: Callable[[int], int], *, expected: int | None = None, rank: int = 0,
    threads_every: int = 0,
) -> str:  # fmt: skip
    """Write a recording in which ``count`` gives the number of Env objects at the end of each generation.

    There is one more thread in each, where ``threads_every`` says in how many generations they are read once.
    """
    low, high = (-1, -1) if expected is None else (expected, expected)
    records: list[fmt.Record] = [
        fmt.Header(1, "0.1.0", pid=100 + rank, started_unix_s=0.0, started_ns=0, page_bytes=4096, rank=rank),
        fmt.Label(0, "evaluate", "phase"),
        fmt.Watch("Env", low, high),
    ]
    since = -1
    for turn in range(turns):
        now, n = turn * SECOND_NS, count(turn)
        figures = {"watched/Env": n, "count/program.Env": n, "n_objects": 50_000 + n, "available_bytes": 8e9}
        if threads_every and turn % threads_every == 0:
            figures["threads"] = turn
        records += [
            fmt.GenerationBegin(now, turn, turn),
            fmt.Point(now + 1, 0, fmt.ENTER, turn, f"90000 {20_000 + 300 * n} 5000"),
            fmt.Point(now + 2, 0, fmt.EXIT, turn, f"90000 {20_300 + 300 * n} 5000"),
            fmt.GenerationEnd(now + 3, turn, 1.0),
            fmt.Metrics(now + 4, turn, figures),
            fmt.Births(now + 5, turn, "watched/Env", {"evaluate": [n, 32_800.0 * n]}),
        ]
        if expected is not None and n != expected:
            since = turn if since < 0 else since
            records.append(fmt.Violation(now + 6, turn, "Env", n, low, high, "evaluate", since))
    folder.mkdir(exist_ok=True)
    lines = b"".join(fmt.encode(one) + b"\n" for one in [*records, fmt.End(turns * SECOND_NS, "closed")])
    (folder / f"rank{rank}-pid{100 + rank}.jsonl").write_bytes(lines)
    return str(folder)


@pytest.fixture
def leaking(tmp_path: Path) -> str:
    return record(tmp_path / "leaking", 12, lambda turn: turn + 1)


@pytest.fixture
def clean(tmp_path: Path) -> str:
    return record(tmp_path / "clean", 12, lambda turn: 2)


def test_check_fails_a_leak_and_names_it(leaking: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", leaking]) == 1

    out = capsys.readouterr().out
    assert "leak: Env" in out
    assert "FAILED" in out


def test_check_says_that_a_folder_holds_several_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        profiler = Profiler(str(tmp_path / "run"))
        for number in range(8):
            with profiler.generation(number):
                pass
        profiler.close()
        time.sleep(0.02)

    assert main(["check", str(tmp_path / "run")]) == 0
    assert capsys.readouterr().out.startswith("These are 2 runs, or parts of one, since they ran one")
    main(["report", str(tmp_path / "run")])
    assert "These are 2 runs, or parts of one" in capsys.readouterr().out


def test_check_passes_a_clean_run(clean: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", clean]) == 0
    assert capsys.readouterr().out == "OK: no leak in 12 readings\n"


def test_check_cannot_say_of_a_short_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = record(tmp_path / "short", 5, lambda turn: 2)

    assert main(["check", run]) == 3
    out = capsys.readouterr().out
    assert "TOO SHORT: 5 readings" in out and out.endswith("6 or more; let it run for longer\n")


def test_six_readings_are_enough(tmp_path: Path) -> None:
    assert main(["check", record(tmp_path / "six", 6, lambda turn: 2)]) == 0


def test_check_fails_an_expectation_that_is_broken_at_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = record(tmp_path / "broken", 3, lambda turn: int(turn >= 1), expected=0)

    assert main(["check", run]) == 1
    told = "Env: expected exactly 0, found 1 (made in evaluate); first seen broken in generation 1, "
    assert told in capsys.readouterr().out


def test_check_forgives_an_expectation_that_holds_again(tmp_path: Path) -> None:
    assert main(["check", record(tmp_path / "mended", 8, lambda turn: int(turn == 1), expected=0)]) == 0


def test_one_leaking_process_of_several_fails_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(tmp_path / "ranks", 12, lambda turn: 2, rank=0)
    run = record(tmp_path / "ranks", 12, lambda turn: turn, rank=1)

    assert main(["check", run]) == 1
    assert "rank 1, pid 101: leak: Env" in capsys.readouterr().out


def test_one_process_that_may_leak_is_not_made_good_by_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record(tmp_path / "ranks", 12, lambda turn: 2, rank=0)
    run = record(tmp_path / "ranks", 12, lambda turn: 2, rank=1, threads_every=4)

    assert main(["check", run]) == 3
    assert "NOT JUDGED" in capsys.readouterr().out


def test_markdown_is_about_the_process_that_leaks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(tmp_path / "ranks", 12, lambda turn: 2, rank=0)
    run = record(tmp_path / "ranks", 12, lambda turn: turn, rank=1)

    assert main(["report", "--markdown", run]) == 0
    assert "LEAK FOUND" in capsys.readouterr().out


def test_check_json(leaking: str, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["check", "--json", leaking])

    tree = json.loads(capsys.readouterr().out)
    assert (tree["format"], tree["verdict"], tree["exit_code"]) == (1, "leak", status)
    assert tree["findings"][0]["subject"] == "Env"
    assert tree["findings"][0]["phase"] == "evaluate"


def test_report_text(leaking: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--full", leaking]) == 0

    out = capsys.readouterr().out
    assert "LEAK (objects) in evaluate: Env" in out
    assert "MEMORY TREND ACROSS GENERATIONS" in out


def test_report_is_one_screen_unless_all_is_asked_for(leaking: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", leaking]) == 0

    out = capsys.readouterr().out
    assert "LEAK (objects) in evaluate: Env" in out
    assert "PHASES AND CHECKPOINTS" in out
    assert "MEMORY TREND" not in out
    assert "--full" in out


def test_report_json_is_versioned(leaking: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--json", leaking]) == 0

    tree = json.loads(capsys.readouterr().out)
    assert tree["format"] == 1
    assert tree["findings"][0]["verdict"] == "leak"


def test_report_markdown(leaking: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--markdown", leaking]) == 0

    out = capsys.readouterr().out
    assert out.startswith("**LEAK FOUND:**")
    assert "- Phase: `evaluate`" in out


def test_json_and_markdown_exclude_each_other(clean: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--json", "--markdown", clean]) == 2
    assert "not allowed with" in capsys.readouterr().err


def test_a_run_can_be_given_by_its_file(leaking: str) -> None:
    (file,) = Path(leaking).glob("*.jsonl")

    assert main(["check", str(file)]) == 1


def test_report_as_a_page(leaking: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--html", str(tmp_path / "page.html"), leaking]) == 0
    assert "Env" in (tmp_path / "page.html").read_text()
    assert capsys.readouterr().out == f"wrote {tmp_path / 'page.html'}\n"


def test_report_as_a_picture(leaking: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")

    assert main(["report", "--png", str(tmp_path / "plots.png"), leaking]) == 0
    assert (tmp_path / "plots.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("option", "needs"), [("--html", "html"), ("--png", "matplotlib")])
def test_a_file_that_cannot_be_written_is_wrong_use(
    leaking: str, tmp_path: Path, option: str, needs: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip(needs)

    assert main(["report", option, str(tmp_path / "nowhere" / "file.png"), leaking]) == 2
    assert "cannot write" in capsys.readouterr().err
