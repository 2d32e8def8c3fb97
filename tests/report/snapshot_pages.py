"""Snapshots that the tests of their page are made from: recorded ones, an attacker's names, many sizes."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path

from page_records import HOSTILE

RECORDED = Path(__file__).parent.parent / "data" / "snapshots"

Item = dict[str, object]


def block(size: int, name: str = "", filename: str = "/home/ann/train.py", line: int = 1) -> Item:
    frames = [{"name": name, "filename": filename, "line": line}] if name else []
    return {"address": 0, "size": size, "requested_size": size, "state": "active_allocated", "frames": frames}


def write_snapshots(folder: Path, steps: Sequence[Sequence[Item]], *, devices: int = 1) -> Path:
    """Write one file a step; each device holds the same blocks, the last one those of the first step for ever."""
    for step, blocks in enumerate(steps):
        segments = []
        for device in range(devices):
            held = steps[0] if device and device == devices - 1 else blocks
            total = sum(int(str(one["size"])) for one in held)
            segments.append({"device": device, "address": 0, "total_size": total, "stream": 0, "segment_type": "small",
                             "segment_pool_id": (0, 0), "is_expandable": False, "blocks": list(held)})  # fmt: skip
        root = {"segments": segments, "device_traces": [], "allocator_settings": {}, "external_annotations": []}
        (folder / f"snapshot_step_{step}.pickle").write_bytes(pickle.dumps(root))
    return folder


def hostile_snapshots(folder: Path) -> Path:
    """Eight snapshots in which every function and file that allocates is named by an attacker."""
    kept = [block(512 * n, f"{n}{HOSTILE}", f"/home/{HOSTILE}.py", n) for n in range(1, 9)]
    return write_snapshots(folder, [kept * 200 * (1 + n) for n in range(8)])


def many_sizes(folder: Path, n_sizes: int) -> Path:
    """Three snapshots in which blocks of so many sizes grow, each from a line of its own."""
    kept = [block(512 * n, "keep", line=n) for n in range(1, n_sizes + 1)]
    return write_snapshots(folder, [kept * 20 * (1 + n) for n in range(3)])
