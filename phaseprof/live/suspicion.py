"""What is worth a closer look: a cheap filter on series, long before any verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from phaseprof.recording.series import Series
from phaseprof.records import CONTEXTS

# The first generations import, compile and allocate for good; what rises only there is not worth a look.
WARM_UP = 2
LEAST_READINGS = 3
RECENT = 12
# Readings that must still rise for there to be haste.
LATELY = 4
# Share of the growth over the recent readings that a step must come to.
STEP_SHARE = 0.02


@dataclass(frozen=True)
class Candidate:
    """A series that looks as if it might leak: its metric, and its rise per generation lately."""

    metric: str
    per_generation: float


def rise(series: Series | None, *, least: int = LEAST_READINGS) -> float:
    """Return the rise per generation of a series that looks suspicious, else 0.

    Suspicious: at its highest now, with at least two rises among its recent readings, and at most a third as many
    falls.  One step is not enough; a staircase is after its second step.  What is small beside the whole growth is
    neither a rise nor a fall.

    Args:
        series: the readings.
        least: how many there must be after the warm-up; with two, one rise is enough, for the last look of all.
    """
    if series is None:
        return 0.0
    recent = zip(series.generations[-RECENT:], series.values[-RECENT:], strict=True)
    pairs = [(g, v) for g, v in recent if g >= WARM_UP]
    if len(pairs) < least:
        return 0.0
    values = [v for _, v in pairs]
    grown = values[-1] - values[0]
    least_step = STEP_SHARE * grown
    steps = [b - a for a, b in pairwise(values)]
    rises, falls = sum(s > least_step for s in steps), sum(s < -least_step for s in steps)
    if grown <= 0 or rises < least - 1 or falls * 3 > rises or values[-1] < max(values) - 0.25 * grown:
        return 0.0
    return grown / max(1, pairs[-1][0] - pairs[0][0])


def rises_still(series: Series | None, least: float) -> bool:
    """Whether a series rises by more than ``least`` a generation, and its last few readings at half that rate or more.

    Args:
        series: the readings.
        least: rise a generation that is worth some haste.
    """
    rate = rise(series)
    if series is None or rate <= least:
        return False
    generations, values = series.generations[-LATELY - 1 :], series.values[-LATELY - 1 :]
    return values[-1] - values[0] >= 0.5 * rate * (generations[-1] - generations[0])


def candidates(
    series: Iterable[tuple[str, Series]], least: dict[str, float], *, readings: int = LEAST_READINGS
) -> list[Candidate]:
    """Filter named series; ``least`` gives the smallest rise per generation by the end of a metric's name."""
    found = []
    for metric, values in series:
        per_generation = rise(values, least=readings)
        floor = next((bound for ending, bound in least.items() if metric.endswith(ending)), 0.0)
        if per_generation > floor:
            found.append(Candidate(metric, per_generation))
    return found


# The Python objects of graph nodes are made by whoever looks at the graph; the graph is followed as a whole.
GRAPH_NODE_ENDINGS = ("Backward0", "Backward1", "Backward2", "AccumulateGrad", "UntypedStorage")
_LIBRARIES = ("torch", "numpy", "phaseprof", "asyncio", "concurrent", "threading", "multiprocessing", "collections",
              "builtins", "weakref", "functools", "importlib", "_frozen_importlib",
              "_frozen_importlib_external", "zipimport", "types", "re", "enum", "abc",
              "typing", "inspect", "sre_parse")  # fmt: skip
_TELLING = frozenset({"Tensor", "Parameter", "ndarray", "Thread", "Process", "type", "SharedMemory", "socket", "Popen"})
PLUMBING_TIER = 2


def type_tier(metric: str) -> int:
    """Rank a type by how much its name tells: the user's own, then tensors and the like, then plumbing and builtins."""
    name = metric.removeprefix("count/")
    module, _, short = name.rpartition(".")
    if (short in _TELLING and module != "inspect") or name.startswith(CONTEXTS):
        return 1
    return PLUMBING_TIER if not module or module.partition(".")[0] in _LIBRARIES else 0
