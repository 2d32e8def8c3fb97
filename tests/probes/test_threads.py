"""Threads: counted and grouped by name, without running the user's code."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from phaseprof.probes.threads import ThreadProbe, describe_threads


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


def names() -> dict[str, int]:
    return {group.name: group.count for group in describe_threads()}


def test_a_started_thread_counts_in_both_figures() -> None:
    probe = ThreadProbe()
    before = probe.read()

    with running(threading.Thread(target=RELEASE.wait)):
        during = probe.read()

    assert during["threads"] - before["threads"] == 1
    assert during["python_threads"] - before["python_threads"] == 1


def test_workers_of_executors_go_by_one_name() -> None:
    barrier = threading.Barrier(4)
    with ThreadPoolExecutor(3) as executor:
        for _ in range(3):
            executor.submit(barrier.wait)
        found = names()
        barrier.wait()

    assert found["ThreadPoolExecutor-*"] == 3


def test_numbers_inside_a_name_are_set_aside() -> None:
    threads = [threading.Thread(target=RELEASE.wait, name=f"loader-{n} (worker)") for n in (1, 22)]

    with running(*threads):
        found = names()

    assert found["loader-* (worker)"] == 2


class Uploader(threading.Thread):
    def run(self) -> None:
        RELEASE.wait()


ASKED: list[str] = []


class Secretive(Uploader):
    @property
    def name(self) -> str:
        ASKED.append("name")
        return "computed"

    @name.setter
    def name(self, value: str) -> None: ...


def test_a_plain_subclass_goes_by_its_name() -> None:
    with running(Uploader(name="upload-7")):
        found = names()

    assert found["upload-*"] == 1


def test_a_name_that_would_run_code_is_replaced_by_the_class() -> None:
    with running(Secretive()):
        ASKED.clear()
        found = names()
        asked = list(ASKED)

    assert found["Secretive"] == 1
    assert asked == []


@pytest.mark.parametrize("hook", ["__getattribute__", "__getattr__"])
def test_a_class_that_intercepts_attributes_is_not_asked(hook: str) -> None:
    kind = type("Proxy", (Uploader,), {})
    thread = kind(name="plain-1")

    with running(thread):
        asked: list[str] = []
        setattr(kind, hook, lambda self, name: asked.append(name) or object.__getattribute__(self, name))
        try:
            found = names()
            by_us = [name for name in asked if name in ("name", "_name")]
        finally:
            delattr(kind, hook)

    assert found["Proxy"] == 1
    assert by_us == []
