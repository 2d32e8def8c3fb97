"""The ring of recorded allocator events: allocations without a free, failed ones, and the phase each fell into."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

from phaseprof.analysis.snapshots.frames import FrameTable, printable
from phaseprof.analysis.snapshots.model import EventSums, OutOfMemory, Survivor
from phaseprof.analysis.snapshots.timeline import build_timeline

_FREES = ("free_requested", "free_completed", "free")
# Optimizers annotate their own steps unasked: a phase the user named around them says more.
_OPTIMIZER = "Optimizer."


class PhaseClock:
    """Tells which annotated phase was open on one device at a time."""

    def __init__(self, marks: Sequence[tuple[int, bool, str]]) -> None:
        self._times: list[int] = []
        self._open: list[str | None] = []
        stack: list[str] = []
        for time_us, is_start, name in sorted(marks, key=lambda mark: mark[0]):
            if is_start:
                stack.append(name)
            elif name in stack:
                del stack[len(stack) - 1 - stack[::-1].index(name) :]
            self._times.append(time_us)
            self._open.append(_innermost(stack))

    def phase(self, time_us: object) -> str | None:
        """Return the label of the innermost phase open at a time in microseconds, ``None`` if none was."""
        if type(time_us) is not int:
            return None
        place = bisect_right(self._times, time_us) - 1
        return self._open[place] if place >= 0 else None

    @staticmethod
    def by_device(annotations: Sequence[object]) -> dict[int, PhaseClock]:
        """Build one clock a device from the snapshot's ``external_annotations``; malformed ones are left out."""
        marks: dict[int, list[tuple[int, bool, str]]] = {}
        for item in annotations:
            if not isinstance(item, dict):
                continue
            name, device, time_us = item.get("name"), item.get("device", 0), item.get("time_us")
            if type(name) is str and type(device) is int and type(time_us) is int:
                label = printable(name).strip("# ") or name
                marks.setdefault(device, []).append((time_us, item.get("stage") == "START", label))
        return {device: PhaseClock(found) for device, found in marks.items()}


def live_allocations(trace: Sequence[object]) -> dict[int, dict[str, object]]:
    """Return the recorded allocations that no later event freed, by their address.

    Args:
        trace: one device's entries in the order in which they were recorded.
    """
    live: dict[int, dict[str, object]] = {}
    for entry in trace:
        if not isinstance(entry, dict):
            continue
        action, address = entry.get("action"), entry.get("addr")
        if type(address) is not int:
            continue
        if action == "alloc":
            live[address] = entry
        elif action in _FREES:
            live.pop(address, None)
    return live


def phases_of(live: Mapping[int, dict[str, object]], clock: PhaseClock | None) -> dict[int, str]:
    """Map the address of each live allocation to the phase it was made in, where one was open."""
    if clock is None:
        return {}
    found = {address: clock.phase(entry.get("time_us")) for address, entry in live.items()}
    return {address: phase for address, phase in found.items() if phase is not None}


def sum_events(
    trace: Sequence[object], live: Mapping[int, dict[str, object]], clock: PhaseClock | None, frames: FrameTable
) -> EventSums:
    """Sum the events of one device.

    Args:
        trace: entries in the order in which they were recorded.
        live: its ``live_allocations``.
        clock: the device's phases, if any were annotated.
        frames: table that interns the entries' frames.

    Cost: about 1 µs an entry.
    """
    entries = [entry for entry in trace if isinstance(entry, dict)]
    times = [entry["time_us"] for entry in entries if type(entry.get("time_us")) is int]
    return EventSums(
        events=len(entries),
        allocations=sum(entry.get("action") == "alloc" for entry in entries),
        span_s=(max(times) - min(times)) / 1e6 if times else 0.0,
        survivors=_survivors(live.values(), clock, frames),
        ooms=tuple(_out_of_memory(entry, clock, frames) for entry in entries if entry.get("action") == "oom"),
        timeline=build_timeline(entries, frames),
    )


def _survivors(
    entries: Iterable[dict[str, object]], clock: PhaseClock | None, frames: FrameTable
) -> tuple[Survivor, ...]:
    sums: dict[tuple[int, str | None], list[int]] = {}
    for entry in entries:
        phase = clock.phase(entry.get("time_us")) if clock else None
        pair = sums.setdefault((frames.number(entry.get("frames")), phase), [0, 0])
        pair[0] += 1
        pair[1] += _size(entry)
    found = [Survivor(frames.stack(number), phase, blocks, size) for (number, phase), (blocks, size) in sums.items()]
    return tuple(sorted(found, key=lambda item: -item.requested_bytes))


def _out_of_memory(entry: Mapping[str, object], clock: PhaseClock | None, frames: FrameTable) -> OutOfMemory:
    free = entry.get("device_free")
    return OutOfMemory(
        requested_bytes=_size(entry),
        device_free_bytes=free if type(free) is int else -1,
        stack=frames.stack(frames.number(entry.get("frames"))),
        phase=clock.phase(entry.get("time_us")) if clock else None,
    )


def _size(entry: Mapping[str, object]) -> int:
    size = entry.get("size", 0)
    if type(size) is not int or not 0 <= size < 1 << 63:
        raise TypeError("an event's size is not a number of bytes")
    return size


def _innermost(stack: Sequence[str]) -> str | None:
    named = [name for name in stack if not name.startswith(_OPTIMIZER)] or stack
    return named[-1] if named else None
