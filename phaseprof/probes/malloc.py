"""The C heap: bytes in use against bytes that glibc keeps for later."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping

from phaseprof.errors import ProbeUnavailable
from phaseprof.probes.protocol import Closable, CostClass

_TRIAL_BYTES = 96 * 1024  # below the smallest threshold (128 KiB) from which glibc maps a block apart from its arenas
_TRIALS = 3


class _Mallinfo2(ctypes.Structure):
    # In glibc's order; each a size_t.
    _names = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")
    _fields_ = tuple((name, ctypes.c_size_t) for name in _names)


class MallocProbe(Closable):
    """Ask glibc's allocator what is in use and what it keeps.

    Metrics: ``malloc_in_use_bytes``, blocks handed out and not given back, in the arenas of all threads and mapped
    apart (``uordblks + hblkhd``); ``malloc_free_bytes``, free inside the arenas (``fordblks``);
    ``malloc_arenas_bytes``, what the arenas hold in all, used and free (``arena``), without blocks mapped apart;
    ``python_blocks``, blocks that Python's own allocator has handed out (``sys.getallocatedblocks``), absent where it
    is switched off.

    Reading them: retention is free bytes that stay resident. ``malloc_free_bytes`` bounds it from above, since pages
    that ``malloc_trim`` gave back to the system still count as free until they are used again. Resident memory that
    rises while ``malloc_in_use_bytes`` stands still is retention or fragmentation and no leak; fewer arenas
    (``MALLOC_ARENA_MAX``) or ``malloc_trim`` cure it.

    Traps: small blocks that a thread's cache holds (at most some hundred KiB a thread) count as in use. Python's small
    objects, up to 512 bytes, live in arenas that Python maps itself and show in ``python_blocks`` only. The older
    ``mallinfo`` wraps at 4 GiB, so glibc before 2.33 is refused. Under jemalloc, tcmalloc or mimalloc glibc's figures
    stand still while memory grows: a trial block that does not show makes the probe refuse.

    Cost: 1.6 us on a small heap, 20 us with torch loaded; each arena is locked in turn and its free blocks are walked,
    so a fragmented heap costs more: 0.2 ms with 50,000 holes, 10 ms with 500,000 (two shared AMD EPYC cores, Python
    3.11). Source: ``mallinfo2(3)``, which adds up all arenas.

    Raises:
        ProbeUnavailable: the C library has no ``mallinfo2`` (musl, macOS, Windows, glibc before 2.33), or the program
            allocates elsewhere.
    """

    name = "malloc"
    cost = CostClass.GENERATION

    def __init__(self) -> None:
        # PyDLL holds the interpreter's lock: letting go of it would cost more than the call.
        library = ctypes.PyDLL(None) if sys.platform != "win32" else None
        if library is None or not hasattr(library, "mallinfo2"):
            raise ProbeUnavailable("the C library has no mallinfo2; it came with glibc 2.33")
        self._mallinfo2 = library.mallinfo2
        self._mallinfo2.argtypes = ()
        self._mallinfo2.restype = _Mallinfo2
        if not any(self._shows_a_block(library) for _ in range(_TRIALS)):
            raise ProbeUnavailable("glibc's malloc does not serve this program (another allocator is preloaded)")

    def read(self) -> Mapping[str, int]:
        """Read the heap's figures; see the class for metrics and cost.

        Raises:
            ProbeUnavailable: the probe was closed.
        """
        self._require_open("the C heap")
        heap = self._mallinfo2()
        figures = {
            "malloc_in_use_bytes": heap.uordblks + heap.hblkhd,
            "malloc_free_bytes": heap.fordblks,
            "malloc_arenas_bytes": heap.arena,
        }
        blocks = sys.getallocatedblocks()
        # Under PYTHONMALLOC=malloc the function answers 0, which is no count.
        return {**figures, "python_blocks": blocks} if blocks else figures

    def trim(self) -> bool:
        """Have all arenas give free pages back to the system; return whether the C library can.

        Nothing that the program holds is touched; what it asks for next may have to be mapped anew.

        Cost: 0.10 to 0.14 ns a free byte (an AMD EPYC core), without the interpreter's lock.
        Source: ``malloc_trim(3)``.
        """
        self._require_open("the C heap")
        library = ctypes.CDLL(None)
        if not hasattr(library, "malloc_trim"):
            return False
        library.malloc_trim(ctypes.c_size_t(0))
        return True

    def _shows_a_block(self, library: ctypes.PyDLL) -> bool:
        # Another thread may free as much in the same moment, hence more trials than one.
        library.malloc.restype = ctypes.c_void_p
        library.malloc.argtypes = (ctypes.c_size_t,)
        library.free.argtypes = (ctypes.c_void_p,)
        before = self.read()["malloc_in_use_bytes"]
        block = library.malloc(_TRIAL_BYTES)
        after = self.read()["malloc_in_use_bytes"]
        library.free(block)
        return after - before >= _TRIAL_BYTES
