"""Runs of many processes: each is read and judged in a worker, by the same code that reads a small run."""

from __future__ import annotations

import functools
import gc
import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TypeVar

from phaseprof.analysis.engines import map_on
from phaseprof.recording.addresses import File, fetched
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.reader import Run, find_recordings, load_files, load_run, put_in_order, size_of, where_of
from phaseprof.recording.stored import StoredProcess

T = TypeVar("T")
Loading = Callable[[Sequence[File]], list[tuple[ProcessRun, T]]]

# What reading and judging takes, measured by benchmarks/bench_scale.py on a core of a small virtual machine.
S_A_BYTE = 25e-9
S_A_PROCESS = 0.015
# Below it, starting workers (0.5 s each, side by side) costs more than they save.
LARGE_S = 2.0
# Up to so many recordings their processes are kept in memory whole: half a megabyte each for 10,000 records.
MOST_WHOLE = 16
# Recordings that one task on a cluster reads: tasks of a few tenths of a second are worth sending.
_GROUPS_A_TASK = 16


def load_large_run(
    path: str | Path, *, workers: int | None = None, on_done: Callable[[int], None] | None = None
) -> Run:
    """Read a run as ``load_run`` does, on several cores where it is large and of several processes.

    Each process's files are reduced to series in a worker, so memory is bounded by points and metrics of all processes
    and not by the files; results are those of ``load_run``, since the same function makes them.  Workers are spawned:
    the calling program must be one whose main module can be imported, as the command line's can.

    Args:
        path: the run's folder, or one of its files.
        workers: processes to use; ``None``: as many as there are cores if the run is large, else none.
        on_done: told how many recordings are done, after each.

    Raises:
        RecordingError: as ``load_run``.
    """
    return load_and_reduce(path, _nothing, workers=workers, on_done=on_done)[0]


def load_and_reduce(
    path: str | Path,
    reduce: Callable[[ProcessRun], T],
    *,
    workers: int | None = None,
    on: str = "",
    on_done: Callable[[int], None] | None = None,
    may_store: bool = False,
) -> tuple[Run, list[T]]:
    """Read a run and make something of each of its processes, on several cores where that is worth it.

    Args:
        path: the run's folder, or one of its files.
        reduce: a function of a module, so that workers find it by name.
        workers: as for ``load_large_run``.
        on: a cluster to do it on, as for ``engines.map_on``; empty: this machine.
        on_done: told how many recordings are done, after each.
        may_store: of more than ``MOST_WHOLE`` recordings give processes that are read again when their series are
            asked for, so that memory is bounded by what ``reduce`` makes.

    Returns:
        The run, and the results in the order of its processes.

    Raises:
        RecordingError: as ``load_run``.
    """
    groups = find_recordings(path)
    if not groups:
        load_run(path)  # which says what is wrong
    work = functools.partial(_load_group, reduce=reduce, store=may_store and len(groups) > MOST_WHOLE)
    pairs = _on_cluster(on, groups, work, on_done) if on else _on_cores(groups, work, workers, on_done)
    if pairs is None:
        pairs = _flat(map(work, groups.values()), on_done)
    pairs = put_in_order(pairs, lambda pair: pair[0])
    return Run(where_of(path), [process for process, _ in pairs]), [made for _, made in pairs]


def _on_cluster(
    engine: str,
    groups: Mapping[str, Sequence[File]],
    load: Loading[T],
    on_done: Callable[[int], None] | None,
) -> list[tuple[ProcessRun, T]]:
    work = functools.partial(_load_groups, load=load)
    every = list(groups.values())
    shares = [every[at : at + _GROUPS_A_TASK] for at in range(0, len(every), _GROUPS_A_TASK)]
    done = (group for share in map_on(engine, work, shares) for group in share)
    return _flat(done, on_done)


def _on_cores(
    groups: Mapping[str, Sequence[File]],
    load: Loading[T],
    workers: int | None,
    on_done: Callable[[int], None] | None,
) -> list[tuple[ProcessRun, T]] | None:
    n_workers = min(_n_workers(groups) if workers is None else workers, len(groups))
    return _in_workers(groups, load, n_workers, on_done) if n_workers > 1 else None


def _nothing(process: ProcessRun) -> None:
    """Make nothing of a process: the run itself is what is wanted."""


def _n_workers(groups: Mapping[str, Sequence[File]]) -> int:
    n_bytes = sum(size_of(file) for files in groups.values() for file in files)
    if n_bytes * S_A_BYTE + len(groups) * S_A_PROCESS < LARGE_S:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _in_workers(
    groups: Mapping[str, Sequence[File]],
    load: Loading[T],
    n_workers: int,
    on_done: Callable[[int], None] | None,
) -> list[tuple[ProcessRun, T]] | None:
    """Return each process with its result; ``None`` where this machine or program does not allow workers."""
    work = functools.partial(_load_group_alone, load=load)
    chunk = max(1, min(8, len(groups) // (4 * n_workers)))
    try:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(n_workers, mp_context=context, initializer=_start_worker) as pool:
            return _flat(pool.map(work, groups.values(), chunksize=chunk), on_done)
    except (BrokenProcessPool, ImportError, OSError):
        # No semaphores, no room for a process, or a main module that cannot be imported: slower is better than not.
        return None


def _flat(groups: Iterator[list[T]], on_done: Callable[[int], None] | None) -> list[T]:
    found: list[T] = []
    for n_done, group in enumerate(groups, 1):
        found += group
        if on_done is not None:
            on_done(n_done)
    return found


def _start_worker() -> None:
    # Reading makes a hundred thousand objects of which none dies: collections in between find nothing and cost a tenth
    # of the time. A worker lives for this work only, so it can choose when.
    gc.freeze()
    gc.disable()


def _load_group_alone(files: Sequence[File], *, load: Loading[T]) -> list[tuple[ProcessRun, T]]:
    gc.collect()  # models of the processes before this one: each refers to itself
    return load(files)


def _load_groups(groups: Sequence[Sequence[File]], *, load: Loading[T]) -> list[list[tuple[ProcessRun, T]]]:
    return [load(files) for files in groups]


def _load_group(files: Sequence[File], *, reduce: Callable[[ProcessRun], T], store: bool) -> list[tuple[ProcessRun, T]]:
    with fetched(files) as local:
        pairs = [(process, reduce(process)) for process in load_files(local)]
    return [(StoredProcess(process, files), made) for process, made in pairs] if store else pairs
