"""Runs of many processes: their files are reduced side by side, each by the same code that reads a small run."""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from phaseprof.recording.model import ProcessRun
from phaseprof.recording.reader import Run, load_run

# Below it, starting workers (about 0.4 s each) costs more than they save.
LARGE_BYTES = 128 << 20


def load_large_run(path: str | Path, *, workers: int | None = None) -> Run:
    """Read a run as ``load_run`` does, on several cores where it is large and of several processes.

    Each file is reduced to series in a worker, so memory is bounded by points and metrics of all processes and not by
    the files; results are those of ``load_run``, since the same function makes them.  Workers are spawned: the calling
    program must be one whose main module can be imported, as the command line's can.

    Args:
        path: the run's folder, or one of its files.
        workers: processes to use; ``None``: as many as there are cores.

    Raises:
        RecordingError: as ``load_run``.
    """
    where = Path(path)
    files = _single_files(where)
    n_workers = min(workers or os.cpu_count() or 1, len(files))
    if n_workers < 2 or (workers is None and sum(file.stat().st_size for file in files) < LARGE_BYTES):
        return load_run(where)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_workers, mp_context=context) as pool:
        loaded = pool.map(_load_file, files, chunksize=max(1, min(32, len(files) // (4 * n_workers))))
        processes = [process for group in loaded for process in group]
    return Run(where, sorted(processes, key=_place))


def _single_files(where: Path) -> list[Path]:
    """Return the files of a run whose processes have one file each; nothing for others, whose parts belong together."""
    if not where.is_dir():
        return []
    files = sorted(file for file in where.glob("*.jsonl") if file.stat().st_size)
    stems = Counter(file.name.partition(".")[0] for file in files)
    return files if all(n == 1 for n in stems.values()) else []


def _load_file(file: Path) -> list[ProcessRun]:
    return load_run(file).processes


def _place(process: ProcessRun) -> tuple[int, int]:
    return (process.header.rank, process.header.pid) if process.header else (0, 0)
