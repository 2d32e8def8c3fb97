"""How reports read a process's recording: series by point and name, generations by the user's own numbers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping

from phaseprof.recording.model import ProcessRun
from phaseprof.recording.series import Series

GENERATION_END = "generation end"
ALLOCATED = "/allocated_bytes"


def series_of(process: ProcessRun, metric: str, *, point: str = GENERATION_END) -> Series | None:
    """Return a series that holds readings, or ``None`` where the metric was not measured at that point."""
    found = process.series.get((point, metric))
    return found if found is not None and len(found) else None


def metrics_under(process: ProcessRun, prefix: str, *, point: str = GENERATION_END) -> dict[str, Series]:
    """Return the series of one point whose metric begins with ``prefix``, by the rest of their name."""
    return {
        metric[len(prefix) :]: series
        for (at, metric), series in process.series.items()
        if at == point and metric.startswith(prefix) and len(series)
    }


def value_at(series: Series, generation: int) -> float | None:
    """Return the newest reading taken at or before a generation, ``None`` before the first."""
    at = bisect_right(series.generations, generation)
    return series.values[at - 1] if at else None


def devices_in(metrics: Iterable[str]) -> list[str]:
    """Return the accelerators that have counters among these metric names, in order."""
    return sorted({metric[: -len(ALLOCATED)] for metric in metrics if metric.endswith(ALLOCATED)})


def short_name(qualified: str) -> str:
    """Return a type's name without its module."""
    return qualified.rpartition(".")[2] or qualified


class Generations:
    """Names generations as the user does: by the index given, and by the ordinal where none was."""

    def __init__(self, process: ProcessRun) -> None:
        self._names = {g.ordinal: str(g.index) for g in process.generations if g.index != ""}

    def name(self, ordinal: int) -> str:
        """Return the user's number or name of a generation."""
        return self._names.get(ordinal, str(ordinal))

    def label(self, ordinal: int, what: str) -> str:
        """Return the label of a moment, such as ``Gen 3: After train``; outside generations only what it was."""
        return f"Gen {self.name(ordinal)}: {what}" if ordinal >= 0 else what


def watched_count(process: ProcessRun, counts: Mapping[str, float], name: str) -> float | None:
    """Find a watched class among counts by type: by its name, or by its short name where no other watch has that."""
    if name in counts:
        return counts[name]
    short = short_name(name)
    return None if short in process.watches else counts.get(short)


def bounds_text(low: int, high: int) -> str:
    """Say what was expected; empty where nothing was.

    >>> bounds_text(2, 2), bounds_text(16, 17), bounds_text(1, -1), bounds_text(-1, 5), bounds_text(-1, -1)
    ('should be exactly 2', 'expected 16-17', 'expected at least 1', 'expected at most 5', '')
    """
    if low < 0 and high < 0:
        return ""
    if low == high:
        return f"should be exactly {low}"
    if high < 0:
        return f"expected at least {low}"
    return f"expected at most {high}" if low < 0 else f"expected {low}-{high}"


def is_within(value: float, low: int, high: int) -> bool:
    """Tell whether a count keeps its bounds; -1 is no bound."""
    return (low < 0 or value >= low) and (high < 0 or value <= high)


def top_level_phases(process: ProcessRun) -> list[str]:
    """Return the phases that lie in no other phase, in order of first use; every phase if all are nested."""
    labels = process.labels
    phases = [label for label in labels.values() if label.role == "phase"]
    outer = [p.name for p in phases if p.parent not in labels or labels[p.parent].role == "generation"]
    return list(dict.fromkeys(outer or [p.name for p in phases] or process.phase_names))


def memory_point(process: ProcessRun) -> str:
    """Return the point at which memory is compared between generations.

    It is the end of a generation, or the end of the last outer phase where no generation was declared.
    """
    points = [GENERATION_END, *(f"after {phase}" for phase in reversed(top_level_phases(process)))]
    measured = (p for p in points if any(series_of(process, m, point=p) for m in ("rss_bytes", "anonymous_bytes")))
    return next(measured, GENERATION_END)


def count_generations(process: ProcessRun) -> int:
    """Return how many generations there were, those included that were only counted.

    Turns that nobody declared are counted by their readings.
    """
    if process.generations:
        of_generations = (n for number, n in process.counted.items() if process.labels[number].role == "generation")
        return max(len(process.generations) + sum(of_generations), process.generations[-1].ordinal + 1)
    return 1 + max((s.generations[-1] for s in process.series.values() if len(s)), default=-1)
