"""Hand-made snapshots: as small as a test needs, laid out as torch writes them."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path

RECORDED = Path(__file__).parent.parent / "data" / "snapshots"

Item = dict[str, object]


def frame(name: str, filename: str = "/home/ann/train.py", line: int = 1) -> Item:
    return {"name": name, "filename": filename, "line": line}


def block(size: int, state: str = "active_allocated", **fields: object) -> Item:
    return {"address": 0, "size": size, "requested_size": size, "state": state, "frames": [], **fields}


def segment(blocks: Sequence[Item], **fields: object) -> Item:
    total = sum(int(str(one["size"])) for one in blocks)
    return {
        "device": 0, "address": 0, "total_size": total, "stream": 0, "segment_type": "small",
        "segment_pool_id": (0, 0), "is_expandable": False, "blocks": list(blocks), **fields,
    }  # fmt: skip


def snapshot(segments: Sequence[Item], **fields: object) -> Item:
    keys = {"device_traces": [[]], "allocator_settings": {}, "external_annotations": []}
    return {"segments": list(segments), **keys, **fields}


def write_series(folder: Path, snapshots: Mapping[int, object]) -> Path:
    """Write one file a step and return the folder."""
    for step, root in snapshots.items():
        (folder / f"snapshot_step_{step}.pickle").write_bytes(pickle.dumps(root))
    return folder


def live_blocks(counts: Mapping[int, int], **fields: object) -> Item:
    """One snapshot with so many live blocks of each size."""
    return snapshot([segment([block(size, **fields) for size, number in counts.items() for _ in range(number)])])
