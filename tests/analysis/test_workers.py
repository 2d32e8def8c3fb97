"""What a worker tells of itself is not told of the process that started it as well."""

from __future__ import annotations

import pytest

from phaseprof.analysis.workers import told_once
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.records import Finding

OF_CHILDREN = Finding("leak", "children", None, None, metric="children_grown_bytes")
ITS_OWN = Finding("leak", "arrays", "collect", "ndarray", metric="malloc_in_use_bytes")
MANY = Finding("leak", "children", None, "Process", metric="children")


def process(pid: int, *, began: float = 100.0, host: str = "here", rank: int = 0) -> ProcessRun:
    run = ProcessRun()
    run.add(
        fmt.Header(
            format=fmt.FORMAT_VERSION, phaseprof="0", pid=pid, started_unix_s=began, started_ns=0, page_bytes=4096,
            host=host, rank=rank, world_size=2,
        )
    )  # fmt: skip
    return run


def test_a_worker_that_says_what_leaks_speaks_for_its_parent() -> None:
    told = told_once([process(1), process(2, began=101.0)], [(OF_CHILDREN, ITS_OWN), (ITS_OWN,)])

    assert told == ((ITS_OWN,), (ITS_OWN,))


@pytest.mark.parametrize(
    "other",
    [process(2, began=99.0), process(2, host="there"), process(2, rank=1), process(1)],
    ids=["older", "elsewhere", "of another rank", "the same"],
)
def test_what_may_be_no_worker_speaks_for_itself_alone(other: ProcessRun) -> None:
    assert told_once([process(1), other], [(OF_CHILDREN,), (ITS_OWN,)]) == ((OF_CHILDREN,), (ITS_OWN,))


def test_workers_at_rest_explain_nothing() -> None:
    assert told_once([process(1), process(2, began=101.0)], [(OF_CHILDREN,), ()]) == ((OF_CHILDREN,), ())


def test_how_many_children_there_are_no_worker_says() -> None:
    assert told_once([process(1), process(2, began=101.0)], [(MANY,), (ITS_OWN,)]) == ((MANY,), (ITS_OWN,))
