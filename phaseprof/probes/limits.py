"""The limit that will kill this run: control group, address space or the host itself."""

from __future__ import annotations

import functools
import mmap
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from phaseprof.errors import ProbeUnavailable
from phaseprof.interrupts import raise_the_programs
from phaseprof.probes.kept_file import KeptFile
from phaseprof.probes.protocol import CostClass

_T = TypeVar("_T")
_HOST = "host memory"
_CLOSED = "cannot read memory limits: the probe was closed"
_NONE = "no memory limit can be read: no control group, no RLIMIT_AS and no /proc/meminfo"
_UNLIMITED_FROM = 1 << 62  # cgroup v1 writes "no limit" as the largest multiple of a page below 2**63
_OCTAL_ESCAPE = re.compile(r"\\([0-7]{3})")  # how mountinfo writes blanks in a path
_MEMORY_TOTAL = re.compile(rb"^MemTotal:\s+(\d+)", re.M)
_MEMORY_AVAILABLE = re.compile(rb"^MemAvailable:\s+(\d+)", re.M)
_ADDRESS_SPACE = re.compile(rb"^Max address space\s+(\d+)\s", re.M)


@dataclass(frozen=True)
class Limits:
    """The nearest limit on this process's memory.

    Attributes:
        limit_bytes: where the run is killed or refused memory.
        source: which limit it is, in words, such as ``cgroup v2 memory.max``.
        used_bytes: what counts against it now, without page cache that the kernel would drop; ``None`` if unreadable.
        available_bytes: what is left, at least 0; ``None`` if unreadable.
    """

    limit_bytes: int
    source: str
    used_bytes: int | None
    available_bytes: int | None


class _Source(Protocol):
    def read(self) -> Limits | None: ...
    def close(self) -> None: ...


@dataclass(frozen=True)
class _Layout:
    """File and key names of one version of the memory controller."""

    source: str
    limit: str
    used: str
    cache: tuple[re.Pattern[bytes], ...]


_V1 = _Layout(
    "cgroup v1 memory.limit_in_bytes",
    "memory.limit_in_bytes",
    "memory.usage_in_bytes",
    # usage counts the children too, so the cache must: the total_ keys.
    (re.compile(rb"^total_inactive_file (\d+)", re.M), re.compile(rb"^total_active_file (\d+)", re.M)),
)
_V2 = _Layout(
    "cgroup v2 memory.max",
    "memory.max",
    "memory.current",
    (re.compile(rb"^inactive_file (\d+)", re.M), re.compile(rb"^active_file (\d+)", re.M)),
)


class _CgroupLevel:
    """One folder of a control group's hierarchy."""

    def __init__(self, folder: Path, layout: _Layout) -> None:
        self._layout = layout
        self._limit = KeptFile(folder / layout.limit)
        self._used = _unless_unavailable(lambda: KeptFile(folder / layout.used))
        self._stat = _unless_unavailable(lambda: KeptFile(folder / "memory.stat"))

    def read(self) -> Limits | None:
        limit = _number(self._limit.read(64))
        if limit is None or limit >= _UNLIMITED_FROM:
            return None
        used = _number(self._used.read(64)) if self._used is not None else None
        if used is not None and self._stat is not None:
            text = self._stat.read()
            used = max(0, used - sum(_first(key, text) or 0 for key in self._layout.cache))
        return _limits(limit, self._layout.source, used)

    def close(self) -> None:
        for file in (self._limit, self._used, self._stat):
            if file is not None:
                file.close()


class _Host:
    """All memory of the machine."""

    def __init__(self, root: Path) -> None:
        self._meminfo = KeptFile(root / "proc/meminfo")

    def read(self) -> Limits | None:
        text = self._meminfo.read()
        total, available = _first(_MEMORY_TOTAL, text), _first(_MEMORY_AVAILABLE, text)
        if total is None:
            return None
        used = None if available is None else (total - available) * 1024
        return _limits(total * 1024, _HOST, used)

    def close(self) -> None:
        self._meminfo.close()


class _AddressSpace:
    """``RLIMIT_AS``, against which reserved addresses count, resident or not."""

    def __init__(self, root: Path) -> None:
        limits = KeptFile(root / "proc/self/limits")
        try:
            limit = _first(_ADDRESS_SPACE, limits.read())
        finally:
            limits.close()
        if limit is None:
            raise ProbeUnavailable("the address space is not limited")
        self._limit_bytes = limit
        self._statm = KeptFile(root / "proc/self/statm", per_process=True)

    def read(self) -> Limits | None:
        pages = _number(self._statm.read(160).partition(b" ")[0])
        used = None if pages is None else pages * mmap.PAGESIZE
        return _limits(self._limit_bytes, "RLIMIT_AS", used)

    def close(self) -> None:
        self._statm.close()


class LimitProbe:
    """Read the nearest limit again and again, through descriptors kept open: the one that will kill this process first.

    Looked at are every level of the process's control group from its own folder up to the mount (v2 ``memory.max``,
    v1 ``memory.limit_in_bytes``), ``RLIMIT_AS``, and the memory of the host; the one with the least left is nearest,
    and of two alike the smaller. Page cache that the kernel drops before it kills (``inactive_file + active_file``)
    does not count as used. Swap is left out: a process that swaps is lost to training long before it is killed.

    Metrics: ``limit_bytes``, ``limit_used_bytes`` and ``limit_available_bytes`` of the nearest limit, and
    ``host_available_bytes``.

    The files cost more than a boundary may, so readings closer together than ``min_interval_s`` repeat the last one.
    In a forked child the address-space limit is that of the child.

    Args:
        root: folder that holds ``proc`` and ``sys``.
        min_interval_s: shortest time between two looks at the files; 0 looks each time.
        clock: monotonic seconds.

    Cost: 0.1 us within ``min_interval_s``, otherwise 14 us for the host alone and 10 us more for each limited level of
    a control group (two shared AMD EPYC cores, Python 3.11). Source: ``proc_pid_cgroup(5)``,
    ``proc_pid_mountinfo(5)``, ``proc_meminfo(5)``, the kernel's cgroup documents.

    Raises:
        ProbeUnavailable: nothing limits this process, as far as can be read.
    """

    name = "limits"
    cost = CostClass.POINT

    def __init__(
        self, root: Path = Path("/"), *, min_interval_s: float = 0.1, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._min_interval_s = min_interval_s
        self._clock = clock
        self._sources = _open_sources(root)
        self._figures: Mapping[str, int] = {}
        self._read_again_at = float("-inf")
        if not self._sources:
            raise ProbeUnavailable(_NONE)
        try:
            self.read()
        except ProbeUnavailable:
            self.close()
            raise

    def read(self) -> Mapping[str, int]:
        """Read the nearest limit, at most once in ``min_interval_s``; see the class for metrics, errors and cost."""
        if not self._sources:
            raise ProbeUnavailable(_CLOSED)
        now = self._clock()
        if now >= self._read_again_at:
            self._figures = _figures(_read_all(self._sources))
            self._read_again_at = now + self._min_interval_s
        return self._figures

    def limits(self) -> Limits:
        """Read the nearest limit now, with its source in words.

        Raises:
            ProbeUnavailable: the probe was closed, or no limit can be read any more.
        """
        if not self._sources:
            raise ProbeUnavailable(_CLOSED)
        return _nearest(_read_all(self._sources))

    def close(self) -> None:
        """Close every descriptor; may be called twice."""
        while self._sources:
            self._sources.pop().close()


def _open_sources(root: Path) -> list[_Source]:
    openers: list[Callable[[], _Source]] = [
        functools.partial(_CgroupLevel, folder, layout) for folder, layout in _cgroup_folders(root)
    ]
    openers += [functools.partial(_AddressSpace, root), functools.partial(_Host, root)]
    # The top level of v2 has no limit file, and a container may hide the levels above its own.
    opened = [_unless_unavailable(opener) for opener in openers]
    return [source for source in opened if source is not None]


def _read_all(sources: list[_Source]) -> list[Limits]:
    # A control group may be removed under us; the others still bind.
    readings = [_unless_unavailable(source.read) for source in sources]
    return [limits for limits in readings if limits is not None]


def _unless_unavailable(call: Callable[[], _T]) -> _T | None:
    try:
        return call()
    except ProbeUnavailable:
        return None


def _nearest(readings: list[Limits]) -> Limits:
    if not readings:
        raise ProbeUnavailable(_NONE)
    return min(readings, key=_closeness)


def _closeness(limits: Limits) -> tuple[int, int]:
    left = limits.available_bytes
    return (limits.limit_bytes if left is None else left, limits.limit_bytes)


def _figures(readings: list[Limits]) -> dict[str, int]:
    nearest = _nearest(readings)
    host = next((limits for limits in readings if limits.source == _HOST), None)
    figures = {
        "limit_bytes": nearest.limit_bytes,
        "limit_used_bytes": nearest.used_bytes,
        "limit_available_bytes": nearest.available_bytes,
        "host_available_bytes": None if host is None else host.available_bytes,
    }
    return {name: value for name, value in figures.items() if value is not None}


def _cgroup_folders(root: Path) -> Iterator[tuple[Path, _Layout]]:
    """Yield the folder of each level of the process's control group, its own first."""
    memberships = _memberships(root)
    for mount_root, mount_point, layout in _cgroup_mounts(root):
        path = memberships.get(layout.source)
        if path is None:
            continue
        top = root / mount_point.lstrip("/")
        # A container sees its own group as the top of the mount, while its membership may name the path outside.
        inside = path[len(mount_root) :] if (path + "/").startswith(mount_root.rstrip("/") + "/") else ""
        parts = [] if ".." in inside else [part for part in inside.split("/") if part]
        for depth in range(len(parts), -1, -1):
            yield top.joinpath(*parts[:depth]), layout


def _memberships(root: Path) -> dict[str, str]:
    """Map each layout's source to the process's path in that hierarchy."""
    paths: dict[str, str] = {}
    for line in _lines(root / "proc/self/cgroup"):
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if "memory" in controllers.split(","):
            paths[_V1.source] = path
        elif number == "0" and not controllers:
            paths[_V2.source] = path
    return paths


def _cgroup_mounts(root: Path) -> Iterator[tuple[str, str, _Layout]]:
    """Yield root inside the hierarchy, mount point and layout of each mounted memory controller."""
    for line in _lines(root / "proc/self/mountinfo"):
        before, _, after = line.partition(" - ")
        fields, kinds = before.split(" "), after.split(" ")
        if len(fields) < 5 or len(kinds) < 3:
            continue
        place = _unescape(fields[3]), _unescape(fields[4])
        if kinds[0] == "cgroup2":
            yield *place, _V2
        elif kinds[0] == "cgroup" and "memory" in kinds[2].split(","):
            yield *place, _V1


def _unescape(path: str) -> str:
    return _OCTAL_ESCAPE.sub(lambda match: chr(int(match[1], 8)), path)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError as error:
        raise_the_programs(error)
        return []


def _number(text: bytes) -> int | None:
    stripped = text.strip()
    return int(stripped) if stripped.isdigit() else None


def _first(pattern: re.Pattern[bytes], text: bytes) -> int | None:
    match = pattern.search(text)
    return int(match[1]) if match else None


def _limits(limit: int, source: str, used: int | None) -> Limits:
    return Limits(limit, source, used, None if used is None else max(0, limit - used))
