"""Looks that the user asks for by name: a labelled snapshot, large objects, counts now."""

from __future__ import annotations

import sys

from phaseprof.errors import ProbeUnavailable
from phaseprof.live.session import Session
from phaseprof.probes import arrays, census, large, tensors
from phaseprof.probes.process import open_process_probe
from phaseprof.recording import format as fmt

# What a snapshot counts besides the watched classes, arrays and tensors: builtin types under their own names.
COMMON_TYPES = ("list", "dict")


def take_snapshot(session: Session, label: str, *, count_objects: bool = True) -> None:
    """Record process and device figures under a label, counts of the watched classes and, if asked, of common types.

    Cost: 30 ns an object of the heap for the watched classes, 400 ns with the common types; asked for, so the budget
    is not charged.
    """
    figures: dict[str, float] = {}
    try:
        probe = open_process_probe()
        figures.update(probe.read())
        probe.close()
    except ProbeUnavailable as error:
        session.warn(f"a snapshot has no process memory: {error}")
    session.look_for_devices()
    read_devices = session.recorder.read_devices
    if read_devices is not None:
        for device, counters in read_devices().items():
            pairs = zip(fmt.DEVICE_COUNTERS, counters, strict=False)
            figures.update({f"{device}/{name}": float(value) for name, value in pairs if value >= 0})
    with session.budget.spending("snapshots", asked=True):
        counts = _watched_counts(session)
        if count_objects:
            counts.update(_common_counts())
    session.recorder.add(fmt.SnapshotTaken(session.clock(), session.ordinal, label, figures, counts))


def _watched_counts(session: Session) -> dict[str, int]:
    classes = session.watches.classes()
    return census.watched_counts(classes) if classes else {}


def _common_counts() -> dict[str, int]:
    by_name = census.count_type_names()
    counts = {name: by_name[name] for name in COMMON_TYPES if name in by_name}
    if "numpy" in sys.modules:
        counts["ndarray"] = arrays.count_arrays()
    if tensors.loaded_torch() is not None:
        counts["Tensor"] = sum(census.counts_in_order(tensors.tensor_types()[:1]))
    return counts


def look_for_large(session: Session, min_bytes: int) -> None:
    """Record the objects whose own bytes are at least ``min_bytes``."""
    with session.budget.spending("large objects", asked=True):
        found = large.large_objects(min_bytes)
    rows = [(o.type_name, o.size_bytes, o.holder, o.detail) for o in found]
    session.recorder.add(fmt.Large(session.clock(), session.ordinal, min_bytes, rows))


def count_now(session: Session) -> None:
    """Count the watched classes now, outside the rhythm of generations; asked for, so the budget is not charged."""
    with session.budget.spending("counts", asked=True):
        counts = _watched_counts(session)
    if counts:
        figures = {f"watched/{name}": float(count) for name, count in counts.items()}
        session.recorder.add(fmt.Metrics(session.clock(), max(0, session.ordinal), figures))
