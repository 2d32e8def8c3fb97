"""The answer on a folder of CUDA memory snapshots, as users hold it: ``str()`` is the text, ``to_dict()`` the JSON."""

from __future__ import annotations

from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path

from phaseprof.analysis.snapshots import SnapshotAnalysis, analyse_folder
from phaseprof.analysis.snapshots.tree import to_tree
from phaseprof.analysis.snapshots.unpickle import MAX_SNAPSHOT_BYTES
from phaseprof.report.snapshots_text import render_text


@dataclass(frozen=True)
class SnapshotReport(SnapshotAnalysis):
    """Everything that is said of a folder of snapshots; see ``SnapshotAnalysis`` for its fields."""

    def __str__(self) -> str:
        return render_text(self)

    def to_dict(self) -> dict[str, object]:
        """Return the report as JSON-ready data with ``format`` and ``findings``."""
        return to_tree(self)


def analyse_snapshots(
    folder: str | PathLike[str],
    events: str | PathLike[str] | None = None,
    *,
    max_bytes: int = MAX_SNAPSHOT_BYTES,
) -> SnapshotReport:
    """Read a folder of CUDA memory snapshots and judge their growth.

    Args:
        folder: a folder of files written by ``torch.cuda.memory._dump_snapshot`` (plain or gzip'd), or one of them.
        events: a folder of TensorBoard event files to lay beside.
        max_bytes: most bytes of pickle in one file, counted after decompression.

    Returns:
        Data whose ``str()`` is the printed text; files that could not be read are named in ``errors``.

    Raises:
        UsageError: a path does not exist or holds nothing to read.

    No code in a snapshot can run, and torch is not needed. Cost: 0.5 s and 120 MB for 380,000 blocks.
    """
    found = analyse_folder(Path(folder), None if events is None else Path(events), max_bytes=max_bytes)
    return SnapshotReport(**{field.name: getattr(found, field.name) for field in fields(found)})
