"""A stand-in for torch's memory interface, and statistics in the shape torch gives them."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType

Nested = dict[str, object]


def statistic(small: int, large: int, *, peak: int | None = None) -> dict[str, dict[str, int]]:
    """One core statistic: per pool, current, peak, allocated and freed."""

    def pool(current: int, highest: int | None = None) -> dict[str, int]:
        return {"current": current, "peak": highest or current, "allocated": 2 * current, "freed": current}

    return {"all": pool(small + large, peak), "small_pool": pool(small), "large_pool": pool(large)}


def recorded_stats() -> Nested:
    """What torch 2.11 returned on an H200 after the collection step of a world model's first iteration."""
    return {
        "num_alloc_retries": 0,
        "num_ooms": 0,
        "num_sync_all_streams": 0,
        "num_device_alloc": 3,
        "num_device_free": 0,
        "max_split_size": -1,
        "allocation": statistic(34, 2),
        "segment": statistic(1, 2),
        "active": statistic(34, 2),
        "inactive_split": statistic(4, 0),
        "allocated_bytes": statistic(2_081_280, 67_108_864, peak=69_200_384),
        "reserved_bytes": statistic(2_097_152, 67_108_864),
        "active_bytes": statistic(2_081_280, 67_108_864),
        "inactive_split_bytes": statistic(15_872, 0),
        "requested_bytes": statistic(2_070_000, 67_108_864),
        "oversize_allocations": {"current": 0, "peak": 0, "allocated": 0, "freed": 0},
        "oversize_segments": {"current": 0, "peak": 0, "allocated": 0, "freed": 0},
    }


def idle_stats() -> Nested:
    """What a device returns that the program has not used."""
    return {"num_ooms": 0, "reserved_bytes": statistic(0, 0), "allocated_bytes": statistic(0, 0)}


class StandIn:
    """A backend that counts what it is asked.

    Args:
        devices: statistics of each device; the list may be changed between readings.
        is_initialized: what the backend says of itself.
        allocator: name of the allocator.
        fraction: part of the device the process may use.
    """

    def __init__(
        self,
        devices: Sequence[Nested] = (),
        *,
        is_initialized: bool = True,
        allocator: str = "native",
        fraction: float = 1.0,
    ) -> None:
        self.devices = list(devices)
        self.initialized = is_initialized
        self.asked_for_limits: list[int] = []
        self.asked_for_stats: list[int] = []
        self.module = ModuleType("torch.cuda")
        self.module.is_initialized = lambda: self.initialized  # type: ignore[attr-defined]
        self.module.device_count = lambda: len(self.devices)  # type: ignore[attr-defined]
        self.module.get_allocator_backend = lambda: allocator  # type: ignore[attr-defined]
        self.module.get_per_process_memory_fraction = lambda device: fraction  # type: ignore[attr-defined]
        self.module.memory_stats_as_nested_dict = self._stats  # type: ignore[attr-defined]
        self.module.mem_get_info = self._limits  # type: ignore[attr-defined]

    def modules(self, backend: str = "cuda") -> Mapping[str, ModuleType]:
        """A table of modules in which torch has this backend."""
        torch = ModuleType("torch")
        setattr(torch, backend, self.module)
        return {"torch": torch}

    def _stats(self, device: int) -> Nested:
        self.asked_for_stats.append(device)
        return self.devices[device] if self.initialized else {}

    def _limits(self, device: int) -> tuple[int, int]:
        self.asked_for_limits.append(device)
        reserved = self.devices[device]["reserved_bytes"]["all"]["current"]  # type: ignore[index]
        return min(100 << 30, (140 << 30) - reserved), 140 << 30


class OutOfMemoryError(RuntimeError):
    """As torch has it."""


def install(snapshot: str) -> ModuleType:
    """Let a program find torch imported, with one device and its history recorded.

    Args:
        snapshot: a file that is what torch dumps.

    Returns:
        The module; its ``fill`` sets how many GiB the program has allocated on the device.
    """
    backend = StandIn([recorded_stats()])
    torch = backend.modules()["torch"]

    def fill(gib: float) -> None:
        full = statistic(0, int(gib * (1 << 30)))
        backend.devices[0] = {**recorded_stats(), "allocated_bytes": full, "reserved_bytes": full}

    backend.module.memory = ModuleType("torch.cuda.memory")  # type: ignore[attr-defined]
    backend.module.memory._dump_snapshot = lambda file: shutil.copyfile(snapshot, file)  # type: ignore[attr-defined]
    torch._C = ModuleType("torch._C")  # type: ignore[attr-defined]
    torch._C._cuda_isHistoryEnabled = lambda: True  # type: ignore[attr-defined]
    torch.fill = fill  # type: ignore[attr-defined]
    OutOfMemoryError.__module__ = "torch"
    torch.OutOfMemoryError = OutOfMemoryError  # type: ignore[attr-defined]
    sys.modules["torch"] = torch
    return torch
