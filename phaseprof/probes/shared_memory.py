"""Shared memory: the segments this process maps, and those that nobody has unlinked."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from phaseprof.errors import ProbeUnavailable
from phaseprof.interrupts import raise_the_programs
from phaseprof.probes.protocol import Closable, CostClass

_MAPS = "/proc/self/maps"
_STATUS = "/proc/self/status"
_FOLDER = "/dev/shm"  # noqa: S108
_BLOCK_BYTES = 512  # the unit of st_blocks
_RESIDENT = re.compile(rb"^RssShmem:\s+(\d+) kB", re.M)
# paths that only memory stands behind; searched as plain text, which is ten times as fast as matching each line
_MARKS = re.compile(rb"/dev/shm/|/memfd:|/SYSV|/dev/zero \(deleted\)")
# Where mappings of the profiler's own begin, which are none of the program's segments.
OWN_MAPPINGS: set[int] = set()
# address range, a shared mapping, offset, device and inode, path
_SHARED = re.compile(rb"([0-9a-f]+)-([0-9a-f]+) ...s ([0-9a-f]+) (\S+ \d+) +(/.*)")


@dataclass(frozen=True)
class Segment:
    """One shared segment in the address space of this process.

    Attributes:
        name: its path; ``(deleted)`` at the end means unlinked, so it goes when its last user does.
        mapped_bytes: from its start to the furthest byte mapped here; resident or not.
    """

    name: str
    mapped_bytes: int


class SharedMemoryProbe(Closable):
    """Count the shared segments that this process maps, and mapped regions.

    Metrics: ``shm_segments`` and ``shm_bytes``, each segment once however often it is mapped; ``mapped_regions``, all
    mappings of this process, of which Linux allows 65,530.

    Traps: a segment counts in the resident memory of every process that maps it.

    Cost: 0.1 ms with 70 regions and 0.4 ms with 550, as with torch loaded (two shared AMD EPYC cores, Python 3.11).
    Source: ``proc_pid_maps(5)``.

    Raises:
        ProbeUnavailable: no ``/proc/self/maps``.
    """

    name = "shared memory"
    cost = CostClass.GENERATION

    def __init__(self) -> None:
        self.read()

    def read(self) -> Mapping[str, int]:
        """Count segments and regions; see the class for metrics, errors and cost."""
        self._require_open("shared memory")
        maps = _read_file(_MAPS)
        segments = parse_segments(maps)
        return {
            "mapped_regions": maps.count(b"\n"),
            "shm_segments": len(segments),
            "shm_bytes": sum(segment.mapped_bytes for segment in segments),
        }


class SharedPagesProbe(Closable):
    """Read how much of the shared segments is resident in this process, and the segments of this user: cheap and exact.

    Metrics: ``shm_resident_bytes``, which rises as a segment that is mapped already is used more and more, such as the
    object store of a cluster, and ends at the size of the segments; ``shm_user_segments`` and ``shm_user_bytes``, the
    files in ``/dev/shm`` that belong to this user, whichever process made them, mapped or not.

    Traps: a segment closed but never unlinked is mapped by nobody and still holds memory: only the ``shm_user`` figures
    see it. Figures that cannot be read, as where there is no ``/dev/shm``, are absent.

    Cost: 50 us, and 3 us for each file in ``/dev/shm`` (two shared AMD EPYC cores, Python 3.11).
    Source: ``proc_pid_status(5)``, ``RssShmem``; ``/dev/shm``.

    Raises:
        ProbeUnavailable: no ``/proc/self/status``.
    """

    name = "shared pages"
    cost = CostClass.GENERATION

    def __init__(self) -> None:
        self.read()

    def read(self) -> Mapping[str, int]:
        """Read the resident pages; see the class for metric, errors and cost."""
        self._require_open("shared pages")
        resident = _RESIDENT.search(_read_file(_STATUS))
        figures = _user_files(_FOLDER)
        return figures if resident is None else {"shm_resident_bytes": int(resident[1]) * 1024, **figures}


def describe_segments() -> tuple[Segment, ...]:
    """List the shared segments this process maps, the largest first.

    Raises:
        ProbeUnavailable: no ``/proc/self/maps``.
    """
    return tuple(sorted(parse_segments(_read_file(_MAPS)), key=lambda segment: -segment.mapped_bytes))


def parse_segments(maps: bytes) -> tuple[Segment, ...]:
    """Find the shared segments in the text of ``/proc/self/maps``, each once by device and inode."""
    segments: dict[bytes, Segment] = {}
    for mark in _MARKS.finditer(maps):
        line = _SHARED.match(maps, maps.rfind(b"\n", 0, mark.start()) + 1)
        if line is None or line.start(5) != mark.start():
            # A private mapping, or a file whose path merely contains the words.
            continue
        start, end, offset, identity, path = line.groups()
        if int(start, 16) in OWN_MAPPINGS:
            continue
        reach = int(end, 16) - int(start, 16) + int(offset, 16)
        known = segments.get(identity)
        if known is None or reach > known.mapped_bytes:
            segments[identity] = Segment(os.fsdecode(path), reach)
    return tuple(segments.values())


def _user_files(folder: str) -> dict[str, int]:
    try:
        with os.scandir(folder) as entries:
            known = list(map(_size_if_own, entries))
    except OSError as error:
        raise_the_programs(error)
        return {}
    sizes = [size for size in known if size is not None]
    return {"shm_user_segments": len(sizes), "shm_user_bytes": sum(sizes)}


def _size_if_own(entry: os.DirEntry[str]) -> int | None:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError as error:
        raise_the_programs(error)
        # Unlinked between the listing and this look.
        return None
    return status.st_blocks * _BLOCK_BYTES if status.st_uid == os.getuid() else None


def _read_file(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            return file.readall()
    except OSError as error:
        raise_the_programs(error)
        raise ProbeUnavailable(f"cannot read {path}: {error.strerror}") from error
