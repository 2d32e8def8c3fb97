"""Whether malloc gives back what it keeps of freed memory: tried once, when a run ends."""

from __future__ import annotations

from collections.abc import Sequence

from phaseprof.errors import ProbeUnavailable
from phaseprof.live.closing import ClosingLook
from phaseprof.probes.malloc import MallocProbe
from phaseprof.probes.process import open_process_probe
from phaseprof.probes.protocol import Probe
from phaseprof.recording.series import Series

# Below it nobody asks what became of freed memory: a heap that takes pieces of many sizes keeps some tens of megabytes.
TRIED_BYTES = 32 * 1024 * 1024
# What a trim takes for each free byte, in nanoseconds: 0.10 to 0.14 with holes of 60 and 9 KB (an AMD EPYC core).
TRIM_NS = 0.2
# Under which name it is recorded.
GIVEN_BACK = "malloc_given_back_bytes"


def try_trim(probes: Sequence[Probe], free: Series | None, look: ClosingLook) -> dict[str, float]:
    """Return the bytes of private memory that a trim gave back to the system; nothing where none was tried.

    It is tried where malloc has more of freed memory by 32 MiB than at the begin, and the look has time for it.  What
    the program holds is not touched.

    Args:
        probes: those that are read.
        free: what malloc had free in each generation; ``None`` where that was not read.
        look: says what there is time for.
    """
    malloc = next((probe for probe in probes if type(probe) is MallocProbe), None)
    if malloc is None or free is None or free.last - free.values[0] < TRIED_BYTES:
        return {}
    if not look.admits("trial trim", TRIM_NS * free.last):
        return {}
    before = _private_bytes()
    after = _private_bytes() if before is not None and malloc.trim() else None
    return {} if before is None or after is None else {GIVEN_BACK: max(0.0, before - after)}


def _private_bytes() -> float | None:
    try:
        probe = open_process_probe()
    except ProbeUnavailable:
        return None
    figures = probe.read()
    probe.close()
    return figures.get("anonymous_bytes")
