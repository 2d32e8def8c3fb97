"""Open descriptors: counted and grouped."""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path

import pytest

from phaseprof.probes.descriptors import DescriptorProbe, classify_target, describe_descriptors


def groups() -> dict[str, tuple[int, str, int]]:
    return {group.kind: (group.count, group.commonest, group.commonest_count) for group in describe_descriptors()}


def test_each_open_file_counts_once(tmp_path: Path) -> None:
    probe = DescriptorProbe()
    before = probe.read()["descriptors"]

    with contextlib.ExitStack() as stack:
        for number in range(10):
            stack.enter_context((tmp_path / str(number)).open("w"))
        during = probe.read()["descriptors"]

    assert (during - before, probe.read()["descriptors"]) == (10, before)


def test_the_count_is_that_of_the_groups() -> None:
    assert DescriptorProbe().read()["descriptors"] == sum(group.count for group in describe_descriptors())


def test_the_commonest_file_is_named(tmp_path: Path) -> None:
    log = tmp_path / "run.log"

    with contextlib.ExitStack() as stack:
        for _ in range(60):
            stack.enter_context(log.open("a"))
        count, commonest, commonest_count = groups()["file"]

    assert count >= 60
    assert (commonest, commonest_count) == (str(log), 60)


def test_a_deleted_file_that_is_still_open_is_its_own_kind(tmp_path: Path) -> None:
    path = tmp_path / "gone"

    with contextlib.ExitStack() as stack:
        for _ in range(40):
            stack.enter_context(path.open("w"))
        path.unlink()
        _, commonest, commonest_count = groups()["deleted file"]

    assert (commonest, commonest_count) == (str(path), 40)


def test_sockets_are_grouped_though_each_has_a_number() -> None:
    before = groups().get("socket", (0, "", 0))[0]

    with contextlib.ExitStack() as stack:
        for _ in range(3):
            for end in socket.socketpair():
                stack.enter_context(end)
        count, commonest, commonest_count = groups()["socket"]

    assert count - before == 6
    assert commonest == "socket" and commonest_count == count


def test_another_process_can_be_described() -> None:
    assert describe_descriptors(os.getpid()) == describe_descriptors()


def test_a_process_that_is_gone_has_no_descriptors() -> None:
    assert describe_descriptors(2**22 + 1) == ()


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("/data/a b.bin", ("file", "/data/a b.bin")),
        ("/data/x (deleted)", ("deleted file", "/data/x")),
        ("socket:[12]", ("socket", "socket")),
        ("pipe:[12]", ("pipe", "pipe")),
        ("anon_inode:[eventfd]", ("anonymous", "eventfd")),
        ("anon_inode:inotify", ("anonymous", "inotify")),
        ("/memfd:cuda (deleted)", ("anonymous", "memfd:cuda")),
        ("net:[4026531840]", ("unknown", "net")),
    ],
)
def test_targets_are_classified(link: str, expected: tuple[str, str]) -> None:
    assert classify_target(link) == expected
