"""``phaseprof watch``: one frame, frames as a run grows, processes that end and start again, hostile labels."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rich", reason="the live view is drawn by rich, an extra")

from rich.console import Console

from phaseprof.cli import main
from phaseprof.cli.following import RunFollower
from phaseprof.cli.watch import paint, show_lines, show_live
from phaseprof.cli.watch_choice import Choice, parse_ranks
from phaseprof.cli.watch_frame import Watched, course, state_of
from phaseprof.errors import UsageError
from phaseprof.recording import format as fmt

MIB, SECOND, PAGE = 1 << 20, 10**9, 4096
START = 1.7e9


def head(*, rank: int = 0, pid: int = 100, at: float = START, version: int = 1) -> fmt.Header:
    return fmt.Header(
        format=version, phaseprof="0.1.0", pid=pid, started_unix_s=at, started_ns=0, page_bytes=PAGE, rank=rank,
        world_size=2, host="trainbox", argv=["train.py"],
    )  # fmt: skip


def turns(first: int, last: int, *, phase: str = "evaluate") -> Iterable[fmt.Record]:
    """Generations of one second each; the process grows by 10 MiB in each."""
    for g in range(first, last):
        t, pages = g * SECOND, (600 + 10 * g) * MIB // PAGE
        yield fmt.GenerationBegin(t, g, g)
        yield fmt.Point(t, 1, fmt.ENTER, g, f"{pages} {pages} 0")
        yield fmt.Point(t + 1, 1, fmt.EXIT, g, f"{pages} {pages + 10 * MIB // PAGE} 0")
        yield fmt.Point(t + 2, 0, fmt.EXIT, g, f"{pages} {pages + 10 * MIB // PAGE} 0")
        yield fmt.GenerationEnd(t + SECOND, g, 1.0, 250)


def labels(phase: str = "evaluate") -> tuple[fmt.Record, ...]:
    return fmt.Label(0, "generation", "generation"), fmt.Label(1, phase, "phase")


def append(file: Path, records: Iterable[fmt.Record]) -> None:
    file.parent.mkdir(exist_ok=True)
    with file.open("ab") as stream:
        stream.writelines(fmt.encode(record) + b"\n" for record in records)


def write_run(folder: Path, n: int = 12) -> Path:
    append(folder / "rank0-pid100.jsonl", [head(), *labels(), *turns(0, n)])
    return folder


def frame_of(watched: Watched, *, width: int = 100) -> str:
    stream = StringIO()
    Console(file=stream, width=width, highlight=False).print(paint(watched.frame()))
    return stream.getvalue()


def watch(folder: Path, *, now: float = START + 12, **choice: Any) -> Watched:
    watched = Watched(RunFollower(folder), lambda: now, Choice(**choice))
    watched.look()
    return watched


def test_once_prints_a_frame_and_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["watch", str(write_run(tmp_path / "run")), "--once"])

    out = capsys.readouterr().out
    assert status == 0
    assert "Rank" in out
    assert "720.00 MiB" in out  # 600 MiB, and 10 more in each of twelve turns
    assert "+110.00 MiB" in out
    assert "\x1b" not in out


def test_once_without_a_run_says_what_to_give(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["watch", str(tmp_path / "nowhere"), "--once"])

    assert status == 2
    assert "no such folder" in capsys.readouterr().err


def test_once_with_foreign_files_only_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "other.jsonl").write_text('{"a": 1}\nnot json\n')

    status = main(["watch", str(tmp_path), "--once"])

    assert status == 2
    assert "no recording in it" in capsys.readouterr().err


@pytest.mark.parametrize("interval", ["0", "-1", "nan"])
def test_an_interval_must_be_a_time(tmp_path: Path, capsys: pytest.CaptureFixture[str], interval: str) -> None:
    assert main(["watch", str(tmp_path), f"--interval={interval}"]) == 2
    assert "--interval must be >= 0.1 seconds" in capsys.readouterr().err


def test_only_what_was_added_is_read_again(tmp_path: Path) -> None:
    follower = RunFollower(write_run(tmp_path / "run", 3))

    first, nothing = follower.poll(), follower.poll()
    append(tmp_path / "run" / "rank0-pid100.jsonl", turns(3, 4))

    assert (first, nothing, follower.poll()) == (18, 0, 5)
    assert len(follower.run().processes[0].generations) == 4


def test_a_line_that_is_half_written_is_read_when_it_is_whole(tmp_path: Path) -> None:
    file = write_run(tmp_path / "run", 1) / "rank0-pid100.jsonl"
    line = fmt.encode(fmt.GenerationBegin(SECOND, 1, 1)) + b"\n"
    follower = RunFollower(tmp_path / "run")
    follower.poll()

    with file.open("ab") as stream:
        stream.write(line[:10])
    half = follower.poll()
    with file.open("ab") as stream:
        stream.write(line[10:])

    assert (half, follower.poll(), follower.n_wrong) == (0, 1, 0)


def test_a_wrong_line_is_skipped_and_counted(tmp_path: Path) -> None:
    file = write_run(tmp_path / "run", 2) / "rank0-pid100.jsonl"
    with file.open("ab") as stream:
        stream.write(b"{broken\n")
    append(file, turns(2, 3))

    watched = watch(tmp_path / "run")

    assert "1 line could not be read" in frame_of(watched)
    assert "630.00 MiB" in frame_of(watched)


def test_a_file_put_in_place_of_another_is_read_from_its_start(tmp_path: Path) -> None:
    file = write_run(tmp_path / "run", 3) / "rank0-pid100.jsonl"
    follower = RunFollower(tmp_path / "run")
    follower.poll()

    append(tmp_path / "run" / "new", [head(pid=200, at=START + 60), *labels(), *turns(0, 1)])
    (tmp_path / "run" / "new").replace(file)
    follower.poll()

    assert [p.header.pid for p in follower.run().processes if p.header] == [100, 200]


def test_parts_of_a_rotated_recording_are_one_process(tmp_path: Path) -> None:
    for part, (first, last) in (("", (0, 2)), (".1", (2, 4)), (".10", (4, 6))):
        append(tmp_path / f"rank0-pid100{part}.jsonl", [head(), *labels(), *turns(first, last)])
    follower = RunFollower(tmp_path)

    follower.poll()

    assert [len(p.generations) for p in follower.run().processes] == [6]


def test_a_file_of_a_newer_format_is_left_alone(tmp_path: Path) -> None:
    write_run(tmp_path, 2)
    append(tmp_path / "rank1-pid101.jsonl", [head(rank=1, pid=101, version=99)])

    assert len(RunFollower(tmp_path).run().processes) == 0
    assert "1 of 1 running" in frame_of(watch(tmp_path))


def test_a_run_that_has_not_begun_is_waited_for(tmp_path: Path) -> None:
    watched = watch(tmp_path / "run")

    before = frame_of(watched)
    write_run(tmp_path / "run")

    assert "Waiting for a run" in before
    assert watched.look()
    assert "1 of 1 running" in frame_of(watched)


def test_a_folder_that_is_gone_leaves_what_was_read(tmp_path: Path) -> None:
    file = write_run(tmp_path / "run") / "rank0-pid100.jsonl"
    watched = watch(tmp_path / "run")
    file.unlink()
    file.parent.rmdir()

    assert not watched.look()
    assert "720.00 MiB" in frame_of(watched)


def test_every_rank_has_a_row(tmp_path: Path) -> None:
    for rank in range(3):
        append(tmp_path / f"rank{rank}-pid10{rank}.jsonl", [head(rank=rank, pid=100 + rank), *labels(), *turns(0, 3)])

    out = frame_of(watch(tmp_path, now=START + 3))

    assert "3 of 3 running" in out
    assert all(f"10{rank}" in out for rank in range(3))


def test_a_restarted_run_shows_the_new_process_before_the_old(tmp_path: Path) -> None:
    append(tmp_path / "rank0-pid100.jsonl", [head(), *labels(), *turns(0, 3)])
    watched = watch(tmp_path, now=START + 62)
    append(tmp_path / "rank0-pid200.jsonl", [head(pid=200, at=START + 60), *labels(), *turns(0, 2)])
    watched.look()

    out = frame_of(watched)

    assert "1 of 2 running" in out
    assert out.index("200") < out.index("replaced")


def states(*runs: list[fmt.Record], now: float) -> list[str]:
    from phaseprof.recording.model import ProcessRun

    processes = [ProcessRun() for _ in runs]
    for process, records in zip(processes, runs, strict=True):
        for record in records:
            process.add(record)
        process.fold()
    return [state_of(process, processes, now)[0] for process in processes]


def test_a_process_that_closed_its_recording_ended() -> None:
    assert states([head(), *labels(), *turns(0, 3), fmt.End(3 * SECOND, "closed")], now=START + 9) == ["ended"]


def test_a_process_is_silent_after_half_a_minute_without_a_record() -> None:
    recorded = [head(), *labels(), *turns(0, 3)]

    assert states(recorded, now=START + 31) == ["running"]
    assert states(recorded, now=START + 33) == ["silent 31 s"]


def test_slow_generations_are_given_three_of_their_own_length() -> None:
    recorded = [head(), *labels(), fmt.GenerationBegin(0, 0, 0), fmt.GenerationEnd(0, 0, 100.0)]

    assert states(recorded, now=START + 299) == ["running"]
    assert states(recorded, now=START + 301) == ["silent 5 min 1 s"]


def test_another_program_beside_it_replaces_nothing() -> None:
    first, second = [head(), *labels(), *turns(0, 9)], [head(pid=200, at=START + 2), *labels(), *turns(0, 7)]

    assert states(first, second, now=START + 10) == ["running", "running"]


def test_a_leak_is_told_with_its_rank(tmp_path: Path) -> None:
    for rank, grows in ((0, 0), (1, 16)):
        counted = [fmt.Metrics(g * SECOND + 3, g, {"watched/Env": 2 + grows * g}) for g in range(20)]
        records = [head(rank=rank, pid=100 + rank), fmt.Watch("Env", 2, 2), *labels(), *turns(0, 20), *counted]
        append(tmp_path / f"rank{rank}-pid{100 + rank}.jsonl", records)

    out = " ".join(frame_of(watch(tmp_path, now=START + 20)).split())

    assert "rank 1: Env" in out
    assert "rank 0: Env" not in out


def test_the_phase_that_adds_memory_is_named(tmp_path: Path) -> None:
    assert "by phase: evaluate +10.00 MiB" in frame_of(watch(write_run(tmp_path)))


def test_labels_cannot_command_the_terminal(tmp_path: Path) -> None:
    name = "[bold red]x[/]\x1b[2J\u202e"
    append(tmp_path / "rank0-pid100.jsonl", [head(), *labels(name), *turns(0, 4)])

    out = frame_of(watch(tmp_path, now=START + 4))

    assert "[bold red]x[/]" in out
    assert "\x1b" not in out
    assert "\u202e" not in out


@pytest.mark.parametrize("width", [80, 100, 160])
def test_figures_are_never_cut(tmp_path: Path, width: int) -> None:
    out = frame_of(watch(write_run(tmp_path)), width=width)

    for figure in ("720.00 MiB", "+110.00 MiB", "250.0", "running"):
        assert figure in out
    assert max(map(len, out.splitlines())) <= width


def test_a_course_keeps_its_spike() -> None:
    assert "█" in course([1.0] * 500 + [9.0] + [1.0] * 500)


def stop_after(n: int, between: Callable[[int], None] = lambda _: None) -> Callable[[], None]:
    """Return a wait that does something instead of waiting, and interrupts the view the n-th time."""
    passed = iter(range(n))

    def wait() -> None:
        step = next(passed, None)
        if step is None:
            raise KeyboardInterrupt
        between(step)

    return wait


def lines_of(watched: Watched, wait: Callable[[], None]) -> list[str]:
    said: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        show_lines(watched, said.append, wait)
    return said


def test_without_a_terminal_each_generation_that_ends_is_a_line(tmp_path: Path) -> None:
    file = write_run(tmp_path, 3) / "rank0-pid100.jsonl"

    def grow(step: int) -> None:
        if step == 1:
            append(file, turns(3, 5))

    said = lines_of(Watched(RunFollower(tmp_path), lambda: START + 5), stop_after(4, grow))

    assert said == [
        "rank 0, pid 100, generation 2: 630.00 MiB (+10.00 MiB), 1 s, 250.0 items/s",  # the newest that was there
        "rank 0, pid 100, generation 3: 640.00 MiB (+10.00 MiB), 1 s, 250.0 items/s",
        "rank 0, pid 100, generation 4: 650.00 MiB (+10.00 MiB), 1 s, 250.0 items/s",
    ]


def test_what_is_found_and_what_becomes_of_a_process_is_said_once(tmp_path: Path) -> None:
    counted = [fmt.Metrics(g * SECOND + 3, g, {"watched/Env": 2 + 16 * g}) for g in range(20)]
    file = tmp_path / "rank0-pid100.jsonl"
    append(file, [head(), fmt.Watch("Env", 2, 2), *labels(), *turns(0, 20), *counted])

    def end(step: int) -> None:
        if step == 1:
            append(file, [fmt.End(20 * SECOND, "closed")])

    said = lines_of(Watched(RunFollower(tmp_path), lambda: START + 20), stop_after(4, end))

    assert said[0].startswith("rank 0, pid 100, generation 19: 800.00 MiB")
    assert sum("Env" in line for line in said) == 1
    assert said[-1] == "rank 0, pid 100: ended"


def test_past_generations_are_said_if_asked_for(tmp_path: Path) -> None:
    watched = Watched(RunFollower(write_run(tmp_path)), lambda: START + 12, Choice(history=3))

    said = lines_of(watched, stop_after(1))

    assert [line.split(":")[0].split()[-1] for line in said if "generation" in line.split(":")[0]] == ["9", "10", "11"]


def write_ranks(folder: Path) -> Path:
    """Four ranks, of which each has recorded more than the one before, so that it is larger and has grown more."""
    for rank in range(4):
        records = [head(rank=rank, pid=100 + rank), *labels(), *turns(0, 3 + 2 * rank)]
        append(folder / f"rank{rank}-pid{100 + rank}.jsonl", records)
    return folder


def pids_of(watched: Watched) -> list[str]:
    return [row[1][0] for row in watched.frame().rows]


@pytest.mark.parametrize(
    ("choice", "pids"),
    [({}, ["100", "101", "102", "103"]), ({"sort": "memory"}, ["103", "102", "101", "100"]),
     ({"sort": "growth"}, ["103", "102", "101", "100"]), ({"sort": "rate"}, ["100", "101", "102", "103"]),
     ({"ranks": ((1, 1), (3, 9))}, ["101", "103"]), ({"ranks": ((9, 9),)}, [])],
)  # fmt: skip
def test_processes_are_sorted_and_chosen(tmp_path: Path, choice: dict[str, Any], pids: list[str]) -> None:
    assert pids_of(watch(write_ranks(tmp_path), now=START + 3, **choice)) == pids


def test_a_rank_that_has_not_come_is_waited_for_by_that_name(tmp_path: Path) -> None:
    assert "Waiting for one of these ranks in " in frame_of(watch(write_ranks(tmp_path), ranks=((9, 9),)))


def test_a_phase_has_its_own_memory_and_findings(tmp_path: Path) -> None:
    out = frame_of(watch(write_run(tmp_path), phase="evaluate", history=2), width=200 + len(str(tmp_path)))

    assert "in evaluate" in out.splitlines()[0]
    assert "720.00 MiB" in out
    assert "by phase: evaluate +10.00 MiB" in out
    assert " 10  " in out  # a row of the history
    assert "No phase is called collect; the phases are: evaluate" in frame_of(watch(tmp_path, phase="collect"))


def test_the_history_lists_the_newest_generations(tmp_path: Path) -> None:
    rows = watch(write_run(tmp_path), history=2).frame().history

    assert [[text for text, _ in row] for row in rows] == [
        ["10", "1 s", "250.0", "710.00 MiB", "+10.00 MiB"],
        ["11", "1 s", "250.0", "720.00 MiB", "+10.00 MiB"],
    ]


def test_ranks_are_numbers_and_ranges() -> None:
    assert parse_ranks("0, 4-7") == ((0, 0), (4, 7))
    assert parse_ranks("") == ()


@pytest.mark.parametrize("text", ["x", "1,", "3-1", "-1"])
def test_other_ranks_are_wrong_use(text: str) -> None:
    with pytest.raises(UsageError, match="--rank must be ranks such as"):
        parse_ranks(text)


def test_on_a_terminal_the_frame_is_painted_in_place_and_the_cursor_comes_back(tmp_path: Path) -> None:
    write_run(tmp_path, 2)
    stream = StringIO()
    console = Console(file=stream, width=100, force_terminal=True)

    with pytest.raises(KeyboardInterrupt):
        show_live(Watched(RunFollower(tmp_path), lambda: START + 2), console, stop_after(2))

    out = stream.getvalue()
    assert "1 of 1 running" in out
    assert out.rindex("\x1b[?25h") > out.rindex("\x1b[?25l")


def test_an_interrupt_ends_the_view_with_status_zero(tmp_path: Path) -> None:
    write_run(tmp_path, 2)
    # A shell that starts tests in the background has them ignore the signal, and their children too.
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from phaseprof.cli import main; raise SystemExit(main())"
    )
    command = [sys.executable, "-c", program, "watch", str(tmp_path), "--interval", "0.1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)

    assert "generation 1: 620.00 MiB" in first
    assert (process.returncode, errors) == (0, "")


def test_following_a_long_run_costs_what_is_new(tmp_path: Path) -> None:
    file = write_run(tmp_path, 4000) / "rank0-pid100.jsonl"
    follower = RunFollower(tmp_path)
    begin = time.process_time()
    follower.poll()
    whole = time.process_time() - begin

    append(file, turns(4000, 4001))
    begin = time.process_time()
    n = follower.poll()

    assert n == 5
    assert time.process_time() - begin < whole / 5
