"""Forked children for tests: one that answers, and several that wait to be looked at."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path


def run_in_child(work: Callable[[], object]) -> object:
    """Fork, run ``work`` in the child, and return its answer through JSON; an exception comes back as text."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        answer: object
        try:
            answer = work()
        except BaseException as error:  # noqa: BLE001 - the child must not return into pytest
            answer = f"{type(error).__name__}: {error}"
        os.write(writer, json.dumps(answer).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answers:
        text = answers.read()
    os.waitpid(pid, 0)
    return json.loads(text)


@contextlib.contextmanager
def waiting_children(count: int, work: Callable[[], object]) -> Iterator[list[int]]:
    """Fork children that do ``work``, keep its result, and wait until the block ends."""
    release_reader, release_writer = os.pipe()
    pids = [_fork_waiting_child(work, release_reader, release_writer) for _ in range(count)]
    try:
        yield pids
    finally:
        os.close(release_writer)
        os.close(release_reader)
        for pid in pids:
            os.waitpid(pid, 0)


def _fork_waiting_child(work: Callable[[], object], release_reader: int, release_writer: int) -> int:
    ready_reader, ready_writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(release_writer)
        kept = [work()]
        os.write(ready_writer, b"r")
        os.read(release_reader, 1)
        kept.clear()
        os._exit(0)
    os.close(ready_writer)
    assert os.read(ready_reader, 1) == b"r", "the child ended before it was ready"
    os.close(ready_reader)
    _wait_until_it_sleeps(pid)
    return pid


def _wait_until_it_sleeps(pid: int) -> None:
    # On its way from the answer to the wait it still touches pages.
    stat = Path(f"/proc/{pid}/stat")
    while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "S":
        time.sleep(0.001)
