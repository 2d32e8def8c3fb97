"""Counters of torch's caching allocators on CUDA, XPU and MPS devices, host side only."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from phaseprof.errors import ProbeUnavailable
from phaseprof.interrupts import raise_the_programs
from phaseprof.probes.protocol import CostClass

_RESCAN_EVERY = 100  # readings between two looks at idle devices: 22 us each, so under 2 us in the mean for eight

# metric, then statistic, pool and reading in torch's nested dict
_Path = tuple[str, str, str, str]
_NATIVE: tuple[_Path, ...] = (
    ("allocated_bytes", "allocated_bytes", "all", "current"),
    ("reserved_bytes", "reserved_bytes", "all", "current"),
    ("active_bytes", "active_bytes", "all", "current"),
    ("peak_allocated_bytes", "allocated_bytes", "all", "peak"),
    ("small_pool_active_bytes", "active_bytes", "small_pool", "current"),
    ("large_pool_active_bytes", "active_bytes", "large_pool", "current"),
    ("active_blocks", "active", "all", "current"),
    ("small_pool_active_blocks", "active", "small_pool", "current"),
    ("large_pool_active_blocks", "active", "large_pool", "current"),
    ("inactive_split_bytes", "inactive_split_bytes", "all", "current"),
    ("segments", "segment", "all", "current"),
)
# An allocator outside torch keeps these four only; torch fills the rest with zeros, which would be read as figures.
_FOREIGN = frozenset(metric for metric, *_ in _NATIVE[:4])
_COUNTERS = (("alloc_retries", "num_alloc_retries"), ("ooms", "num_ooms"))


@dataclass(frozen=True)
class DeviceLimit:
    """Memory of one device.

    Attributes:
        total_bytes: memory of the device, or the part of it that the program allowed itself, if less.
        free_bytes: free to every process now; ``None`` where torch does not tell.
        source: which limit ``total_bytes`` is, in words.
    """

    total_bytes: int
    free_bytes: int | None
    source: str


class AcceleratorProbe:
    """Read torch's caching allocator of each CUDA or XPU device that this process uses.

    Metrics, for device 0 under ``cuda0/`` (or ``xpu0/``): ``allocated_bytes``, in live tensors; ``active_bytes``, with
    blocks that another stream still needs; ``reserved_bytes``, taken from the device; ``small_pool_active_bytes`` and
    ``large_pool_active_bytes`` (requests up to and above 1 MiB); ``active_blocks``, also by pool; ``segments``;
    ``inactive_split_bytes``, free parts of blocks in use, that only fitting requests can have; and since the start or
    the program's own reset ``peak_allocated_bytes``, ``alloc_retries`` and ``ooms``.

    The probe never imports torch, never initialises a device, never waits for one, and never resets a peak: it refuses
    until the program has initialised the device itself, so try again later. A device counts as used once it has
    reserved memory; idle ones are looked at again every 100 readings.

    Traps: ``reserved_bytes`` climbs for a long time under varying lengths though nothing leaks: judge allocated and
    active. Under ``cudaMallocAsync`` torch reports zero for pools, blocks, splits and retries: they are absent here.
    Memory that libraries take directly from the driver is in none of them. In a forked child CUDA cannot be used, and
    the probe says so.

    Args:
        backend: ``cuda`` or ``xpu``.
        modules: where to look for torch.

    Cost: 22 us a device on an NVIDIA H200 (torch's own summary of one figure costs 114-134), and 3 us to flatten (two
    shared AMD EPYC cores, Python 3.11). Source: ``torch.cuda.memory_stats_as_nested_dict``.

    Raises:
        ProbeUnavailable: torch is not imported, or the program has not initialised the device.
    """

    cost = CostClass.POINT

    def __init__(self, backend: str = "cuda", *, modules: Mapping[str, ModuleType] = sys.modules) -> None:
        self.name = backend
        self._module: ModuleType | None = _initialised_backend(backend, modules)
        self._keep = None if _allocator_of(self._module) == "native" else _FOREIGN
        self._used: list[int] = []
        self._n_reads = 0
        self.read()

    def read(self) -> Mapping[str, int]:
        """Read the counters of every used device; see the class for metrics, errors and cost."""
        module = self._module
        if module is None:
            raise ProbeUnavailable(f"cannot read {self.name} memory: the probe was closed")
        if self._n_reads % _RESCAN_EVERY == 0:
            self._find_used_devices(module)
        self._n_reads += 1
        figures: dict[str, int] = {}
        for device in self._used:
            nested = _nested_stats(module, device)
            if not nested:
                raise ProbeUnavailable(f"torch no longer reports {self.name}:{device} (a forked child cannot use it)")
            figures.update(flatten_stats(nested, prefix=f"{self.name}{device}/", keep=self._keep))
        return figures

    def device_limits(self) -> Mapping[str, DeviceLimit]:
        """Read how much memory each used device has, by its name such as ``cuda0``.

        Only devices that this process uses already are asked, because asking an idle one creates a context on it, which
        takes hundreds of MB.

        Raises:
            ProbeUnavailable: the probe was closed.

        Cost: 9 us a device on an NVIDIA H200, so ask seldom. Source: ``torch.cuda.mem_get_info`` and
        ``get_per_process_memory_fraction``.
        """
        module = self._module
        if module is None:
            raise ProbeUnavailable(f"cannot read {self.name} limits: the probe was closed")
        limits = ((f"{self.name}{device}", _device_limit(module, device)) for device in self._used)
        return {name: limit for name, limit in limits if limit is not None}

    def close(self) -> None:
        """Let go of torch; may be called twice."""
        self._module = None

    def _find_used_devices(self, module: ModuleType) -> None:
        for device in range(module.device_count()):
            if device not in self._used and _reserved_bytes(module, device):
                self._used.append(device)


class MpsProbe:
    """Read torch's allocator on Apple's GPU.

    Metrics: ``mps0/allocated_bytes``, in live tensors; ``mps0/reserved_bytes``, all that Metal's driver holds for this
    process, cached blocks included.

    Traps: torch does not tell whether the program has used the device; where it has not, the first reading makes torch
    set up its allocator, which starts no work on the device.

    Args:
        modules: where to look for torch.

    Source: ``torch.mps.current_allocated_memory``, ``driver_allocated_memory``. Its cost has not been measured.

    Raises:
        ProbeUnavailable: torch is not imported, or has no usable MPS device.
    """

    name = "mps"
    cost = CostClass.POINT

    def __init__(self, *, modules: Mapping[str, ModuleType] = sys.modules) -> None:
        backends = getattr(_imported_torch(modules), "backends", None)
        switch = getattr(backends, "mps", None)
        module = getattr(_imported_torch(modules), "mps", None)
        if module is None or switch is None or not switch.is_available():
            raise ProbeUnavailable("this torch has no MPS device")
        self._module: ModuleType | None = module
        self.read()

    def read(self) -> Mapping[str, int]:
        """Read the allocator; see the class for metrics and errors."""
        if self._module is None:
            raise ProbeUnavailable("cannot read mps memory: the probe was closed")
        try:
            return {
                "mps0/allocated_bytes": self._module.current_allocated_memory(),
                "mps0/reserved_bytes": self._module.driver_allocated_memory(),
            }
        except (RuntimeError, AttributeError) as error:
            raise_the_programs(error)
            raise ProbeUnavailable(f"torch cannot read mps memory: {error}") from error

    def device_limits(self) -> Mapping[str, DeviceLimit]:
        """Read what Metal recommends as this process's largest working set.

        Raises:
            ProbeUnavailable: the probe was closed.
        """
        if self._module is None:
            raise ProbeUnavailable("cannot read mps limits: the probe was closed")
        ask = getattr(self._module, "recommended_max_memory", None)
        return {} if ask is None else {"mps0": DeviceLimit(ask(), None, "Metal's recommended working set")}

    def close(self) -> None:
        """Let go of torch; may be called twice."""
        self._module = None


def open_accelerator_probe(modules: Mapping[str, ModuleType] = sys.modules) -> AcceleratorProbe | MpsProbe:
    """Open the probe of the kind of device that the program has initialised: CUDA, XPU or MPS.

    Cheap to repeat while there is none (0.1 us before torch is imported, 2 us before it is initialised).

    Raises:
        ProbeUnavailable: torch is not imported, or the program has initialised no device yet.
    """
    _imported_torch(modules)
    for backend in ("cuda", "xpu"):
        try:
            return AcceleratorProbe(backend, modules=modules)
        except ProbeUnavailable:
            continue
    try:
        return MpsProbe(modules=modules)
    except ProbeUnavailable:
        raise ProbeUnavailable("the program has initialised no CUDA, XPU or MPS device (yet)") from None


def flatten_stats(
    nested: Mapping[str, object], *, prefix: str = "", keep: frozenset[str] | None = None
) -> dict[str, int]:
    """Pick the figures worth keeping out of torch's nested dict.

    Args:
        nested: what ``torch.cuda.memory_stats_as_nested_dict`` returns: statistic, pool, then current, peak, allocated
            and freed; some statistics are plain numbers.
        prefix: put before every metric, such as ``cuda0/``.
        keep: the metrics to take; ``None`` takes all.

    Returns:
        Metric name to value; a statistic that this torch does not keep is absent.

    Cost: 2.7 us (two shared AMD EPYC cores, Python 3.11).
    """
    tree: Any = nested
    figures: dict[str, int] = {}
    for metric, statistic, pool, reading in _NATIVE:
        try:
            value = tree[statistic][pool][reading]
        except (KeyError, TypeError) as error:
            raise_the_programs(error)
            continue
        if type(value) is int:
            figures[prefix + metric] = value
    for metric, statistic in _COUNTERS:
        value = tree.get(statistic)
        if type(value) is int:
            figures[prefix + metric] = value
    if keep is None:
        return figures
    return {metric: value for metric, value in figures.items() if metric.removeprefix(prefix) in keep}


def dump_history(file: Path, modules: Mapping[str, ModuleType] = sys.modules) -> bool:
    """Write torch's snapshot of CUDA memory to a file, if the program has its history recorded; tell whether it was.

    Args:
        file: what is there is replaced.
        modules: where to look for torch.

    Raises:
        OSError: it cannot be written.

    Cost: 0.5 s and 12 MB for 380,000 blocks on an NVIDIA H200; several kilobytes more for each entry of the history.
    Source: ``torch.cuda.memory._dump_snapshot``.
    """
    torch: Any = modules.get("torch")
    is_recorded = getattr(getattr(torch, "_C", None), "_cuda_isHistoryEnabled", None)
    if is_recorded is None or not is_recorded():
        return False
    torch.cuda.memory._dump_snapshot(str(file))
    return True


def _imported_torch(modules: Mapping[str, ModuleType]) -> ModuleType:
    torch = modules.get("torch")
    if torch is None:
        raise ProbeUnavailable("the program has not imported torch")
    return torch


def _initialised_backend(backend: str, modules: Mapping[str, ModuleType]) -> ModuleType:
    # While another thread is still importing torch, its parts may be missing.
    module: ModuleType | None = getattr(_imported_torch(modules), backend, None)
    if module is None or getattr(module, "memory_stats_as_nested_dict", None) is None:
        raise ProbeUnavailable(f"this torch keeps no {backend} memory statistics")
    if not module.is_initialized():
        raise ProbeUnavailable(f"the program has not initialised {backend} (yet)")
    return module


def _allocator_of(module: ModuleType | None) -> str:
    ask = getattr(module, "get_allocator_backend", None)
    return "native" if ask is None else str(ask())


def _nested_stats(module: ModuleType, device: int) -> Mapping[str, object]:
    try:
        nested: Mapping[str, object] = module.memory_stats_as_nested_dict(device)
    except (RuntimeError, AssertionError, ValueError) as error:
        raise_the_programs(error)
        raise ProbeUnavailable(f"torch cannot read memory statistics of device {device}: {error}") from error
    return nested


def _reserved_bytes(module: ModuleType, device: int) -> int:
    return flatten_stats(_nested_stats(module, device)).get("reserved_bytes", 0)


def _device_limit(module: ModuleType, device: int) -> DeviceLimit | None:
    try:
        free_bytes, total_bytes = module.mem_get_info(device)
        ask_fraction = getattr(module, "get_per_process_memory_fraction", None)
        fraction = 1.0 if ask_fraction is None else float(ask_fraction(device))
    except (RuntimeError, AttributeError) as error:
        raise_the_programs(error)
        return None
    if fraction < 1.0:
        return DeviceLimit(int(total_bytes * fraction), free_bytes, "per-process memory fraction")
    return DeviceLimit(total_bytes, free_bytes, "device memory")
