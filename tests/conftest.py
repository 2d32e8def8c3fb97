"""What every test must leave as it found it: a profiler that changes the process it watches is the bug."""

from __future__ import annotations

import gc
import sys
import threading
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest_plugins = ["pytester"]

# On a busy machine an example may take any time.
settings.register_profile("any time", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any time")


def pytest_collection_finish() -> None:
    """Take what the test runner has collected out of the heap that is looked at: each walk would pass over it."""
    gc.collect()
    gc.freeze()


def process_state() -> dict[str, object]:
    """Return the process-wide switches that phaseprof could touch, as comparable values."""
    return {
        "gc.isenabled()": gc.isenabled(),
        "gc.get_threshold()": gc.get_threshold(),
        "gc.get_debug()": gc.get_debug(),
        "gc.callbacks": tuple(id(callback) for callback in gc.callbacks),
        "sys.gettrace()": sys.gettrace(),
        "sys.getprofile()": sys.getprofile(),
        "sys.excepthook": sys.excepthook,
        "threading.gettrace()": threading.gettrace(),
        "threading.getprofile()": threading.getprofile(),
        "tracemalloc.is_tracing()": tracemalloc.is_tracing(),
    }


def own_threads() -> set[int]:
    """Return the identifiers of live threads that phaseprof started."""
    return {thread.ident or 0 for thread in threading.enumerate() if thread.name.startswith("phaseprof")}


@pytest.fixture(autouse=True, scope="session")
def hypothesis_is_set_up() -> None:
    """Let hypothesis add its callback to the collector now, not inside the first test that uses it."""
    settings(database=None)(given(st.none())(lambda _: None))()


@pytest.fixture(autouse=True)
def hygiene() -> Iterator[None]:
    """Fail a test that leaves gc, tracing or a thread of ours in another state than before.

    Profilers that a test makes are closed by the test; the default one may be kept, so what is compared is the change.
    """
    before, threads = process_state(), own_threads()
    yield
    after = process_state()
    changed = [f"{name}: {before[name]!r} -> {after[name]!r}" for name in before if before[name] != after[name]]
    assert not changed, f"the test left process-wide state changed: {'; '.join(changed)}"
    assert not own_threads() - threads, "the test left a thread of phaseprof running; close the profiler"


class Frozen:
    """How many objects the tests themselves have frozen, which grow fewer as some die."""

    n = 0


@pytest.fixture(autouse=True, scope="module")
def nothing_stays_frozen() -> Iterator[None]:
    """Fail a file whose tests leave objects frozen; once a file, since counting them walks over all of them."""
    Frozen.n = gc.get_freeze_count()
    yield
    assert gc.get_freeze_count() <= Frozen.n, "a test of this file left objects frozen"


@pytest.fixture
def small_heap() -> None:
    """Take what the tests before this one made out of the collector's lists, so that many looks take no time."""
    gc.collect()
    gc.freeze()
    Frozen.n = gc.get_freeze_count()
