"""What the memory of a device holds: parts of scripted counters, which add up."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from page_records import build, header

from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.report.devices import BESIDE, CACHED, HIDDEN, build_devices
from phaseprof.report.text import Style
from phaseprof.units import GIB, MIB

TENSORS = {
    "parameters": 2.0 * GIB, "gradients": 2.0 * GIB, "optimizer_state": 4.0 * GIB, "with_graph": 0.0,
    "inputs": 0.0, "other": 1.0 * GIB,
}  # fmt: skip
COUNTERS = {
    "allocated_bytes": 20.0 * GIB, "reserved_bytes": 24.0 * GIB, "limit_bytes": 80.0 * GIB, "free_bytes": 54.0 * GIB,
}  # fmt: skip


def recorded(counters: Mapping[str, float], device: str = "cuda:0") -> ProcessRun:
    figures = {f"tensors/{device}/{name}_bytes": value for name, value in TENSORS.items()}
    figures |= {f"{device.replace(':', '')}/{name}": value for name, value in counters.items()}
    return build([header(), fmt.GenerationBegin(1, 0, 0), fmt.Metrics(2, 0, figures)])


def parts(counters: Mapping[str, float]) -> dict[str, int]:
    (device,) = build_devices(recorded(counters)).devices
    assert device.total_bytes == sum(part.n_bytes for part in device.parts)
    return {device.total_name: device.total_bytes} | {part.name: part.n_bytes for part in device.parts}


def test_the_parts_add_up_to_what_is_in_use_on_the_device() -> None:
    assert parts(COUNTERS) == {
        "in use on the device": 26 * GIB,
        "parameters": 2 * GIB, "gradients": 2 * GIB, "optimizer state": 4 * GIB,
        "other tensors: inputs, buffers, what is kept": 1 * GIB,
        HIDDEN: 11 * GIB, CACHED: 4 * GIB, BESIDE: 2 * GIB,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("missing", "total", "n_bytes"),
    [
        ("free_bytes", "reserved by torch", 24 * GIB),
        ("reserved_bytes", "allocated", 20 * GIB),
        ("allocated_bytes", "in tensors that Python can see", 9 * GIB),
    ],
)
def test_what_was_not_read_is_not_in_the_sum(missing: str, total: str, n_bytes: int) -> None:
    found = parts({name: value for name, value in COUNTERS.items() if name != missing})

    assert found[total] == n_bytes


def test_tensors_that_died_before_the_counter_was_read_make_no_negative_part() -> None:
    found = parts({**COUNTERS, "allocated_bytes": 8.0 * GIB})

    assert found["in tensors that Python can see"] == 9 * GIB
    assert HIDDEN not in found


def test_the_host_has_only_what_python_can_see() -> None:
    (device,) = build_devices(recorded({}, "cpu")).devices

    assert (device.device, device.total_name) == ("cpu", "in tensors that Python can see")


def test_the_text_is_a_sum() -> None:
    text = build_devices(recorded(COUNTERS)).render(Style(unicode=False))

    lines = text.splitlines()
    assert lines[1] == "TENSORS BY DEVICE"
    assert lines[3] == "cuda:0:"
    assert lines[-2].split() == ["in", "use", "on", "the", "device", "26.00", "GiB"]
    assert all(len(line) <= 70 for line in lines)


def test_a_run_without_tensors_has_no_such_report() -> None:
    assert build_devices(build([header(), fmt.Metrics(1, 0, {"rss_bytes": 5.0 * MIB})])).devices == ()
