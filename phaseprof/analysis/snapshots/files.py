"""Find the snapshots of a folder, put them in order, and reduce them one at a time."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from phaseprof.analysis.snapshots.model import SnapshotSums
from phaseprof.analysis.snapshots.reduce import reduce_snapshot
from phaseprof.analysis.snapshots.unpickle import MAX_SNAPSHOT_BYTES, load_snapshot
from phaseprof.errors import SnapshotError, UsageError

_ENDINGS = (".pickle", ".pkl", ".pickle.gz", ".pkl.gz")
_USUAL_FOLDER = "memory_snapshots"
_RANK = re.compile(r"rank[_\-=]?(\d{1,6})", re.IGNORECASE)
_NAMED_STEP = re.compile(r"(?:steps?|iterations?|iters?|epochs?|generations?|gen)[_\-=.]?(\d{1,15})", re.IGNORECASE)
# 20251109_215746, 2025-11-09T21-57-46, or Nov_09_21_57_46 as torch names its own: a time, and no step beside it.
_DATE = re.compile(r"(?:19|20)\d{2}-?\d{2}-?\d{2}(?!\d)|[A-Z][a-z]{2}_\d{2}_\d{2}_\d{2}_\d{2}")
_NUMBER = re.compile(r"\d{1,15}")


@dataclass(frozen=True)
class SnapshotFolder:
    """What a folder held.

    Attributes:
        folder: the path that was given.
        snapshots: the readable ones, in order of rank, then step.
        errors: one line for each file that could not be read.
        notes: what a reader should know about the order.
    """

    folder: str
    snapshots: tuple[SnapshotSums, ...]
    errors: tuple[str, ...]
    notes: tuple[str, ...]


def read_folder(path: Path, *, max_bytes: int = MAX_SNAPSHOT_BYTES) -> SnapshotFolder:
    """Read every snapshot of a folder, or one file; each is dropped once it is reduced to sums.

    Args:
        path: a folder (or one whose folder ``memory_snapshots`` holds the files), or one file.
        max_bytes: most bytes of pickle in one file, counted after decompression.

    Raises:
        UsageError: there is no such path, or it holds no snapshot files.
    """
    snapshots: list[SnapshotSums] = []
    errors: list[str] = []
    for file in _snapshot_files(path):
        found = _read_one(file, max_bytes)
        if isinstance(found, SnapshotSums):
            snapshots.append(found)
        else:
            errors.append(found)
    ordered, notes = _in_order(snapshots)
    return SnapshotFolder(str(path), ordered, tuple(errors), notes)


def holds_snapshots(path: Path) -> bool:
    """Tell whether a path is a snapshot or a folder of them, by names alone; a folder with a recording is a run."""
    if path.is_file():
        return path.name.lower().endswith(_ENDINGS)
    if not path.is_dir() or any(file.suffix == ".jsonl" for file in path.iterdir()):
        return False
    return any(_named_snapshots(folder) for folder in (path, path / _USUAL_FOLDER))


def step_in_name(name: str) -> int | None:
    """Return the step a file name gives, or ``None``.

    >>> step_in_name("snapshot_step_100.pickle"), step_in_name("mem-0040.pkl.gz"), step_in_name("oom_rank0.pickle")
    (100, 40, None)
    """
    ending = next((ending for ending in _ENDINGS if name.lower().endswith(ending)), "")
    stem = _RANK.sub("", name[: len(name) - len(ending)])
    named = _NAMED_STEP.findall(stem)
    if named:
        return int(named[-1])
    numbers = [] if _DATE.search(stem) else _NUMBER.findall(stem)
    return int(numbers[-1]) if numbers else None


def _snapshot_files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise UsageError(
            f"DIR must be a folder of CUDA memory snapshots or one of them (got {str(path)!r}); no such path"
        )
    for folder in (path, path / _USUAL_FOLDER):
        if files := _named_snapshots(folder):
            return files
    raise UsageError(
        f"DIR must hold files named *.pickle, *.pkl or the same with .gz (got {str(path)!r}, which has none); "
        "write some with torch.cuda.memory._dump_snapshot"
    )


def _named_snapshots(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(file for file in folder.iterdir() if file.name.lower().endswith(_ENDINGS) and file.is_file())


def _read_one(file: Path, max_bytes: int) -> SnapshotSums | str:
    """Return the sums of one file, or the line that says why it cannot be read."""
    try:
        root, pickle_bytes = load_snapshot(file, max_bytes=max_bytes)
        reduced = reduce_snapshot(root, pickle_bytes, file.name)
    except SnapshotError as error:
        return str(error)
    del root
    step = step_in_name(file.name)
    rank = _RANK.search(file.name)
    return SnapshotSums(
        name=file.name,
        step=-1 if step is None else step,
        step_source="order" if step is None else "name",
        rank=int(rank[1]) if rank else None,
        time_s=file.stat().st_mtime if reduced.last_event_s is None else reduced.last_event_s,
        history=reduced.history,
        settings=reduced.settings,
        pickle_bytes=pickle_bytes,
        devices=reduced.devices,
    )


def _in_order(snapshots: Sequence[SnapshotSums]) -> tuple[tuple[SnapshotSums, ...], tuple[str, ...]]:
    """Order each rank by the steps in the names; by time where a name has none or two have the same."""
    by_rank: dict[int | None, list[SnapshotSums]] = defaultdict(list)
    for snapshot in snapshots:
        by_rank[snapshot.rank].append(snapshot)
    ordered: list[SnapshotSums] = []
    notes: list[str] = []
    for rank, group in sorted(by_rank.items(), key=lambda item: -1 if item[0] is None else item[0]):
        steps = [snapshot.step for snapshot in group if snapshot.step_source == "name"]
        if len(set(steps)) == len(group):
            ordered += sorted(group, key=lambda snapshot: snapshot.step)
            continue
        group.sort(key=lambda snapshot: (snapshot.time_s, snapshot.name))
        ordered += [replace(snapshot, step=place, step_source="order") for place, snapshot in enumerate(group)]
        if len(group) > 1:
            where = "" if rank is None else f" of rank {rank}"
            notes.append(f"the file names{where} give no step for each file: ordered by time, one step a file")
    return tuple(ordered), tuple(notes)
