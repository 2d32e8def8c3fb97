"""Descriptors kept open, and what happens when the program takes them away."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from phaseprof.errors import ProbeUnavailable
from phaseprof.probes.kept_file import KeptFile


def test_each_read_sees_the_file_as_it_is_now(tmp_path: Path) -> None:
    path = tmp_path / "counter"
    path.write_text("1")
    file = KeptFile(path)

    path.write_text("22")

    assert file.read() == b"22"
    file.close()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProbeUnavailable, match=r"absent: No such file"):
        KeptFile(tmp_path / "absent")


def test_a_descriptor_that_the_program_closed_is_reported_not_crashed(tmp_path: Path) -> None:
    path = tmp_path / "counter"
    path.write_text("1")
    file = KeptFile(path)

    os.close(file.fd)

    with pytest.raises(ProbeUnavailable, match="counter"):
        file.read()
    file.close()


def test_close_spares_a_stranger_that_took_the_number_over(tmp_path: Path) -> None:
    (tmp_path / "counter").write_text("1")
    (tmp_path / "stranger").write_text("precious")
    file = KeptFile(tmp_path / "counter")
    number = file.fd
    stranger = os.open(tmp_path / "stranger", os.O_RDONLY)
    os.dup2(stranger, number)

    file.close()

    assert os.read(number, 100) == b"precious"
    os.close(number)
    os.close(stranger)


def test_the_descriptor_is_not_inherited_by_programs_that_are_started(tmp_path: Path) -> None:
    (tmp_path / "counter").write_text("1")
    file = KeptFile(tmp_path / "counter")

    assert os.get_inheritable(file.fd) is False
    file.close()
