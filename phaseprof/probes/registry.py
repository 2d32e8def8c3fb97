"""Every counter probe by name, and which of them work here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from phaseprof.errors import ProbeUnavailable
from phaseprof.probes.child_growth import ChildGrowthProbe
from phaseprof.probes.children import ChildrenProbe
from phaseprof.probes.cuda import open_accelerator_probe
from phaseprof.probes.descriptors import DescriptorProbe
from phaseprof.probes.gc_watch import GcWatch
from phaseprof.probes.limits import LimitProbe
from phaseprof.probes.malloc import MallocProbe
from phaseprof.probes.process import open_process_probe
from phaseprof.probes.protocol import Probe
from phaseprof.probes.shared_memory import SharedMemoryProbe, SharedPagesProbe
from phaseprof.probes.threads import ThreadProbe

PROBES: Mapping[str, Callable[[], Probe]] = {
    "process": open_process_probe,
    "limits": LimitProbe,
    "accelerator": open_accelerator_probe,
    "children": ChildrenProbe,
    "child growth": ChildGrowthProbe,
    "descriptors": DescriptorProbe,
    "threads": ThreadProbe,
    "shared memory": SharedMemoryProbe,
    "shared pages": SharedPagesProbe,
    "malloc": MallocProbe,
    "gc": GcWatch,
}


def available_probes(
    factories: Mapping[str, Callable[[], Probe]] = PROBES,
) -> tuple[list[Probe], list[tuple[str, str]]]:
    """Open every probe that works here.

    Args:
        factories: name to what opens the probe.

    Returns:
        The working probes, to be closed by the caller, and name and reason of each that does not work here. Probes that
        may work later, such as the accelerator's before the program has initialised it, are among the latter.
    """
    opened = [(name, _open_or_reason(factory)) for name, factory in factories.items()]
    working = [probe for _, probe in opened if not isinstance(probe, str)]
    missing = [(name, reason) for name, reason in opened if isinstance(reason, str)]
    return working, missing


def _open_or_reason(factory: Callable[[], Probe]) -> Probe | str:
    try:
        return factory()
    except ProbeUnavailable as error:
        return str(error)
