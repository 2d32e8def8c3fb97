"""The picture: one PNG of a process, without touching matplotlib's global state."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest
from page_records import build, header, hostile_finding, hostile_records, leak_finding, leaky_records, many_readings

from phaseprof.errors import UsageError
from phaseprof.recording.reader import Run
from phaseprof.report.plots import save_png, write_png

matplotlib = pytest.importorskip("matplotlib", reason="pictures are drawn by matplotlib, an extra")

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def test_the_picture_is_a_png_of_readable_size(tmp_path: Path) -> None:
    save_png(build(leaky_records()), [leak_finding()], tmp_path / "run.png")

    head = (tmp_path / "run.png").read_bytes()[:24]
    width, height = struct.unpack(">II", head[16:24])
    assert head.startswith(SIGNATURE)
    assert min(width, height) >= 1000


def test_a_leak_changes_the_picture(tmp_path: Path) -> None:
    save_png(build(leaky_records()), [leak_finding()], tmp_path / "leak.png")
    save_png(build(leaky_records()), [], tmp_path / "clean.png")

    assert (tmp_path / "leak.png").read_bytes() != (tmp_path / "clean.png").read_bytes()


def test_equal_recordings_give_equal_files(tmp_path: Path) -> None:
    for name in ("one.png", "two.png"):
        save_png(build(leaky_records()), [leak_finding()], tmp_path / name)

    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()


def test_global_state_stays_as_it_is(tmp_path: Path) -> None:
    settings, was_loaded = matplotlib.rcParams.copy(), "matplotlib.pyplot" in sys.modules

    save_png(build(leaky_records()), [], tmp_path / "run.png")

    assert matplotlib.rcParams.copy() == settings
    assert ("matplotlib.pyplot" in sys.modules) == was_loaded


@pytest.mark.parametrize(
    "records", [list(hostile_records()), [header()], list(many_readings(2000))], ids=["hostile", "empty", "long"]
)
def test_any_recording_is_drawn(tmp_path: Path, records: list[object]) -> None:
    save_png(build(records), [hostile_finding()], tmp_path / "run.png")  # type: ignore[arg-type]

    assert (tmp_path / "run.png").read_bytes().startswith(SIGNATURE)


def test_of_a_run_the_process_that_leaks_is_drawn(tmp_path: Path) -> None:
    clean, leaking = build(leaky_records(3)), build(leaky_records(7))

    write_png(Run(None, [clean, leaking]), [(), (leak_finding(),)], tmp_path / "run.png")
    save_png(leaking, (leak_finding(),), tmp_path / "leaking.png")

    assert (tmp_path / "run.png").read_bytes() == (tmp_path / "leaking.png").read_bytes()


def test_a_run_without_processes_cannot_be_drawn(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a picture needs a recorded process"):
        write_png(Run(None, []), [], tmp_path / "run.png")
