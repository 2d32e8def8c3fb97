"""What the memory of an accelerator holds, by place and by what it is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from phaseprof.analysis.limits import Horizon
from phaseprof.analysis.paths import normalised
from phaseprof.analysis.placed import Memory, explain, measured_looks
from phaseprof.analysis.symptoms import Symptom
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.records import Finding, HeldTensors


def torch_name(device: str) -> str:
    """Turn the probes' name of a device into torch's own, by which storages are filed: ``cuda0`` is ``cuda:0``."""
    kind = device.rstrip("0123456789")
    return f"{kind}:{device[len(kind) :]}" if len(kind) < len(device) else device


def placed_on(process: ProcessRun, symptom: Symptom, device: str, horizon: Horizon, phase: str | None) -> list[Finding]:
    """Return a finding for each place that brought a fifth or more of what leaks on a device; most, by one look.

    Args:
        process: the recording.
        symptom: the device's counter.
        device: as torch writes it.
        horizon: whether a part would be felt.
        phase: the one in which the counter rises.
    """
    memory = Memory(symptom, symptom.judgement.slope, units={symptom.key: 1.0})
    found = [explain(process, _only_on(told, device), memory, horizon, phase) for told in measured_looks(process)]
    return max(found, key=lambda findings: sum(finding.bytes_slope for finding in findings), default=[])


def _only_on(told: fmt.Places, device: str) -> fmt.Places:
    """Leave of what came at each place no more than lies there on a device; nothing of what has a device's none."""
    there: dict[int, int] = {}
    for one in told.tensors:
        if one.device == device:
            there[one.row] = there.get(one.row, 0) + one.bytes
    rows = [
        msgspec.structs.replace(row, bytes=min(row.bytes, there.get(at, 0)))
        for at, row in enumerate(told.rows) if at in there or not row.bytes
    ]  # fmt: skip
    return msgspec.structs.replace(told, rows=rows)


def with_tensors(process: ProcessRun, finding: Finding) -> Finding:
    """Fill in what tensors lie where a finding's subject is held, by device and category, the heaviest first."""
    path = normalised(finding.holder)
    held = next((found for told in process.looks.values() if path and (found := _held_at(told, path))), [])
    return replace(finding, tensors=tuple(sorted(held, key=lambda one: -one.n_bytes))) if held else finding


def _held_at(told: fmt.Places, path: Sequence[str]) -> list[HeldTensors]:
    here = {at for at, row in enumerate(told.rows) if row.bytes and normalised(row.steps) == path}
    return [HeldTensors(one.device, one.category, one.count, one.bytes) for one in told.tensors if one.row in here]
