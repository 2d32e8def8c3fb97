from __future__ import annotations

from pathlib import Path

import pytest

from phaseprof.analysis.imports import ImportFailure, parse_units
from phaseprof.analysis.imports.names import Named, is_about_memory, name_metric
from phaseprof.analysis.imports.units import Units
from phaseprof.errors import UsageError

FILE = Path("log.csv")
MB, GB, MIB, GIB = 10**6, 10**9, 2**20, 2**30


def named(name: str, *units: str) -> Named:
    found = name_metric(name, parse_units(list(units)), FILE)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("foreign", "ours", "factor"),
    [
        ("rss_bytes", "rss_bytes", 1),
        ("cuda.allocated_bytes", "cuda0/allocated_bytes", 1),
        ("cuda:1.reserved_bytes", "cuda1/reserved_bytes", 1),
        ("cuda0/peak_allocated_bytes", "cuda0/peak_allocated_bytes", 1),
        ("cuda.small_pool.active_bytes", "cuda0/small_pool_active_bytes", 1),
        ("cuda.small_pool.active_blocks", "cuda0/small_pool_active_blocks", 1),
        ("cuda.alloc_retries", "cuda0/alloc_retries", 1),
        ("train/memory/gpu_allocated_gb", "cuda0/allocated_bytes", GB),
        ("system/gpu_memory_allocated_MB", "cuda0/allocated_bytes", MB),
        ("gpu_allocated_GiB", "cuda0/allocated_bytes", GIB),
        ("memory/replay/size_mib", "memory/replay/size_bytes", MIB),
        ("ram_mb", "rss_bytes", MB),
        ("process memory (MiB)", "process memory_bytes", MIB),
        ("system.proc.memory.rssMB", "rss_bytes", MB),
        ("n_objects", "n_objects", 1),
        ("allocated_bytes.all.current", "cuda0/allocated_bytes", 1),
        ("1.active.all.current", "cuda1/active_blocks", 1),
        ("cuda:2.allocated_bytes.all.peak", "cuda2/peak_allocated_bytes", 1),
        ("num_alloc_retries", "cuda0/alloc_retries", 1),
    ],
)
def test_same_figures_get_our_names_and_bytes(foreign: str, ours: str, factor: float) -> None:
    found = named(foreign)

    assert (found.metric, found.factor) == (ours, factor)


@pytest.mark.parametrize("name", ["allocated_bytes.all.allocated", "allocation.all.freed", "segment.all.allocated"])
def test_running_totals_are_left_out(name: str) -> None:
    found = name_metric(name, Units(), FILE)

    assert found is None or found.metric.endswith("freed")


def test_drivers_figure_is_not_the_allocators() -> None:
    assert named("system.gpu.0.memoryAllocatedBytes").metric == "cuda0/used_bytes"


def test_monitors_percentages_are_counts() -> None:
    assert named("system.gpu.0.memoryAllocated") == Named("system.gpu.0.memoryAllocated_percent")


def test_size_without_unit_is_asked_for() -> None:
    with pytest.raises(ImportFailure, match=r"unit of 'gpu_mem' is not known.*--unit gpu_mem=MiB"):
        name_metric("gpu_mem", Units(), FILE)


def test_unit_for_all_in_doubt() -> None:
    assert named("gpu_mem", "MiB").factor == MIB


def test_unit_for_one_by_name_wins() -> None:
    assert named("gpu_mem", "MiB", "gpu_mem=GB").factor == GB


def test_unit_count_by_name() -> None:
    assert named("mem", "mem=count") == Named("mem")


def test_decimal_letters_are_told_to_be_in_doubt() -> None:
    assert "--unit x_allocated_gb=GiB" in named("x_allocated_gb").note


def test_decimal_letters_yield_to_the_users_word() -> None:
    found = named("x_allocated_gb", "x_allocated_gb=GiB")

    assert (found.factor, found.note) == (GIB, "")


def test_binary_letters_are_not_in_doubt() -> None:
    assert named("x_allocated_gib", "MB").factor == GIB


@pytest.mark.parametrize("text", ["", "lightyears", "gpu_mem=", "count"])
def test_wrong_unit_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--unit"):
        parse_units([text])


@pytest.mark.parametrize("name", ["gpu_mem", "rss", "system/heap_mb", "cuda.active_blocks", "n_objects", "foo_bytes"])
def test_memory_columns_are_told(name: str) -> None:
    assert is_about_memory(name)


@pytest.mark.parametrize("name", ["loss", "train/sps", "batch_size", "reward", "epoch", "memorable", "lr"])
def test_other_columns_are_told(name: str) -> None:
    assert not is_about_memory(name)
