"""The writer: one write a record, rotation, and what cannot be written is counted, not raised."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
import threading
from collections import deque
from pathlib import Path

import pytest

from phaseprof.errors import UsageError
from phaseprof.native.extension import make_open_file
from phaseprof.recording.parts import AnyFile, Waiting
from phaseprof.recording.writer import RecordWriter

HEAD = b"head\n"


def make_file(waiting: Waiting) -> AnyFile | None:
    return make_open_file(waiting, [], -1)


@pytest.fixture(autouse=True, params=["0", "1"], ids=["in Python", "in C"])
def _both_kinds_of_file(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHASEPROF_NATIVE", request.param)
    if request.param == "1" and make_file(deque()) is None:
        pytest.skip("the extension was not built")


def open_writer(folder: Path, **options: object) -> RecordWriter:
    return RecordWriter(folder, "name", lambda: HEAD, make_file=make_file, **options)  # type: ignore[arg-type]


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def test_lines_are_there_as_soon_as_they_are_written(tmp_path: Path) -> None:
    writer = open_writer(tmp_path / "run")

    writer.write(b"one\n")

    assert contents(tmp_path / "run") == {"name.jsonl": b"head\none\n"}
    writer.close()


def test_an_earlier_file_is_kept(tmp_path: Path) -> None:
    for text in (b"one\n", b"two\n"):
        writer = open_writer(tmp_path)
        writer.write(text)
        writer.close()

    assert contents(tmp_path) == {"name.1.jsonl": b"head\ntwo\n", "name.jsonl": b"head\none\n"}


def test_a_file_that_grows_beyond_the_bound_is_followed_by_another(tmp_path: Path) -> None:
    writer = open_writer(tmp_path, max_file_bytes=10)

    for number in range(6):
        writer.write(b"line%d\n" % number)
    writer.close()

    found = contents(tmp_path)
    assert list(found) == ["name.1.jsonl", "name.2.jsonl", "name.3.jsonl", "name.jsonl"]
    assert found["name.1.jsonl"] == b"head\nline2\nline3\n"


def test_a_head_longer_than_the_bound_does_not_begin_a_file_a_line(tmp_path: Path) -> None:
    writer = RecordWriter(tmp_path, "name", lambda: b"h" * 500 + b"\n", max_file_bytes=100)

    for _ in range(10):
        writer.write(b"123456789\n")
    writer.close()

    assert len(contents(tmp_path)) == 1


@pytest.mark.parametrize("most", [None, 2_000])
def test_threads_write_and_rotate_without_losing_a_line(tmp_path: Path, most: int | None) -> None:
    writer = open_writer(tmp_path, max_file_bytes=most)
    lines = [[b"thread %d line %d\n" % (number, i) for i in range(300)] for number in range(4)]

    threads = [threading.Thread(target=lambda own=own: [writer.write(text) for text in own]) for own in lines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()

    written = b"".join(contents(tmp_path).values()).splitlines(keepends=True)
    assert sorted(text for text in written if text != HEAD) == sorted(text for own in lines for text in own)
    assert writer.lost == 0


def test_lazy_opens_at_the_first_line(tmp_path: Path) -> None:
    writer = open_writer(tmp_path / "run", lazy=True)
    assert not (tmp_path / "run").exists()

    writer.write(b"one\n")
    writer.close()

    assert contents(tmp_path / "run") == {"name.jsonl": b"head\none\n"}


class Told:
    """Hears what the writer tells; a note is a line that begins with a dash."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.notes: list[str] = []

    def encode_note(self, text: str) -> bytes:
        return f"- {text}\n".encode()

    def warn_of_file(self, text: str) -> None:
        self.warnings.append(text)

    def take_note(self, text: str) -> None:
        self.notes.append(text)


def test_a_removed_folder_is_noticed_and_made_again(tmp_path: Path) -> None:
    told = Told()
    writer = open_writer(tmp_path / "run", listener=told)
    writer.write(b"one\n")
    shutil.rmtree(tmp_path / "run")

    writer.check()
    writer.write(b"two\n")
    writer.close()

    text = "1 record could not be written and is missing (the file was removed)"
    assert contents(tmp_path / "run") == {"name.jsonl": f"head\n- {text}\ntwo\n".encode()}
    assert told.notes == [text]
    assert len(told.warnings) == 1


def test_a_descriptor_that_was_closed_is_noticed_at_the_next_line(tmp_path: Path) -> None:
    told = Told()
    writer = open_writer(tmp_path, listener=told)
    writer.write(b"one\n")
    os.close(writer.file.fd)

    writer.write(b"two\n")  # lost, unless the writer looked after its file just then
    writer.write(b"three\n")
    writer.close()

    note = b"- 1 record could not be written and is missing (Bad file descriptor)\n"
    found = contents(tmp_path)
    assert found["name.jsonl"] == b"head\none\n"
    assert found["name.1.jsonl"] in (b"head\n" + note + b"three\n", b"head\ntwo\nthree\n")


def test_a_number_that_became_another_file_is_neither_written_nor_closed(tmp_path: Path) -> None:
    writer = open_writer(tmp_path)
    other = os.open(tmp_path / "other", os.O_WRONLY | os.O_CREAT)
    number = writer.file.fd
    os.dup2(other, number)

    writer.check()
    writer.close()

    os.write(number, b"still open")
    os.close(number)
    os.close(other)
    assert contents(tmp_path)["other"] == b"still open"


def test_closing_gives_the_descriptor_back(tmp_path: Path) -> None:
    writer = open_writer(tmp_path)
    number = writer.file.fd

    writer.close()
    writer.close()

    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


def test_a_writer_that_is_dropped_closes_its_file(tmp_path: Path) -> None:
    writer = open_writer(tmp_path)
    number = writer.file.fd

    del writer

    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


def test_a_folder_that_cannot_be_made_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(UsageError, match="run must name a folder that can be written"):
        open_writer(tmp_path / "file" / "run")


def run(script: str, *args: object) -> str:
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def test_a_full_disk_cuts_a_line_and_the_next_begins_on_its_own(tmp_path: Path) -> None:
    """A bound on the size of files stands for the disk: like a full one, it takes the beginning of a line."""
    told = run(
        """
        import resource, sys
        from pathlib import Path
        from phaseprof.native.extension import make_open_file
        from phaseprof.recording.writer import RecordWriter
        make_file = lambda waiting: make_open_file(waiting, [], -1)
        writer = RecordWriter(Path(sys.argv[1]), "name", lambda: b"head\\n", make_file=make_file)
        writer.write(b"1\\n")
        resource.setrlimit(resource.RLIMIT_FSIZE, (22, resource.RLIM_INFINITY))
        for _ in range(4):
            writer.write(b"0123456789\\n")
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        writer.write(b"room again\\n")
        writer.write(b"and more\\n")
        print(writer.describe_losses())
        """,
        tmp_path,
    )

    assert contents(tmp_path) == {"name.jsonl": b"head\n1\n0123456789\n0123\nroom again\nand more\n"}
    assert told.startswith("3 records could not be written and are missing (")
