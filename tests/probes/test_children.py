"""Child processes: counted, and weighed by what only they hold."""

from __future__ import annotations

import mmap
import os
import resource
import sys

import pytest
from in_child import run_in_child, waiting_children

from phaseprof.probes import children
from phaseprof.probes.children import ChildMemory, Children, ChildrenProbe, describe_children, sum_children
from phaseprof.units import MIB

SIZE = 48 * MIB


def private_block() -> mmap.mmap:
    block = mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    block.write(b"x" * SIZE)
    return block


def resident_bytes(pid: int) -> int:
    with open(f"/proc/{pid}/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


def test_no_children_is_a_measured_zero() -> None:
    assert run_in_child(lambda: ChildrenProbe().read()) == {
        "children": 0, "zombie_children": 0, "children_private_bytes": 0,
    }  # fmt: skip


def test_living_children_are_counted() -> None:
    # Other tests leave a child behind: multiprocessing keeps its resource tracker.
    before = {child.pid for child in describe_children().living}

    with waiting_children(3, lambda: None) as pids:
        during = {child.pid for child in describe_children().living}

    assert during - before == set(pids)


def test_children_of_children_are_counted() -> None:
    before = ChildrenProbe().read()["children"]

    def start_one() -> object:
        context = waiting_children(1, lambda: None)
        context.__enter__()
        return context

    with waiting_children(1, start_one):
        during = ChildrenProbe().read()["children"]

    assert during - before == 2


def test_shared_pages_count_in_resident_memory_of_each_child_and_in_private_memory_of_none() -> None:
    with private_block(), waiting_children(2, lambda: None) as pids:
        resident = sum(resident_bytes(pid) for pid in pids)
        private = sum(child.private_bytes or 0 for child in describe_children().living if child.pid in pids)

    assert resident > 2 * SIZE
    assert private < SIZE / 2


def test_pages_that_a_child_writes_become_its_own() -> None:
    with private_block() as block:

        def write_all() -> None:
            for page in range(0, SIZE, mmap.PAGESIZE):
                block[page] = 1

        before = ChildrenProbe().read()["children_private_bytes"]
        with waiting_children(2, write_all):
            private = ChildrenProbe().read()["children_private_bytes"] - before

    assert 2 * SIZE < private < 2 * SIZE + 32 * MIB


def test_pages_that_the_parent_writes_are_no_growth_of_a_child_that_rests() -> None:
    with private_block() as block, waiting_children(1, lambda: None) as pids:
        probe = ChildrenProbe()
        before = probe.read()["children_private_bytes"]
        for page in range(0, SIZE, mmap.PAGESIZE):
            block[page] = 1
        private = sum(child.private_bytes or 0 for child in describe_children().living if child.pid in pids)
        after = probe.read()["children_private_bytes"]

    assert private > SIZE
    assert after <= before


def test_a_child_that_has_touched_no_page_is_not_weighed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with waiting_children(1, private_block):
        probe = ChildrenProbe()
        monkeypatch.setattr(children, "_private_bytes", pytest.fail)

        assert probe.read()["children_private_bytes"] > SIZE


def test_private_memory_is_told_for_each_child() -> None:
    with waiting_children(1, private_block) as big, waiting_children(1, lambda: None):
        by_pid = {child.pid: child.private_bytes for child in describe_children().living}

    heavy = [pid for pid, private in by_pid.items() if private is not None and private > SIZE]
    assert heavy == big
    assert None not in by_pid.values()


def test_a_zombie_is_counted_apart_and_weighs_nothing() -> None:
    def read_beside_a_zombie() -> object:
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        figures = ChildrenProbe().read()
        os.waitpid(pid, 0)
        return figures

    assert run_in_child(read_beside_a_zombie) == {
        "children": 0, "zombie_children": 1, "children_private_bytes": 0,
    }  # fmt: skip


def test_a_sum_with_an_unreadable_part_is_absent() -> None:
    readable = ChildMemory(7, "worker", private_bytes=5)
    unreadable = ChildMemory(8, "sudo", private_bytes=None)

    assert sum_children(Children((readable, unreadable), ())) == {"children": 2, "zombie_children": 0}


def test_psutil_agrees_about_each_child() -> None:
    psutil = pytest.importorskip("psutil")

    with waiting_children(1, private_block) as pids:
        ours = next(child for child in describe_children().living if child.pid == pids[0])
        theirs = psutil.Process(pids[0]).memory_full_info()
        name = psutil.Process(pids[0]).name()

    assert ours.private_bytes == pytest.approx(theirs.uss, abs=MIB)
    assert name.startswith(ours.name)


def test_a_child_that_has_ended_is_known_without_psutil(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psutil", None)

    with waiting_children(1, lambda: None) as (pid,):
        pass

    assert children.read_name_state_faults(pid) == ("", b"", None)
    assert children._private_bytes(pid) is None
