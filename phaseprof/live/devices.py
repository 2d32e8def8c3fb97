"""Accelerator counters at every boundary, from the moment the program has initialised its device."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import ModuleType

from phaseprof.errors import ProbeUnavailable
from phaseprof.interrupts import raise_the_programs
from phaseprof.probes.cuda import AcceleratorProbe, MpsProbe, open_accelerator_probe
from phaseprof.recording.format import DEVICE_COUNTERS

# A program that never uses a device is asked once a second at most.
RETRY_NS = 1_000_000_000


class Devices:
    """Looks for an accelerator that is in use, and reads it in the order of ``DEVICE_COUNTERS``.

    Args:
        clock: nanoseconds, monotonic.
        warn: told once when a device can no longer be read; its figures are missing from then on.
        modules: where to look for torch.
    """

    def __init__(
        self,
        clock: Callable[[], int],
        warn: Callable[[str], None],
        *,
        modules: Mapping[str, ModuleType] = sys.modules,
    ) -> None:
        self._clock = clock
        self._warn = warn
        self._modules = modules
        self._probe: AcceleratorProbe | MpsProbe | None = None
        self._read: Mapping[str, int] = {}
        self._next_try = 0
        self._is_lost = False

    def look(self) -> bool:
        """Return whether a device is being read, trying anew if none is and the last try was long enough ago.

        Nothing is imported or initialised for it.  Cost: 0.2 µs, or 20 µs for a try.
        """
        if self._probe is not None or self._is_lost:
            return self._probe is not None
        now = self._clock()
        if now < self._next_try or "torch" not in self._modules:
            return False
        self._next_try = now + RETRY_NS
        try:
            self._probe = open_accelerator_probe(self._modules)
        except ProbeUnavailable:
            return False
        return True

    def __call__(self) -> Mapping[str, list[int]]:
        """Read every device in use: name to counters, -1 where one is not measured.  Never raises."""
        if self._probe is None:
            return {}
        try:
            self._read = self._probe.read()
        except Exception as error:  # noqa: BLE001 - a driver may fail in its own ways; the training goes on
            raise_the_programs(error)
            self._warn(f"device memory is no longer measured: {error}")
            self._probe, self._is_lost = None, True
            return {}
        return in_order(self._read)

    def limits(self) -> dict[str, float]:
        """Read what each device has in all, free, and left for this program, by its newest reading.  Never raises.

        Returns:
            Under ``cuda0/``: ``limit_bytes``; ``free_bytes``, to every process; ``available_bytes``: what torch may
            still take, and what lies free in its cache.

        Cost: 9 µs a device.
        """
        if self._probe is None:
            return {}
        try:
            found = self._probe.device_limits()
        except Exception as error:  # noqa: BLE001 - as above; without limits there is no time to the end
            raise_the_programs(error)
            return {}
        figures: dict[str, float] = {}
        for device, limit in found.items():
            figures[f"{device}/limit_bytes"] = float(limit.total_bytes)
            if limit.free_bytes is not None:
                figures[f"{device}/free_bytes"] = float(limit.free_bytes)
            allocated, reserved = (self._read.get(f"{device}/{name}_bytes") for name in ("allocated", "reserved"))
            if allocated is not None and reserved is not None:
                more = limit.total_bytes - reserved
                more = more if limit.free_bytes is None else min(more, limit.free_bytes)
                figures[f"{device}/available_bytes"] = float(max(0, more) + reserved - allocated)
        return figures

    def close(self) -> None:
        """Let go of the probe."""
        if self._probe is not None:
            self._probe.close()
            self._probe = None


def in_order(figures: Mapping[str, int]) -> dict[str, list[int]]:
    """Sort flat figures such as ``cuda0/allocated_bytes`` by device, in the order of ``DEVICE_COUNTERS``."""
    devices: dict[str, list[int]] = {}
    for metric, value in figures.items():
        device, _, name = metric.partition("/")
        if name in _PLACE:
            devices.setdefault(device, [-1] * len(DEVICE_COUNTERS))[_PLACE[name]] = value
    return devices


_PLACE = {name: at for at, name in enumerate(DEVICE_COUNTERS)}
