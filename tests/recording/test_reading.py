"""Reading recordings: whole, cut, wrong, foreign, newer and huge."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from phaseprof import load
from phaseprof.errors import RecordingError
from phaseprof.recording import format as fmt

HEADER = fmt.Header(format=fmt.FORMAT_VERSION, phaseprof="1", pid=7, started_unix_s=1.0, started_ns=5, page_bytes=4096)


def line(record: fmt.Record) -> bytes:
    return fmt.encode(record) + b"\n"


LABEL = line(fmt.Label(0, "mark", "checkpoint"))


def point(generation: int, pages: int = 10) -> bytes:
    return line(fmt.Point(generation, 0, fmt.POINT, generation, f"{pages} {pages} 0 1 0 1 0"))


def write(folder: Path, *lines: bytes, name: str = "rank0-pid7.jsonl") -> Path:
    (folder / name).write_bytes(b"".join(lines))
    return folder


def generations(folder: Path) -> list[int]:
    return load(folder).main.series["mark", "rss_bytes"].generations


def test_a_folder_or_one_of_its_files(tmp_path: Path) -> None:
    write(tmp_path, line(HEADER), LABEL, point(0), point(1))

    assert generations(tmp_path) == generations(tmp_path / "rank0-pid7.jsonl") == [0, 1]


@pytest.mark.parametrize(
    "record",
    [
        fmt.GenerationBegin(1, 0, "a"), fmt.GenerationEnd(1, 0, 0.5, 3.0), fmt.Metrics(1, 0, {"a_bytes": 2.0}),
        fmt.Watch("Env", 1, 2), fmt.Violation(1, 0, "Env", 3, 1, 2, "train", 0), fmt.Births(1, 0, "Env", {"a": [1, 2]}),
        fmt.Holder(1, 0, "Env", ["a", "b"], "module"),
        fmt.Large(1, 0, 10, [("list", 20, "x", "y")]), fmt.SnapshotTaken(1, 0, "here", {"a": 1.0}, {"list": 3}),
        fmt.Cost(1, 0, 2.0, {"a": 0.1}, {"b": 1}), fmt.Note(1, "text"), fmt.Thread(1, 2), fmt.End(1, "done"),
        fmt.Point(1, 2, 1, 0, "1 2 3", {"cuda:0": [1, 2]}, 4.0, 5), fmt.Label(1, "a", "phase", 0), HEADER,
    ],
    ids=lambda record: type(record).__name__,
)  # fmt: skip
def test_every_kind_comes_back_as_it_was(record: fmt.Record) -> None:
    assert fmt.decode(fmt.encode(record)) == record
    assert fmt.decode_lines(line(record) * 2) == [record, record]


def test_a_cut_last_line_is_skipped_with_a_note(tmp_path: Path) -> None:
    write(tmp_path, line(HEADER), LABEL, point(0), point(1)[:-9])

    process = load(tmp_path).main
    assert process.series["mark", "rss_bytes"].generations == [0]
    assert len(process.notes) == 1
    assert process.notes[0].startswith("rank0-pid7.jsonl line 4 is skipped: ")


@pytest.mark.parametrize(
    "wrong", [b"{}\n", b"\xff\x00\n", b"[1]\n", b'{"k":"p","t":"x"}\n', b'{"k":"m","v":null}\n', b"\n\n\n?\n"]
)
def test_a_wrong_line_in_the_middle_is_named_and_the_rest_is_read(tmp_path: Path, wrong: bytes) -> None:
    write(tmp_path, line(HEADER), LABEL, point(0), wrong, point(1), point(2))

    process = load(tmp_path).main
    number = 3 + wrong.count(b"\n")
    assert process.series["mark", "rss_bytes"].generations == [0, 1, 2]
    assert [note.partition(":")[0] for note in process.notes] == [f"rank0-pid7.jsonl line {number} is skipped"]


def test_a_wrong_line_far_down_has_its_number(tmp_path: Path) -> None:
    many = [point(generation) for generation in range(30_000)]

    write(tmp_path, line(HEADER), LABEL, *many, b"wrong\n", *many[:5])

    process = load(tmp_path).main
    assert process.notes[0].startswith("rank0-pid7.jsonl line 30003 is skipped")
    assert process.n_records == 2 + len(many) + 5


def test_many_wrong_lines_are_counted(tmp_path: Path) -> None:
    write(tmp_path, line(HEADER), b"wrong\n" * 50, LABEL, point(0))

    process = load(tmp_path).main
    assert len(process.notes) == 21
    assert process.notes[-1] == "rank0-pid7.jsonl: 30 more lines are skipped"


def test_kinds_and_fields_of_a_later_release_are_ignored(tmp_path: Path) -> None:
    later = b'{"k":"future","x":[1]}\n' + point(0)[:-2] + b',"new":{"a":1}}\n'

    write(tmp_path, line(HEADER), LABEL, later)

    process = load(tmp_path).main
    assert process.series["mark", "rss_bytes"].generations == [0]
    assert process.notes == []


@pytest.mark.parametrize("change", [{}, {"pid": "not a number any more"}])
def test_a_newer_format_says_so(tmp_path: Path, change: dict[str, object]) -> None:
    fields = {**msgspec.json.decode(fmt.encode(HEADER)), "format": fmt.FORMAT_VERSION + 1, **change}
    write(tmp_path, msgspec.json.encode(fields) + b"\n")

    with pytest.raises(RecordingError, match=r"rank0-pid7\.jsonl: format version 2, .* reads up to 1; upgrade"):
        load(tmp_path)


@pytest.mark.parametrize(
    "text", [b"\x7fELF\x00\x01", b"PK\x03\x04", b'{"a": 1}\n', b"step,value\n1,2\n", point(0), b"\n"]
)
def test_a_file_of_another_kind_is_named(tmp_path: Path, text: bytes) -> None:
    write(tmp_path, text)

    with pytest.raises(RecordingError, match=r"cannot read .*rank0-pid7\.jsonl: line 1 is not a"):
        load(tmp_path)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="no such folder"):
        load(tmp_path / "nowhere")


def test_a_folder_without_a_recording(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"it has no \*\.jsonl file"):
        load(tmp_path)


def test_an_empty_file_alone_is_an_error_and_beside_another_is_not(tmp_path: Path) -> None:
    write(tmp_path, name="rank0-pid8.jsonl")
    with pytest.raises(RecordingError, match="1 empty file"):
        load(tmp_path)

    write(tmp_path, line(HEADER), LABEL, point(0))

    assert len(load(tmp_path).processes) == 1


def test_a_header_alone_is_a_run_in_which_nothing_happened(tmp_path: Path) -> None:
    write(tmp_path, line(HEADER))

    assert load(tmp_path).main.series == {}


def test_parts_are_read_in_the_order_they_were_written(tmp_path: Path) -> None:
    for part in range(12):
        name = f"rank0-pid7.{part}.jsonl" if part else "rank0-pid7.jsonl"
        write(tmp_path, line(HEADER), LABEL, point(part), name=name)

    run = load(tmp_path)
    assert len(run.processes) == 1
    assert run.main.series["mark", "rss_bytes"].generations == list(range(12))


def test_processes_are_ordered_by_rank(tmp_path: Path) -> None:
    for rank, pid in ((1, 5), (0, 9), (0, 7)):
        header = msgspec.structs.replace(HEADER, rank=rank, pid=pid)
        write(tmp_path, line(header), LABEL, point(0), name=f"rank{rank}-pid{pid}.jsonl")

    headers = [process.header for process in load(tmp_path).processes]
    assert [(header.rank, header.pid) for header in headers if header] == [(0, 7), (0, 9), (1, 5)]


def sparse(path: Path, size: int) -> None:
    """A file of zeros that takes no room on the disk."""
    os.truncate(path, size)


def test_a_gigabyte_of_something_else_is_refused_at_once(tmp_path: Path) -> None:
    write(tmp_path)
    sparse(tmp_path / "rank0-pid7.jsonl", 1 << 30)

    with pytest.raises(RecordingError, match="line 1 is not a recording's header"):
        load(tmp_path)


def test_a_gigabyte_of_zeros_after_good_lines_costs_only_those(tmp_path: Path) -> None:
    write(tmp_path, line(HEADER), LABEL, point(0))
    sparse(tmp_path / "rank0-pid7.jsonl", 1 << 30)

    process = load(tmp_path).main
    assert process.series["mark", "rss_bytes"].generations == [0]
    assert process.notes == ["rank0-pid7.jsonl line 4 is over 64 MiB: the rest of the file is skipped"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    write(tmp_path, line(HEADER))
    (tmp_path / "rank0-pid7.jsonl").chmod(0)

    with pytest.raises(RecordingError, match="check its permissions"):
        load(tmp_path)
