"""Runs of many processes: each is read and judged in a worker, by the same code that reads a small run."""

from __future__ import annotations

import functools
import gc
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TypeVar

from phaseprof.analysis.engines import map_on
from phaseprof.errors import RecordingError
from phaseprof.recording.addresses import File, fetched_in_turn
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.reader import (
    Run,
    find_recordings,
    left_out_for,
    load_files,
    load_run,
    put_in_order,
    size_of,
    where_of,
)
from phaseprof.recording.stored import StoredProcess

T = TypeVar("T")
# The files of one recording; and what is made of many, each with its processes, or a sentence where it cannot be read.
Group = Sequence[File]
Work = Callable[[Sequence[Group]], list[list[tuple[ProcessRun, T]] | str]]

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
    every, store = list(groups.values()), may_store and len(groups) > MOST_WHOLE
    work = functools.partial(_load_groups, reduce=reduce, store=store)
    done = _on_cluster(on, every, work, on_done) if on else _on_cores(every, work, workers, on_done)
    if done is None:
        done = _told(_load_in_turn(every, reduce=reduce, store=store), on_done)
    every_pair = [pair for group in done if not isinstance(group, str) for pair in group]
    if not every_pair:
        load_run(path)
    pairs = put_in_order(every_pair, lambda pair: pair[0])
    left_out = [group for group in done if isinstance(group, str)]
    return Run(where_of(path), [process for process, _ in pairs], left_out), [made for _, made in pairs]


def _on_cluster(
    engine: str, groups: Sequence[Group], work: Work[T], on_done: Callable[[int], None] | None
) -> list[list[tuple[ProcessRun, T]] | str]:
    done = (group for share in map_on(engine, work, _shares(groups, _GROUPS_A_TASK)) for group in share)
    return _told(done, on_done)


def _on_cores(
    groups: Sequence[Group], work: Work[T], workers: int | None, on_done: Callable[[int], None] | None
) -> list[list[tuple[ProcessRun, T]] | str] | None:
    n_workers = min(_n_workers(groups) if workers is None else workers, len(groups))
    return _in_workers(groups, work, n_workers, on_done) if n_workers > 1 else None


def _shares(groups: Sequence[Group], n: int) -> list[Sequence[Group]]:
    return [groups[at : at + n] for at in range(0, len(groups), n)]


def _nothing(process: ProcessRun) -> None:
    """Make nothing of a process: the run itself is what is wanted."""


def _n_workers(groups: Sequence[Group]) -> int:
    n_bytes = sum(size_of(file) for files in groups for file in files)
    if n_bytes * S_A_BYTE + len(groups) * S_A_PROCESS < LARGE_S:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _in_workers(
    groups: Sequence[Group], work: Work[T], n_workers: int, on_done: Callable[[int], None] | None
) -> list[list[tuple[ProcessRun, T]] | str] | None:
    """Return each process with its result; ``None`` where this machine or program does not allow workers."""
    shares = _shares(groups, max(1, min(_GROUPS_A_TASK, len(groups) // (4 * n_workers))))
    try:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(n_workers, mp_context=context, initializer=gc.freeze) as pool:
            return _told((group for share in pool.map(work, shares) for group in share), on_done)
    except (BrokenProcessPool, ImportError, OSError):
        # No semaphores, no room for a process, or a main module that cannot be imported: slower is better than not.
        return None


def _told(groups: Iterator[T], on_done: Callable[[int], None] | None) -> list[T]:
    found: list[T] = []
    for n_done, group in enumerate(groups, 1):
        found.append(group)
        if on_done is not None:
            on_done(n_done)
    return found


def _load_groups(
    groups: Sequence[Group], *, reduce: Callable[[ProcessRun], T], store: bool
) -> list[list[tuple[ProcessRun, T]] | str]:
    # Reading makes a hundred thousand objects, which die with their process: collections in between find nothing, and
    # cost a tenth of the time.
    is_on = gc.isenabled()
    gc.disable()
    try:
        return list(_load_in_turn(groups, reduce=reduce, store=store))
    finally:
        gc.collect()
        if is_on:
            gc.enable()


def _load_in_turn(
    groups: Sequence[Group], *, reduce: Callable[[ProcessRun], T], store: bool
) -> Iterator[list[tuple[ProcessRun, T]] | str]:
    for files, local in zip(groups, fetched_in_turn(groups), strict=True):
        try:
            processes = load_files(local)
        except RecordingError as error:  # the others are read
            yield left_out_for(error)
            continue
        pairs = [(process, reduce(process)) for process in processes]
        yield [(StoredProcess(process, files), made) for process, made in pairs] if store else pairs
