"""The names of our metrics in OpenMetrics: one family for each kind of thing, and a label for which one; both ways."""

from __future__ import annotations

import re
from collections.abc import Mapping

PREFIX = "phaseprof_"
# A metric as recorded, its family, and the label that has the rest of its name.
_KINDS = (
    ("watched/{}", "watched_objects", "type"),
    ("count/{}", "objects", "type"),
    ("untracked/{}_count", "untracked_objects", "type"),
    ("untracked/{}_bytes", "untracked_bytes", "type"),
    ("tracked/{}", "tracked_bytes", "tracked"),
    ("container/{}", "container_items", "container"),
    ("storages/{}_count", "storages", "storage"),
    ("storages/{}_bytes", "storage_bytes", "storage"),
    ("peak/{}_bytes", "peak_bytes", "phase"),
    ("gc/gc_{}", "gc", "counter"),
)  # fmt: skip
_PATTERNS = tuple((re.compile(form.replace("{}", "(.+)"), re.DOTALL), family, label) for form, family, label in _KINDS)
_BACK = {(family, label): form for form, family, label in _KINDS}
_DEVICE = re.compile(r"((?:cuda|xpu|mps|gpu)\d*)/(.+)", re.DOTALL)
_ON_DEVICE = "device_"


def family_of(metric: str) -> tuple[str, dict[str, str]]:
    """Return the name of a metric's family, and the labels that keep what the name cannot.

    >>> family_of("count/torch.Tensor"), family_of("cuda0/allocated_bytes")
    (('phaseprof_objects', {'type': 'torch.Tensor'}), ('phaseprof_device_allocated_bytes', {'device': 'cuda0'}))
    """
    for pattern, family, label in _PATTERNS:
        if found := pattern.fullmatch(metric):
            return PREFIX + family, {label: found[1]}
    on_device = _DEVICE.fullmatch(metric)
    labels = {"device": on_device[1]} if on_device else {}
    bare = _ON_DEVICE + on_device[2] if on_device else metric
    clean = re.sub(r"[^a-zA-Z0-9_]", "_", bare)
    # These endings belong to other kinds of families.
    clean = re.sub(r"_(total|info|bucket|count|sum|created)\Z", r"_\1_now", clean)
    if clean != bare or any(clean == family for family, _ in _BACK):
        labels["metric"] = metric
    return PREFIX + clean, labels


def metric_of(name: str, labels: Mapping[str, str]) -> str:
    """Return the metric of a sample whose name begins with ``PREFIX``.

    >>> metric_of("phaseprof_objects", {"type": "torch.Tensor", "rank": "0"})
    'count/torch.Tensor'
    """
    bare = name.removeprefix(PREFIX)
    if "metric" in labels:
        return labels["metric"]
    for (family, label), form in _BACK.items():
        if family == bare and label in labels:
            return form.replace("{}", labels[label])
    return f"{labels['device']}/{bare.removeprefix(_ON_DEVICE)}" if "device" in labels else bare
