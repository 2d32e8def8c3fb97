"""TENSORS BY DEVICE: what the memory of each device holds at the end, as a sum."""

from __future__ import annotations

from dataclasses import dataclass

from phaseprof.recording.model import ProcessRun
from phaseprof.report.access import metrics_under, series_of
from phaseprof.report.text import Report, Style, pad, section
from phaseprof.report.words import TENSORS_FOR
from phaseprof.units import format_bytes

PREFIX = "tensors/"
_WORDS = {category: words.lower() for category, words in TENSORS_FOR.items()}
_WORDS["other"] += ": inputs, buffers, what is kept"
HIDDEN = "held outside Python: saved for backward, libraries"
CACHED = "free inside torch's allocator"
BESIDE = "beside torch: context, libraries, other processes"
_NAME_WIDTH = 54


@dataclass(frozen=True)
class Share:
    """A part of a device's memory."""

    name: str
    n_bytes: int


@dataclass(frozen=True)
class DeviceSum:
    """What the memory of one device holds.

    Attributes:
        device: as torch writes it, such as ``cuda:0``.
        parts: each byte once.
        total_name: what the parts add up to.
    """

    derived = ("total_bytes",)

    device: str
    parts: tuple[Share, ...]
    total_name: str

    @property
    def total_bytes(self) -> int:
        """All parts together."""
        return sum(part.n_bytes for part in self.parts)


@dataclass(frozen=True)
class DevicesReport(Report):
    """One sum for each device that has tensors; empty where none was looked at."""

    devices: tuple[DeviceSum, ...]

    def render(self, style: Style) -> str:
        """Lay the sums out as text, a total under each."""
        lines: list[str] = []
        for device in self.devices:
            lines += [*([""] if lines else []), f"{device.device}:"]
            lines += [_line(part.name, part.n_bytes) for part in device.parts]
            lines += ["   " + "-" * (_NAME_WIDTH + 13), _line(device.total_name, device.total_bytes)]
        return section("TENSORS BY DEVICE", "gpu", lines or ["No tensors were looked at."], style)


def _line(name: str, n_bytes: int) -> str:
    return f"   {pad(name, _NAME_WIDTH)}{format_bytes(n_bytes):>13}"


def build_devices(process: ProcessRun) -> DevicesReport:
    """Report what the newest look at tensors found on each device, and what its counters say beyond that."""
    found: dict[str, list[Share]] = {}
    for metric, series in metrics_under(process, PREFIX).items():
        device, _, category = metric.removesuffix("_bytes").rpartition("/")
        if category in _WORDS and series.last:
            found.setdefault(device, []).append(Share(_WORDS[category], int(series.last)))
    order = [*_WORDS.values()]
    return DevicesReport(
        tuple(
            _sum_of(process, device, sorted(parts, key=lambda part: order.index(part.name)))
            for device, parts in sorted(found.items())
        )
    )


def _sum_of(process: ProcessRun, device: str, parts: list[Share]) -> DeviceSum:
    counter = device.replace(":", "")
    in_tensors = sum(part.n_bytes for part in parts)
    allocated, reserved = (_last(process, f"{counter}/{name}_bytes") for name in ("allocated", "reserved"))
    if allocated is None or allocated < in_tensors:  # of the host, or the program let go of tensors since
        return DeviceSum(device, tuple(parts), "in tensors that Python can see")
    parts = [*parts, Share(HIDDEN, allocated - in_tensors)]
    if reserved is None or reserved < allocated:
        return DeviceSum(device, tuple(parts), "allocated")
    parts = [*parts, Share(CACHED, reserved - allocated)]
    limit, free = _last(process, f"{counter}/limit_bytes"), _last(process, f"{counter}/free_bytes")
    if limit is None or free is None or limit - free < reserved:
        return DeviceSum(device, tuple(parts), "reserved by torch")
    return DeviceSum(device, (*parts, Share(BESIDE, limit - free - reserved)), "in use on the device")


def _last(process: ProcessRun, metric: str) -> int | None:
    series = series_of(process, metric)
    return None if series is None or not series.values else int(series.last)
