"""A log of one column under any usual name: a straight leak is a leak, or it is said that it was not judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from phaseprof.analysis.imports import import_files, parse_units
from phaseprof.cli.judged import CLEAN, LEAK, TOO_SHORT, JudgedRun, judge_run

MIB = 1 << 20


def judged(tmp_path: Path, columns: dict[str, list[float]], *units: str) -> JudgedRun:
    rows = [",".join(["step", *columns])]
    rows += [",".join(map(str, row)) for row in zip(range(len(next(iter(columns.values())))), *columns.values())]  # noqa: B905
    (tmp_path / "log.csv").write_text("\n".join(rows) + "\n")
    import_files([tmp_path / "log.csv"], tmp_path / "run", units=parse_units(list(units)))
    return judge_run(str(tmp_path / "run"))


def rising(step: float = 20.0, start: float = 1000.0) -> list[float]:
    return [start + step * at for at in range(60)]


VOTES = [
    "rss_mb", "uss_mb", "pss_mib", "private_mb", "memory_mb", "mem_mb", "ram_mb", "process_memory_mb",
    "proc.memory.rssMB", "memory_usage_MB", "mem_used_mib", "Memory (MB)", "cpu_mem_mb", "python_heap_mb",
    "tracemalloc_current_mb", "VmRSS_mb", "container_memory_mb", "container_memory_working_set_mb",
    "docker.mem_usage_mb", "cgroup_memory_current_mb", "system_memory_used_mb", "host_memory_mb",
    "virtual_memory_used_mb", "kbmemused_mb", "gpu_mem_mb", "gpu.0.memory_used_mb", "gpu_1_memory_mb",
    "cuda:0.allocated_mb", "gpu_reserved_mb", "vram_mb", "mps_allocated_mb", "mps.current_allocated_mb",
    "tpu_memory_used_mb", "hbm_used_mb", "nvidia_memory_used_mb", "DCGM_FI_DEV_FB_USED_mb",
    "train/memory/gpu_allocated_mb", "xpu_allocated_mb",
]  # fmt: skip


@pytest.mark.parametrize("name", VOTES)
def test_a_straight_leak_under_a_usual_name_is_found(tmp_path: Path, name: str) -> None:
    run = judged(tmp_path, {name: rising()})

    assert run.status() == LEAK
    assert [finding.verdict for found in run.findings for finding in found] == ["leak"]


@pytest.mark.parametrize("name", VOTES)
def test_what_stays_level_under_a_usual_name_is_clean(tmp_path: Path, name: str) -> None:
    assert judged(tmp_path, {name: [1000.0 + at % 2 for at in range(60)]}).status() == CLEAN


@pytest.mark.parametrize(
    "name",
    ["peak_rss_mb", "max_memory_mb", "vms_mb", "memory_total_mb", "memory_limit_mb", "free_memory_mb", "swap_mb",
     "cached_mb", "replay_memory_mb", "memory_percent", "foo_bytes", "n_objects"],
)  # fmt: skip
def test_what_cannot_show_a_leak_is_not_judged(tmp_path: Path, name: str) -> None:
    run = judged(tmp_path, {name: rising()})

    assert run.status() == TOO_SHORT
    assert run.answer() == "not judged"


def test_the_machine_does_not_vote_beside_the_process(tmp_path: Path) -> None:
    run = judged(tmp_path, {"rss_mb": [100.0] * 60, "system_memory_used_mb": rising()})

    assert run.status() == CLEAN


def test_each_device_votes_for_itself(tmp_path: Path) -> None:
    run = judged(tmp_path, {"rss_mb": [100.0] * 60, "gpu.0.used_mb": [5.0] * 60, "gpu.1.used_mb": rising()})

    assert [finding.subject for found in run.findings for finding in found] == ["cuda1"]


def test_the_allocators_figure_is_better_than_the_drivers(tmp_path: Path) -> None:
    run = judged(tmp_path, {"gpu_allocated_mb": [5.0] * 60, "gpu_reserved_mb": rising()})

    assert run.status() == CLEAN


def test_memory_that_is_read_seldom_is_too_short(tmp_path: Path) -> None:
    run = judged(tmp_path, {"rss_mb": [1.0, 2.0, 3.0, *[float("nan")] * 57], "n_objects": [4.0] * 60})

    assert (run.status(), run.answer()) == (TOO_SHORT, "too short")


def test_growth_of_less_than_a_mebibyte_is_nobodys_leak(tmp_path: Path) -> None:
    assert judged(tmp_path, {"uss_bytes": rising(step=8192, start=1e9)}).status() == CLEAN


def test_a_percentage_of_a_total_that_was_said_is_judged(tmp_path: Path) -> None:
    run = judged(tmp_path, {"perf/ram_util_percent": rising(step=0.5, start=10)}, "perf/ram_util_percent=64GiB")

    assert run.status() == LEAK
    assert run.findings[0][0].slope == pytest.approx(0.005 * 64 * 1024 * MIB)
