"""Looks that the user asks for by name: a labelled snapshot, large objects, counts now."""

from __future__ import annotations

from phaseprof.errors import ProbeUnavailable
from phaseprof.live.session import Session
from phaseprof.probes import census, large, tensors
from phaseprof.probes.process import open_process_probe
from phaseprof.recording import format as fmt

# What a snapshot counts besides the watched classes, and what it calls them.
COMMON_TYPES = {
    "list": "builtins.list",
    "dict": "builtins.dict",
    "ndarray": "numpy.ndarray",
    "Tensor": "torch.Tensor",
}


def take_snapshot(session: Session, label: str, *, count_objects: bool = True) -> None:
    """Record process and device figures under a label, and counts of watched and common types."""
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
    counts: dict[str, int] = {}
    if count_objects:
        with session.budget.spending("snapshots", asked=True):
            counts = _counts(session)
    session.recorder.add(fmt.SnapshotTaken(session.clock(), session.ordinal, label, figures, counts))


def _counts(session: Session) -> dict[str, int]:
    classes = session.watches.classes()
    watched = census.watched_counts(list(classes))
    counts = {entry.name: watched[cls] for cls, entry in classes.items()}
    classes.clear()
    by_name = census.count_type_names()
    for shown, name in COMMON_TYPES.items():
        if name in by_name:
            counts[shown] = by_name[name]
    if tensors.loaded_torch() is not None:
        counts["Tensor"] = sum(census.watched_counts(tensors.tensor_types()[:1]).values())
    return counts


def look_for_large(session: Session, min_bytes: int) -> None:
    """Record the objects whose own bytes are at least ``min_bytes``."""
    with session.budget.spending("large objects", asked=True):
        found = large.large_objects(min_bytes)
    rows = [(o.type_name, o.size_bytes, o.holder, o.detail) for o in found]
    session.recorder.add(fmt.Large(session.clock(), session.ordinal, min_bytes, rows))


def count_now(session: Session) -> None:
    """Count the watched classes now, outside the rhythm of generations."""
    classes = session.watches.classes()
    counts = census.watched_counts(list(classes))
    figures = {f"watched/{entry.name}": float(counts[cls]) for cls, entry in classes.items()}
    classes.clear()
    if figures:
        session.recorder.add(fmt.Metrics(session.clock(), max(0, session.ordinal), figures))
