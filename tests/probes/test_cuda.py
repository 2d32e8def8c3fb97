"""Accelerator counters: what torch's nested statistics hold, and when they may be asked for."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest
from torch_stand_in import StandIn, idle_stats, recorded_stats

from phaseprof.errors import ProbeUnavailable
from phaseprof.probes.cuda import AcceleratorProbe, DeviceLimit, MpsProbe, flatten_stats, open_accelerator_probe
from phaseprof.units import GIB

RECORDED = {
    "allocated_bytes": 69_190_144,
    "reserved_bytes": 69_206_016,
    "active_bytes": 69_190_144,
    "peak_allocated_bytes": 69_200_384,
    "small_pool_active_bytes": 2_081_280,
    "large_pool_active_bytes": 67_108_864,
    "active_blocks": 36,
    "small_pool_active_blocks": 34,
    "large_pool_active_blocks": 2,
    "inactive_split_bytes": 15_872,
    "segments": 3,
    "alloc_retries": 0,
    "ooms": 0,
}


def test_recorded_statistics_flatten_to_the_figures_of_that_moment() -> None:
    assert flatten_stats(recorded_stats()) == RECORDED


def test_a_statistic_that_torch_does_not_keep_is_absent() -> None:
    stats = recorded_stats()
    del stats["inactive_split_bytes"], stats["num_ooms"]

    assert set(RECORDED) - set(flatten_stats(stats)) == {"inactive_split_bytes", "ooms"}


def test_a_pool_of_another_shape_is_absent_not_an_error() -> None:
    assert flatten_stats({"active_bytes": 5, "reserved_bytes": {"all": {"current": "many"}}}) == {}


def test_each_metric_carries_its_device() -> None:
    probe = AcceleratorProbe(modules=StandIn([recorded_stats()]).modules())

    assert probe.read() == {f"cuda0/{metric}": value for metric, value in RECORDED.items()}


def test_only_devices_in_use_are_read() -> None:
    backend = StandIn([idle_stats(), recorded_stats(), idle_stats()])
    probe = AcceleratorProbe(modules=backend.modules())
    backend.asked_for_stats.clear()

    figures = probe.read()

    assert {metric.partition("/")[0] for metric in figures} == {"cuda1"}
    assert backend.asked_for_stats == [1]


def test_a_device_used_later_is_found_within_a_hundred_readings() -> None:
    backend = StandIn([recorded_stats(), idle_stats()])
    probe = AcceleratorProbe(modules=backend.modules())
    backend.devices[1] = recorded_stats()

    metrics = {metric for _ in range(100) for metric in probe.read()}

    assert "cuda1/allocated_bytes" in metrics


def test_a_device_once_used_stays_when_it_falls_to_zero() -> None:
    backend = StandIn([recorded_stats()])
    probe = AcceleratorProbe(modules=backend.modules())

    backend.devices[0] = idle_stats()

    assert probe.read()["cuda0/allocated_bytes"] == 0


def test_torch_that_is_not_imported_is_not_imported_for_us() -> None:
    with pytest.raises(ProbeUnavailable, match="not imported torch"):
        open_accelerator_probe(modules={})


def test_a_device_that_is_not_initialised_is_asked_nothing() -> None:
    backend = StandIn([recorded_stats()], is_initialized=False)

    with pytest.raises(ProbeUnavailable, match="not initialised cuda"):
        AcceleratorProbe(modules=backend.modules())

    assert backend.asked_for_stats == []


def test_torch_half_imported_by_another_thread_is_refused_cleanly() -> None:
    with pytest.raises(ProbeUnavailable):
        open_accelerator_probe(modules={"torch": ModuleType("torch")})


def test_a_forked_child_that_lost_the_device_is_told() -> None:
    backend = StandIn([recorded_stats()])
    probe = AcceleratorProbe(modules=backend.modules())

    backend.initialized = False

    with pytest.raises(ProbeUnavailable, match="forked child"):
        probe.read()


def test_an_allocator_outside_torch_has_no_pools_rather_than_empty_ones() -> None:
    probe = AcceleratorProbe(modules=StandIn([recorded_stats()], allocator="cudaMallocAsync").modules())

    assert {metric.partition("/")[2] for metric in probe.read()} == {
        "allocated_bytes", "reserved_bytes", "active_bytes", "peak_allocated_bytes",
    }  # fmt: skip


def test_xpu_is_read_where_the_program_uses_it() -> None:
    probe = open_accelerator_probe(modules=StandIn([recorded_stats()]).modules("xpu"))

    assert probe.read()["xpu0/reserved_bytes"] == RECORDED["reserved_bytes"]


def mps_modules(*, is_available: bool = True) -> dict[str, ModuleType]:
    torch, backends, mps, switch = (ModuleType(name) for name in ("torch", "backends", "mps", "switch"))
    torch.backends, torch.mps, backends.mps = backends, mps, switch  # type: ignore[attr-defined]
    switch.is_available = lambda: is_available  # type: ignore[attr-defined]
    mps.current_allocated_memory = lambda: 5  # type: ignore[attr-defined]
    mps.driver_allocated_memory = lambda: 9  # type: ignore[attr-defined]
    mps.recommended_max_memory = lambda: GIB  # type: ignore[attr-defined]
    return {"torch": torch}


def test_mps_is_read_where_torch_has_it() -> None:
    probe = open_accelerator_probe(modules=mps_modules())

    assert probe.read() == {"mps0/allocated_bytes": 5, "mps0/reserved_bytes": 9}


def test_mps_limit_is_what_metal_recommends() -> None:
    limit = MpsProbe(modules=mps_modules()).device_limits()["mps0"]

    assert (limit.total_bytes, limit.free_bytes) == (GIB, None)


def test_mps_without_a_device_is_refused() -> None:
    with pytest.raises(ProbeUnavailable, match="MPS"):
        MpsProbe(modules=mps_modules(is_available=False))


def test_limits_are_asked_of_used_devices_only() -> None:
    backend = StandIn([recorded_stats(), idle_stats()])

    limits = AcceleratorProbe(modules=backend.modules()).device_limits()

    assert limits == {"cuda0": DeviceLimit(140 * GIB, 100 * GIB, "device memory")}
    assert backend.asked_for_limits == [0]


def test_a_share_the_program_allowed_itself_is_the_limit() -> None:
    probe = AcceleratorProbe(modules=StandIn([recorded_stats()], fraction=0.25).modules())

    assert probe.device_limits()["cuda0"] == DeviceLimit(35 * GIB, 100 * GIB, "per-process memory fraction")


def test_real_torch_is_not_initialised_by_the_probe() -> None:
    pytest.importorskip("torch")
    program = (
        "import torch; from phaseprof.probes.registry import available_probes; working, missing = available_probes();"
        "[probe.read() for probe in working]; assert not torch.cuda.is_initialized();"
        "assert 'accelerator' in dict(missing), missing; print('ok')"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert done.stdout.strip() == "ok", done.stderr


@pytest.mark.gpu
def test_real_figures_are_those_torch_gives() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    kept = torch.zeros(1 << 20, device="cuda")
    probe = open_accelerator_probe()

    figures = probe.read()

    device = kept.device.index
    assert figures[f"cuda{device}/allocated_bytes"] == torch.cuda.memory_allocated()
    assert figures[f"cuda{device}/reserved_bytes"] == torch.cuda.memory_reserved()
    assert figures[f"cuda{device}/peak_allocated_bytes"] == torch.cuda.max_memory_allocated()
