"""Small programs of the kinds that the seed documents describe, and the recordings that need no device."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from phaseprof import Profiler
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun

MIB = 1 << 20
SECOND = 10**9
Step = Callable[[int], object]


class TradingEnvironment:
    """What must be there twice."""

    def __init__(self) -> None:
        self.prices = [float(price) for price in range(4000)]


class DDPGAgent:
    """What must be there sixteen or seventeen times."""

    def __init__(self) -> None:
        self.weights = [float(weight) for weight in range(4000)]


class ReplayBuffer:
    """What must be there once."""

    def __init__(self) -> None:
        self.data: list[object] = [float(item) for item in range(4000)]


def generations(
    profiler: Profiler, indices: Iterable[int | str], *, items: float | None = None, **phases: Step
) -> None:
    """Run an outer loop whose generations pass these phases in order, each given the turn's position."""
    for turn, index in enumerate(indices):
        with profiler.generation(index, items=items):
            for name, step in phases.items():
                with profiler.phase(name):
                    step(turn)


def nothing(turn: int) -> None:
    """A phase that leaves nothing behind."""


def header(pid: int = 7) -> fmt.Header:
    """The first record of a recording."""
    return fmt.Header(
        format=1, phaseprof="0.1.0", pid=pid, started_unix_s=1.7e9, started_ns=0, page_bytes=4096, python="3.11",
        argv=["train.py"],
    )  # fmt: skip


def run_on_device(allocated_mib: list[float], *, seconds: list[float] | None = None, items: float = 5120) -> ProcessRun:
    """A recording of rollouts on one accelerator that holds so much at the end of each."""
    process = ProcessRun()
    process.add(header())
    process.add(fmt.Label(0, "rollout", "phase"))
    process.add(fmt.Label(1, "generation", "generation"))
    now = 0
    for g, mib in enumerate(allocated_mib):
        took = seconds[g] if seconds else 1.0
        counters = [int(mib * MIB), int((mib + 250) * MIB), int(mib * MIB), int(mib * MIB), 0, 100 + g, 0, 0, 0, 0]
        process.add(fmt.GenerationBegin(now, g, g))
        for label, edge in ((0, fmt.ENTER), (0, fmt.EXIT), (1, fmt.EXIT)):
            process.add(fmt.Point(now + 1, label, edge, g, "1000 500 100 0 0 0 0", {"cuda0": counters}))
        now += int(took * SECOND)
        process.add(fmt.GenerationEnd(now, g, took, items))
    process.fold()
    return process
