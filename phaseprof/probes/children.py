"""Child processes: how many, and the memory that only they hold."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from phaseprof.errors import ProbeUnavailable
from phaseprof.interrupts import raise_the_programs
from phaseprof.probes.protocol import Closable, CostClass

ZOMBIE = b"Z"
# Fields of /proc/PID/stat, from the state letter on.
_MINOR_FAULTS, _MAJOR_FAULTS = 7, 9
_PRIVATE = re.compile(rb"^Private_(?:Clean|Dirty|Hugetlb):\s+(\d+) kB", re.M)


@dataclass(frozen=True)
class ChildMemory:
    """One living child process, or a child of a child.

    Attributes:
        pid: its process id.
        name: its command name, at most 15 characters.
        private_bytes: resident memory that no other process maps (USS); ``None`` where it may not be read.
        n_faults: pages that it has touched first or written to anew, since it began; ``None`` where that is not known.
    """

    pid: int
    name: str
    private_bytes: int | None
    n_faults: int | None = None


_NOTHING: Mapping[int, ChildMemory] = MappingProxyType({})


@dataclass(frozen=True)
class Children:
    """The descendants of this process at one moment.

    Attributes:
        living: each living child.
        zombies: pids of children that have ended and that nobody has waited for.
    """

    living: tuple[ChildMemory, ...]
    zombies: tuple[int, ...]


class ChildrenProbe(Closable):
    """Count child processes, children of children included, and add up their private memory.

    Metrics: ``children``, the living; ``zombie_children``, ended and not waited for, which hold a table entry and no
    memory; ``children_private_bytes``, a sum over the living, absent if one of them may not be read, since a partial
    sum would look like a fall.

    Traps: resident memory summed over processes counts shared pages once for each, so a forked worker seems to hold all
    that its parent does; its private memory rises as either side writes (reference counts are writes). What rises while
    the child has not touched a page was written by the parent, and is left out of the sum; of such a child what was
    read last is told again, even if it has given memory back since. Pages swapped out leave the sum. A child whose own
    parent has ended belongs to another process and is not seen. Python starts a resource tracker of its own with the
    first shared segment or pool: one child more, and no leak.

    Cost: 15-30 us without children, 15 us for each that has touched no page since the last reading, and for each other
    0.2 ms (small) to 7 ms (200 MiB resident), by its pages, while its page faults wait (two shared AMD EPYC cores,
    Python 3.11).
    Source: ``/proc/PID/task/TID/children`` and ``/proc/PID/smaps_rollup``, otherwise psutil.

    Raises:
        ProbeUnavailable: neither ``/proc`` nor psutil tells the children.
    """

    name = "children"
    cost = CostClass.GENERATION

    def __init__(self) -> None:
        self._last: dict[int, ChildMemory] = {}
        self.read()

    def read(self) -> Mapping[str, int]:
        """Count the children and add up their memory; see the class for metrics, errors and cost."""
        self._require_open("the child processes")
        children = describe_children(self._last)
        self._last = {child.pid: child for child in children.living}
        return sum_children(children)


def describe_children(before: Mapping[int, ChildMemory] = _NOTHING) -> Children:
    """Look at each child process of this one; see ``ChildrenProbe`` for traps and cost.

    Args:
        before: by process id what was read last; a child that has touched no page since then is not weighed again, as
            it has not made more of them its own.

    Raises:
        ProbeUnavailable: neither ``/proc`` nor psutil tells the children.
    """
    living: list[ChildMemory] = []
    zombies: list[int] = []
    for pid in list_descendants():
        name, state, n_faults = read_name_state_faults(pid)
        if state == ZOMBIE:
            zombies.append(pid)
        elif state:
            last = before.get(pid)
            rests = last is not None and last.n_faults is not None and last.n_faults == n_faults
            living.append(last if last is not None and rests else ChildMemory(pid, name, _private_bytes(pid), n_faults))
    return Children(tuple(living), tuple(zombies))


def sum_children(children: Children) -> dict[str, int]:
    """Add up children to the metrics of ``ChildrenProbe``; a sum with an unreadable part is absent."""
    figures = {"children": len(children.living), "zombie_children": len(children.zombies)}
    known = [child.private_bytes for child in children.living if child.private_bytes is not None]
    return figures | ({"children_private_bytes": sum(known)} if len(known) == len(children.living) else {})


def list_children() -> list[int]:
    """List the children of this process, without theirs; none where only psutil tells them."""
    try:
        return _children_of(os.getpid())
    except OSError as error:
        raise_the_programs(error)
        return []


def list_descendants() -> list[int]:
    """List the children of this process, theirs included, nearest first.

    Raises:
        ProbeUnavailable: neither ``/proc`` nor psutil tells the children.
    """
    try:
        return list(_descendants_in_proc(os.getpid()))
    except OSError as error:
        raise_the_programs(error)
        return _descendants_from_psutil()


def _descendants_in_proc(pid: int) -> Iterator[int]:
    """Yield children of ``pid`` and theirs, nearest first; a kernel without the file raises ``OSError``."""
    waiting = _children_of(pid)
    while waiting:
        child = waiting.pop(0)
        yield child
        try:
            waiting += _children_of(child)
        except OSError as error:
            raise_the_programs(error)
            # Ended in between.
            continue


def _children_of(pid: int) -> list[int]:
    # A child belongs to the thread that started it, so each thread is asked.
    children: list[int] = []
    for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
        children += map(int, _read_file(f"/proc/{pid}/task/{thread}/children").split())
    return children


def _descendants_from_psutil() -> list[int]:
    try:
        import psutil
    except ImportError as error:
        raise ProbeUnavailable("cannot list child processes: no /proc and psutil is not installed") from error
    try:
        return [child.pid for child in psutil.Process().children(recursive=True)]
    except (psutil.Error, OSError) as error:
        raise_the_programs(error)
        raise ProbeUnavailable(f"cannot list child processes: {error}") from error


def read_name_state_faults(pid: int) -> tuple[str, bytes, int | None]:
    """Return command name, state letter and number of page faults; no state if the process has ended."""
    try:
        # The name stands in parentheses and may hold any character, closing parentheses too.
        before, _, after = _read_file(f"/proc/{pid}/stat").rpartition(b")")
        fields = after.split()
        n_faults = int(fields[_MINOR_FAULTS]) + int(fields[_MAJOR_FAULTS])
        return os.fsdecode(before.partition(b"(")[2]), fields[0], n_faults
    except (OSError, IndexError) as error:
        raise_the_programs(error)
        return ("", b"", None) if _tells_of_an_end(error) else (*_name_and_state_from_psutil(pid), None)


def _tells_of_an_end(error: Exception) -> bool:
    """Whether a child has ended, as far as ``/proc`` goes: to ask psutil as well would take 10 ms for its import."""
    return issubclass(type(error), (FileNotFoundError, ProcessLookupError)) and Path("/proc/self/smaps_rollup").exists()


def _name_and_state_from_psutil(pid: int) -> tuple[str, bytes]:
    import psutil

    try:
        process = psutil.Process(pid)
        return process.name(), ZOMBIE if process.status() == psutil.STATUSZOMBIE else b"?"
    except (psutil.Error, OSError) as error:
        raise_the_programs(error)
        return "", b""


def _private_bytes(pid: int) -> int | None:
    try:
        rollup = _read_file(f"/proc/{pid}/smaps_rollup")
    except OSError as error:
        raise_the_programs(error)
        return None if _tells_of_an_end(error) else _private_bytes_from_psutil(pid)
    parts = _PRIVATE.findall(rollup)
    # A process between its end and its parent's wait has no mappings left to report.
    return sum(map(int, parts)) * 1024 if parts else None


def _private_bytes_from_psutil(pid: int) -> int | None:
    import psutil

    try:
        uss: int | None = getattr(psutil.Process(pid).memory_full_info(), "uss", None)
        return uss
    except (psutil.Error, OSError) as error:
        raise_the_programs(error)
        return None


def _read_file(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123
        return file.read(16384)
