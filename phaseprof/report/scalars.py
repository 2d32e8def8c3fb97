"""The newest figures of a run as scalars, by the keys that experiment trackers know."""

from __future__ import annotations

from phaseprof.recording.model import ProcessRun
from phaseprof.report.access import ALLOCATED, GENERATION_END, devices_in, series_of
from phaseprof.report.rollout import build_rollout_profile
from phaseprof.report.tracked import build_tracked
from phaseprof.units import MB


def build_scalars(process: ProcessRun) -> dict[str, float]:
    """Return key to value: sizes and growth of tracked names, memory of the process and of devices, items a second.

    Keys: ``memory/{name}/size_mb``, ``memory/{name}/growth_mb_per_epoch``, ``system/gpu_memory_allocated_MB``,
    ``system/gpu_memory_reserved_MB`` (of the first device; of others with their name after ``gpu``),
    ``system/process_memory_MB``, ``train/sps``.
    """
    process.fold()
    found: dict[str, float] = {}
    for one in build_tracked(process).sizes:
        if not one.is_gone:
            found[f"memory/{one.name}/size_mb"] = one.size_bytes / MB
            found[f"memory/{one.name}/growth_mb_per_epoch"] = one.growth_bytes_per_epoch / MB
    found.update(_devices(process))
    rss = series_of(process, "rss_bytes")
    if rss is not None:
        found["system/process_memory_MB"] = rss.last / MB
    if any(g.seconds is not None for g in process.generations):
        rate = build_rollout_profile(process).items_per_s
        found.update({} if rate is None else {"train/sps": rate})
    return found


def _devices(process: ProcessRun) -> dict[str, float]:
    metrics = [metric for point, metric in process.series if point == GENERATION_END]
    found = {}
    for at, device in enumerate(devices_in(metrics)):
        name = "gpu" if at == 0 else f"gpu_{device}"
        for word, metric in (("allocated", f"{device}{ALLOCATED}"), ("reserved", f"{device}/reserved_bytes")):
            series = series_of(process, metric)
            if series is not None:
                found[f"system/{name}_memory_{word}_MB"] = series.last / MB
    return found
