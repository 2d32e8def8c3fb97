"""Flame graphs of the heap as JSON for speedscope: one sampled profile for what came and one for what lay where.

Reference: the file format of speedscope, https://www.speedscope.app/file-format-schema.json.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import msgspec

from phaseprof._version import __version__
from phaseprof.errors import UsageError
from phaseprof.report.export.openmetrics import Load
from phaseprof.report.flames import Flame, flames_of

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def write_speedscope(run: Path, out: Path, *, load: Load) -> int:
    """Write the heap by place of each process; return the number of stacks.  ``.gz`` at the end packs it.

    Raises:
        UsageError: no process has looked at its heap by place.
    """
    found = load(run)
    named = [
        (f"rank {process.header.rank}: " if process.header and len(found.processes) > 1 else "", flame)
        for process in found.processes
        for flame in flames_of(process)
    ]
    if not named:
        raise UsageError(
            "speedscope shows the heap by place, and no look at it was made; a longer run makes one, or a larger budget"
        )
    tree, n = speedscope([flame for _, flame in named], [before + flame.title for before, flame in named], str(run))
    with gzip.open(out, "wb") if out.suffix == ".gz" else out.open("wb") as file:
        file.write(msgspec.json.encode(tree))
    return n


def speedscope(flames: list[Flame], titles: list[str], name: str) -> tuple[dict[str, object], int]:
    """Return trees as a file of speedscope, and its number of stacks.

    Each node is a stack that weighs what lies at it and at no node below.
    """
    n_stacks = 0
    frames: dict[str, int] = {}
    profiles = []
    for flame, title in zip(flames, titles, strict=True):
        own = [node.n_bytes for node in flame.nodes]
        stacks: list[list[int]] = []
        for node in flame.nodes:
            frame = frames.setdefault(node.name, len(frames))
            stacks.append([*(stacks[node.parent] if node.parent >= 0 else ()), frame])
            if node.parent >= 0:
                own[node.parent] -= node.n_bytes
        kept = [(stack, size) for stack, size in zip(stacks, own, strict=True) if size > 0]
        n_stacks += len(kept)
        profiles.append({
            "type": "sampled", "name": title, "unit": "bytes", "startValue": 0, "endValue": flame.n_bytes,
            "samples": [stack for stack, _ in kept], "weights": [size for _, size in kept],
        })  # fmt: skip
    tree: dict[str, object] = {
        "$schema": _SCHEMA, "shared": {"frames": [{"name": frame} for frame in frames]}, "profiles": profiles,
        "name": name, "activeProfileIndex": 0, "exporter": f"phaseprof {__version__}",
    }  # fmt: skip
    return tree, n_stacks
