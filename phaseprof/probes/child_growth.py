"""How much the workers of a program have grown, and how many pages they touched: cheap enough for each generation."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from phaseprof.errors import ProbeUnavailable
from phaseprof.interrupts import raise_the_programs
from phaseprof.probes.children import ZOMBIE, list_children, list_descendants, read_name_state_faults
from phaseprof.probes.protocol import Closable, CostClass

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
# Readings between two listings of children's children.
_LISTED_EVERY = 4
_RESIDENT, _SHARED = 1, 2


class _Taken(NamedTuple):
    """Bytes of anonymous memory that a child holds, and of pages that it has touched since it began."""

    anonymous: int = 0
    faulted: int = 0


# In place of what a child took at first: it was not read yet, or it is another program.
_NEW, _OTHER = _Taken(-1), _Taken(-2)


class ChildGrowthProbe(Closable):
    """Add up by how much the anonymous memory of living workers has grown, and what they touched, since each was seen.

    Workers are the children that run this process's interpreter, forked or spawned.  What other programs need, such as
    the servers of a cluster, rises for reasons of their own.

    Metrics: ``children_grown_bytes``.  A forked child begins with all that its parent had, which is no growth of its
    own; pages that become its own because somebody writes to them are in its anonymous memory already, so what rises
    here was allocated by a child.  ``children_faulted_bytes``: pages that they touched first or wrote to anew, whether
    they kept them or not: no measure of growth, but where pages become their own, it tells at once in which phase.  Of
    a child that ended nothing is left in the sums.  ``children``: the living, of any program;
    their own children as they were last listed.

    Traps: a child that grew before it was first seen, in the first generations perhaps, seems smaller.  Pages swapped
    out leave the sum.

    Cost: 25 us for each child and 10 us for each thread of this process; every fourth time 35 us more for each child,
    which may have children of its own (two shared AMD EPYC cores, Python 3.11).
    Source: ``/proc/PID/statm``, ``/proc/PID/stat``, ``/proc/PID/exe``, ``/proc/PID/task/TID/children``.

    Raises:
        ProbeUnavailable: no ``/proc``.
    """

    name = "child growth"
    cost = CostClass.GENERATION

    def __init__(self) -> None:
        self._first: dict[int, _Taken] = {}
        self._n_readings = self._n_zombies = 0
        self._program = _program("self")
        _anonymous_bytes("self")

    def read(self) -> Mapping[str, int]:
        """Add up the growth of the children; see the class for metric, errors and cost."""
        self._require_open("the growth of child processes")
        # Those that this process starts are seen at once, their own children at the next listing of all.
        found = [*self._first, *list_children()] if self._n_readings % _LISTED_EVERY else list_descendants()
        self._n_readings += 1
        self._first = {pid: self._first.get(pid, _NEW) for pid in found}
        self._n_zombies = 0
        grown = [self._grown(pid) for pid in list(self._first)]
        return {
            "children": len(self._first) - self._n_zombies,
            "children_grown_bytes": sum(one.anonymous for one in grown),
            "children_faulted_bytes": sum(one.faulted for one in grown),
        }

    def _grown(self, pid: int) -> _Taken:
        try:
            _, state, n_faults = read_name_state_faults(pid)
            now = _Taken(_anonymous_bytes(str(pid)), (n_faults or 0) * _PAGE_BYTES)
        except ProbeUnavailable:  # it has ended
            del self._first[pid]
            return _Taken()
        self._n_zombies += state == ZOMBIE
        if self._first[pid] is _NEW:
            self._first[pid] = now if _program(str(pid)) == self._program else _OTHER
        first = self._first[pid]
        return _Taken() if first is _OTHER else _Taken(now.anonymous - first.anonymous, now.faulted - first.faulted)


def _program(process: str) -> str:
    """Return the file that a process executes; empty where that may not be read."""
    try:
        return os.readlink(f"/proc/{process}/exe")  # noqa: PTH115 - no path is needed
    except OSError as error:
        raise_the_programs(error)
        return ""


def _anonymous_bytes(process: str) -> int:
    try:
        with open(f"/proc/{process}/statm", "rb", buffering=0) as file:  # noqa: PTH123
            fields = file.read(256).split()
        return (int(fields[_RESIDENT]) - int(fields[_SHARED])) * _PAGE_BYTES
    except (OSError, IndexError, ValueError) as error:
        raise_the_programs(error)
        raise ProbeUnavailable(f"cannot read /proc/{process}/statm: {error}") from error
