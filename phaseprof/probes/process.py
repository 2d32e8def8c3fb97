"""Resident memory of this process, split into what can leak and what only looks so."""

from __future__ import annotations

import os
from collections.abc import Mapping

from phaseprof.errors import ProbeUnavailable
from phaseprof.interrupts import raise_the_programs
from phaseprof.probes.kept_file import KeptFile
from phaseprof.probes.protocol import Closable, CostClass

_STATM = "/proc/self/statm"
_STATM_SIZE = 160  # seven 64-bit numbers in decimal need at most 147 bytes
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


class StatmProbe:
    """Read ``/proc/self/statm`` through one descriptor kept open.

    Metrics: ``rss_bytes``, resident memory; ``anonymous_bytes``, the resident pages that no file backs (heap, stacks,
    private writes to mapped files), which is what a leak moves; ``file_and_shm_bytes``, resident pages of mapped files
    and shared memory, which the kernel counts for every process that maps them; ``vms_bytes``, reserved addresses.

    Traps: a mapped file or a shared segment raises ``rss_bytes`` and is no leak, so judge ``anonymous_bytes``. Pages
    that were swapped out leave all three. Linux 6.2 to 6.16 keeps these counters per CPU and sums them loosely: a
    reading may lag by up to some hundred pages for each CPU that ran the process, which evens out over a series. Pages
    that a forked process shares with its parent until either writes are anonymous, and count in both.

    In a forked child the file is opened again on its own, so the child reads itself.

    Cost: 1.2 us for ``read_raw``, 2.2 us for ``read`` (two shared AMD EPYC cores, Python 3.11).
    Source: ``proc_pid_statm(5)``, fields size, resident and shared.

    Raises:
        ProbeUnavailable: no ``/proc/self/statm``, as on macOS, Windows and some sandboxes.
    """

    name = "process"
    cost = CostClass.POINT

    def __init__(self) -> None:
        self._file = KeptFile(_STATM, per_process=True)
        self.read()

    def read_raw(self) -> bytes:
        """Take one reading and leave its parsing for later: the hot path.

        Returns:
            The file's text; ``parse_statm`` reads it.

        Raises:
            ProbeUnavailable: closed, or the descriptor was closed by the program.
        """
        return self._file.read(_STATM_SIZE)

    @property
    def fd(self) -> int:
        """The descriptor, for who reads it without this class; -1 once it is closed."""
        return self._file.fd

    def read(self) -> Mapping[str, int]:
        """Read and parse the process's memory; see the class for the metrics, errors and cost."""
        return parse_statm(self._file.read(_STATM_SIZE))

    def reopen(self) -> None:
        """Open the file again: for a child made by a fork that ran no Python hooks."""
        self._file.reopen()

    def close(self) -> None:
        """Close the descriptor; may be called twice."""
        self._file.close()


def parse_statm(raw: bytes, *, least: int = 3) -> dict[str, int]:
    """Turn the text of ``/proc/self/statm`` into bytes.

    Args:
        raw: the text, of whose numbers the first three are looked at.
        least: how many there must be; two, where psutil tells no more.

    Returns:
        ``rss_bytes``, ``anonymous_bytes`` (resident less shared), ``file_and_shm_bytes`` and ``vms_bytes``; of two
        numbers only ``rss_bytes`` and ``vms_bytes``.

    Raises:
        ProbeUnavailable: the text is not a statm line, as when the program closed the descriptor and its number went
            to another file.

    >>> parse_statm(b"100 30 20 1 0 40 0")["anonymous_bytes"] == 10 * _PAGE_BYTES
    True
    """
    try:
        size, resident, *others = map(int, raw.split()[:3])
        if len(others) + 2 < least:
            raise ValueError("a number is missing")
    except ValueError as error:
        raise_the_programs(error)
        raise ProbeUnavailable(f"{_STATM} holds numbers (got {raw[:40]!r}); its descriptor was taken over") from error
    if not others:
        return {"rss_bytes": resident * _PAGE_BYTES, "vms_bytes": size * _PAGE_BYTES}
    shared = others[0]
    return {
        "rss_bytes": resident * _PAGE_BYTES,
        "anonymous_bytes": (resident - shared) * _PAGE_BYTES,
        "file_and_shm_bytes": shared * _PAGE_BYTES,
        "vms_bytes": size * _PAGE_BYTES,
    }


class PsutilProcessProbe(Closable):
    """Read the same figures through psutil where there is no ``/proc``.

    Metrics: ``rss_bytes`` and ``vms_bytes``; on Linux also ``anonymous_bytes`` and ``file_and_shm_bytes``, which
    elsewhere are absent because psutil has no cheap split (what Windows calls private is committed, not resident).

    Cost: 12-14 us (two shared AMD EPYC cores, Python 3.11). Source: ``psutil.Process.memory_info``.

    Raises:
        ProbeUnavailable: psutil is missing or cannot read this process.
    """

    name = "process"
    cost = CostClass.POINT

    def __init__(self) -> None:
        self._pid = 0
        self.reopen()
        self.read()

    def read(self) -> Mapping[str, int]:
        """Read the process's memory; see the class for the metrics, errors and cost."""
        import psutil

        self._require_open("the process's memory")
        if self._pid != os.getpid():
            self.reopen()
        try:
            memory = self._process.memory_info()
        except (psutil.Error, OSError) as error:
            raise_the_programs(error)
            raise ProbeUnavailable(f"psutil cannot read this process's memory: {error}") from error
        figures = {"rss_bytes": int(memory.rss), "vms_bytes": int(memory.vms)}
        shared = getattr(memory, "shared", None)
        if shared is not None:
            figures["anonymous_bytes"] = int(memory.rss - shared)
            figures["file_and_shm_bytes"] = int(shared)
        return figures

    def read_raw(self) -> bytes:
        """Take one reading as the text that ``/proc/self/statm`` would begin with; errors are those of ``read``."""
        figures = self.read()
        names = ("vms_bytes", "rss_bytes", "file_and_shm_bytes")
        pages = [str(figures[name] // _PAGE_BYTES) for name in names if name in figures]
        return " ".join(pages).encode() + b"\n"

    def reopen(self) -> None:
        """Turn to the current process, as a forked child must."""
        try:
            import psutil
        except ImportError as error:
            raise ProbeUnavailable("psutil is not installed and there is no /proc; install psutil") from error
        self._pid = os.getpid()
        self._process = psutil.Process(self._pid)


def open_process_probe() -> StatmProbe | PsutilProcessProbe:
    """Open the fastest probe that works here: ``/proc/self/statm``, otherwise psutil.

    Raises:
        ProbeUnavailable: neither works.
    """
    try:
        return StatmProbe()
    except ProbeUnavailable:
        return PsutilProcessProbe()
