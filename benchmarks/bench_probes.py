"""What each counter probe costs, beside one psutil reading taken in turn with it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import psutil

from phaseprof.probes.process import StatmProbe
from phaseprof.probes.protocol import CostClass
from phaseprof.probes.registry import available_probes

ROUNDS = 61
ROUND_S = 0.0006  # long enough for the clock, short enough that both sides see the same machine
BOUND_US = {CostClass.POINT: 30.0, CostClass.GENERATION: 5_000.0}


def rows(quick: bool = False) -> list[dict[str, object]]:
    """Measure every probe that works here; takes about two seconds, quick or not.

    Returns:
        One row a probe: ``name``, ``ours`` (median seconds of a reading), ``peer`` (median of
        ``psutil.Process().memory_info()`` interleaved with it), ``ratio`` (peer over ours), ``most``, the bound of its
        cost class in seconds, and that class in ``note``.
    """
    peer = psutil.Process().memory_info
    statm = StatmProbe()
    working, _ = available_probes()
    try:
        measured = [_row("process, raw", CostClass.POINT, statm.read_raw, peer)]
        measured += [_row(probe.name, probe.cost, probe.read, peer) for probe in working]
    finally:
        for probe in (statm, *working):
            probe.close()
    return measured


def _row(name: str, cost: CostClass, ours: Callable[[], object], peer: Callable[[], object]) -> dict[str, object]:
    ours_us, peer_us = interleaved_medians_us(ours, peer)
    return {
        "name": f"probe: {name}",
        "ours": ours_us / 1e6,
        "peer": peer_us / 1e6,
        "peer_name": "psutil memory_info()",
        "ratio": peer_us / ours_us,
        "bound": None,
        "most": BOUND_US[cost] / 1e6,
        "note": f"read once a {cost.value}",
    }


def interleaved_medians_us(first: Callable[[], object], second: Callable[[], object]) -> tuple[float, float]:
    """Time two calls round by round in turn, so that a busy moment of the machine hits both."""
    counts = [_calls_a_round(call) for call in (first, second)]
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for call, count, seen in zip((first, second), counts, times, strict=True):
            seen.append(_time_us(call, count))
    return statistics.median(times[0]), statistics.median(times[1])


def _calls_a_round(call: Callable[[], object]) -> int:
    return max(1, int(ROUND_S * 1e6 / max(0.05, min(_time_us(call, 3) for _ in range(3)))))


def _time_us(call: Callable[[], object], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) * 1e6 / count


if __name__ == "__main__":
    for row in rows():
        print(row)
