"""Accelerators are read at every boundary from the moment the program uses one, and never before."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "probes"))

from torch_stand_in import StandIn, recorded_stats, statistic

from phaseprof import Profiler
from phaseprof.live.devices import RETRY_NS, Devices
from phaseprof.recording.format import DEVICE_COUNTERS


class Clock:
    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


def test_nothing_is_read_before_the_program_initialises_its_device() -> None:
    backend = StandIn([recorded_stats()], is_initialized=False)
    devices = Devices(Clock(), pytest.fail, modules=backend.modules())

    assert not devices.look()
    assert backend.asked_for_stats == []


def test_a_device_that_comes_into_use_is_found_at_a_later_look() -> None:
    clock = Clock()
    backend = StandIn([recorded_stats()], is_initialized=False)
    devices = Devices(clock, pytest.fail, modules=backend.modules())
    devices.look()
    backend.initialized = True

    clock.now = RETRY_NS - 1
    too_soon = devices.look()
    clock.now = RETRY_NS
    in_time = devices.look()

    assert (too_soon, in_time) == (False, True)


def test_counters_come_in_the_order_of_the_recording() -> None:
    devices = Devices(Clock(), pytest.fail, modules=StandIn([recorded_stats()]).modules())
    devices.look()

    counters = dict(zip(DEVICE_COUNTERS, devices()["cuda0"], strict=True))

    assert counters["allocated_bytes"] == 2_081_280 + 67_108_864
    assert counters["small_pool_active_bytes"] == 2_081_280
    assert counters["peak_allocated_bytes"] == 69_200_384


def test_a_device_that_fails_is_dropped_with_one_warning() -> None:
    told: list[str] = []
    backend = StandIn([recorded_stats()])
    devices = Devices(Clock(), told.append, modules=backend.modules())
    devices.look()
    backend.initialized = False

    readings = [devices(), devices()]

    assert readings == [{}, {}]
    assert len(told) == 1
    assert "device memory is no longer measured" in told[0]


def test_limits_are_named_by_device() -> None:
    devices = Devices(Clock(), pytest.fail, modules=StandIn([recorded_stats()]).modules())
    devices.look()

    assert devices.limits() == {"cuda0/limit_bytes": float(140 << 30), "cuda0/free_bytes": float(100 << 30)}


@pytest.fixture
def world_model(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """The counters of a world model's collection step whose state is carried with its graph, as recorded on a GPU."""
    stats = recorded_stats()
    backend = StandIn([stats])
    for name, module in backend.modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    yield backend


def test_growth_on_a_device_is_named_with_its_phase(world_model: StandIn) -> None:
    profiler = Profiler(None, budget=0.5, sample_every_s=None)
    for step in range(12):
        with profiler.generation(step):
            with profiler.phase("collect"):
                grown = 2_081_280 + 88_064 * (step + 1)
                world_model.devices[0]["allocated_bytes"] = statistic(grown, 67_108_864)
            with profiler.phase("update"):
                pass

    device = [finding for finding in profiler.findings() if finding.metric == "cuda0/allocated_bytes"]
    profiler.close()

    assert [(f.verdict, f.kind, f.phase, f.slope) for f in device] == [("leak", "gpu", "collect", 88_064.0)]


def test_what_leaks_is_told_by_what_its_tensors_are_for() -> None:
    """On the CPU, as where a device is in use."""
    torch = pytest.importorskip("torch")
    profiler = Profiler(None, budget=None, sample_every_s=None)
    profiler._session.recorder.read_devices = dict
    kept = [torch.nn.Linear(64, 64)]
    for step in range(14):
        with profiler.generation(step), profiler.phase("collect"):
            kept.append(kept[0](torch.ones(2048, 64)))

    leaks = [finding for finding in profiler.findings() if finding.verdict == "leak"]
    profiler.close()

    told = [(one.device, one.category) for finding in leaks for one in finding.tensors]
    assert told[0] == ("cpu", "with_graph")
    assert "local kept" in str(leaks[0].holder)


@pytest.mark.gpu
def test_growth_on_a_real_device_is_named_with_its_phase() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device; the test above is its twin on recorded counters")
    kept = [torch.zeros(1 << 16, device="cuda")]
    profiler = Profiler(None, budget=None, sample_every_s=None)
    for step in range(14):
        with profiler.generation(step), profiler.phase("collect"):
            kept.append(torch.zeros(1 << 16, device="cuda"))

    leaks = [finding for finding in profiler.findings() if finding.verdict == "leak"]
    profiler.close()

    assert [(f.kind, f.phase) for f in leaks] == [("tensors", "collect")]
    assert [(one.device, one.category) for one in leaks[0].tensors] == [("cuda:0", "other")]
