"""Threads are counted."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from phaseprof.probes.threads import ThreadProbe


@contextlib.contextmanager
def running(*threads: threading.Thread) -> Iterator[None]:
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        RELEASE.set()
        for thread in threads:
            thread.join()
        RELEASE.clear()


RELEASE = threading.Event()


def test_a_started_thread_counts_in_both_figures() -> None:
    probe = ThreadProbe()
    before = probe.read()

    with running(threading.Thread(target=RELEASE.wait)):
        during = probe.read()

    assert during["threads"] - before["threads"] == 1
    assert during["python_threads"] - before["python_threads"] == 1
