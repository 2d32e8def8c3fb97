"""What a counter that leaks grew by, as a sum: places, native memory, fragmentation, and what was not looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from phaseprof.analysis.naming_places import name_growth
from phaseprof.analysis.on_devices import torch_name
from phaseprof.analysis.placed import measured_looks
from phaseprof.analysis.symptoms import AT, judge_metric
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.series import Series
from phaseprof.records import BLOCK_BYTES, Finding, is_own_name

PLACE, OTHER_PLACES, NATIVE, FRAGMENTATION, GIVEN_BACK, UNSEEN = (
    "place", "other places", "native", "fragmentation", "fragmentation given back", "not looked at",
)  # fmt: skip
# Counters of memory that may be told as a sum, by name: the metrics that vote for each, in the order of the report.
IN_USE, RESIDENT = "memory in use", "resident memory"
VOTES = {
    IN_USE: ("malloc_in_use_bytes", "python_blocks"),
    RESIDENT: ("anonymous_bytes", "rss_bytes"),
}
# Places that are shown, the heaviest first, and the least part of the growth that one must be.
MOST_PLACES, LEAST_SHARE = 8, 0.02


@dataclass(frozen=True)
class Part:
    """One part of what a counter grew by.

    Attributes:
        kind: a place, other places, native, fragmentation that stays or that a trim gave back, or not looked at.
        growth_bytes: its growth; negative where it shrank.
        subject, holder: what came at a place, and the path to it; empty for all else.
        spread_bytes: the growth is so much more or less, since a counter that breathes tells it; places are weighed.
    """

    kind: str
    growth_bytes: int
    subject: str = ""
    holder: tuple[str, ...] = ()
    spread_bytes: int = 0


@dataclass(frozen=True)
class GrowthSum:
    """What one counter grew by between two generations; the parts add up to it.

    Attributes:
        counter: its name, in words.
        first, last: ordinals of the generations.
        growth_bytes: what it grew by.
        parts: the heaviest place first, what was not looked at last.
    """

    counter: str
    first: int
    last: int
    growth_bytes: int
    parts: tuple[Part, ...]


def growth_sums(process: ProcessRun, findings: Sequence[Finding]) -> tuple[GrowthSum, ...]:
    """Return a sum for each counter of memory that leaks; nothing where no leak was found.

    Each byte is charged once: a place has what came there and below it, *native* what the counter gained beyond all
    that Python holds, *fragmentation* what malloc keeps of freed memory, and what the counter gained before the first
    look by place or after the last was not looked at.

    Args:
        process: the recording, folded.
        findings: of it.
    """
    if not any(finding.verdict == "leak" for finding in findings):
        return ()
    levels: list[tuple[str, Sequence[str], Callable[[int], float] | None]] = [
        (name, metrics, _level(process, name)) for name, metrics in VOTES.items()
    ]
    sums = [_sum(process, name, metrics, level) for name, metrics, level in levels if level is not None]
    return tuple(one for one in (*sums, *_on_devices(process)) if one is not None)


def _level(process: ProcessRun, counter: str) -> Callable[[int], float] | None:
    """What a counter stood at in a generation, in bytes; ``None`` where it was not read."""
    if counter == RESIDENT:
        read = next((s for m in VOTES[RESIDENT] if (s := process.series.get((AT, m))) is not None), None)
        return None if read is None else _reader((read, 1.0))
    malloc, blocks = (process.series.get((AT, metric)) for metric in VOTES[IN_USE])
    known = [(series, unit) for series, unit in ((malloc, 1.0), (blocks, BLOCK_BYTES)) if series is not None]
    return _reader(*known) if known else None


def _reader(*known: tuple[Series, float]) -> Callable[[int], float]:
    def read(generation: int) -> float:
        return float(sum(unit * np.interp(generation, series.generations, series.values) for series, unit in known))

    return read


def _sum(process: ProcessRun, counter: str, metrics: Sequence[str], level: Callable[[int], float]) -> GrowthSum | None:
    window = _window(process, metrics)
    if window is None:
        return None
    first, last = window
    total = round(level(last) - level(first))
    if total <= 0:
        return None
    told = _look(process)
    if told is None:
        return GrowthSum(counter, first, last, total, (Part(UNSEEN, total),))
    seen, spread = round(level(told.g) - level(told.since)), _spread(level, first, last)
    parts = [*_places(told, seen), *(_fragmentation(process, told) if counter == RESIDENT else ())]
    beyond = seen - told.bytes - sum(part.growth_bytes for part in parts if part.kind in (FRAGMENTATION, GIVEN_BACK))
    # What libraries hold is among it where the look left them out.
    native = (Part(NATIVE, beyond, spread_bytes=spread),) if told.libraries else ()
    unseen = Part(UNSEEN, total - seen + (0 if native else beyond), spread_bytes=spread)
    return GrowthSum(counter, first, last, total, (*parts, *native, unseen))


def _spread(level: Callable[[int], float], first: int, last: int) -> int:
    """By how much a difference of two readings may be off: twice the median by which steps differ from their median."""
    steps = np.diff([level(g) for g in range(first, last + 1)])
    return round(2 * float(np.median(np.abs(steps - np.median(steps)))))


def _look(process: ProcessRun) -> fmt.Places | None:
    """The look that found most, of those that were compared with one before; of two alike, at all of the heap."""
    looks = measured_looks(process)
    return max(looks, key=lambda told: (sum(row.bytes for row in told.rows), told.libraries), default=None)


def _window(process: ProcessRun, metrics: Sequence[str]) -> tuple[int, int] | None:
    """The generations from the begin of the growth, or the first look, to the end; ``None`` where nothing leaks."""
    judged = [(process.series[AT, m], judge_metric(process, m)) for m in metrics if (AT, m) in process.series]
    leaks = [(series, found) for series, found in judged if found is not None and found.verdict == "leak"]
    if not leaks:
        return None
    told = _look(process)
    begins = [found.since or 0 for _, found in leaks] + ([] if told is None else [told.since])
    ends = [series.generations[-1 - found.ending] for series, found in leaks]
    return min(begins), max([*ends, *([] if told is None else [told.g])])


def _places(told: fmt.Places, seen: int) -> Iterator[Part]:
    """The places where most came, and all others as one."""
    rows = [row for row in told.rows if row.bytes >= LEAST_SHARE * seen and row.bytes > 0 and row.steps]
    rows = [row for row in rows if not is_own_name(row.type)][:MOST_PLACES]
    for row in rows:
        yield Part(PLACE, row.bytes, name_growth(row)[1], tuple(row.steps))
    yield Part(OTHER_PLACES, told.bytes - sum(row.bytes for row in rows))


def _fragmentation(process: ProcessRun, told: fmt.Places) -> Iterator[Part]:
    """What malloc has more of freed memory: what a trial trim at the end gave back of it, and what is pinned."""
    free = process.series.get((AT, "malloc_free_bytes"))
    if free is None:
        return
    read = _reader((free, 1.0))
    kept, spread = round(read(told.g) - read(told.since)), _spread(read, told.since, told.g)
    tried = process.series.get((AT, "malloc_given_back_bytes"))
    given_back = 0 if tried is None else round(min(tried.last, max(0, kept)))
    if kept - given_back:
        yield Part(FRAGMENTATION, kept - given_back, spread_bytes=spread)
    if given_back:
        yield Part(GIVEN_BACK, given_back)


def _on_devices(process: ProcessRun) -> Iterator[GrowthSum]:
    """Live memory of each device: the tensors that Python shows, and what none shows."""
    for at, metric in [key for key in process.series if key[0] == AT and key[1].endswith("/allocated_bytes")]:
        window = _window_of_device(process, metric)
        if window is None:
            continue
        first, last = window
        read = _reader((process.series[at, metric], 1.0))
        total, device = round(read(last) - read(first)), metric.rpartition("/")[0]
        shown = process.series.get((AT, f"storages/{torch_name(device)}_bytes"))
        if shown is None or len(shown) < 2:
            yield GrowthSum(f"{device} memory", first, last, total, (Part(UNSEEN, total),))
            continue
        tensors = _reader((shown, 1.0))
        seen = round(tensors(last) - tensors(first))
        parts = Part(PLACE, seen, "tensors"), Part(NATIVE, total - seen)
        yield GrowthSum(f"{device} memory", first, last, total, parts)


def _window_of_device(process: ProcessRun, metric: str) -> tuple[int, int] | None:
    found, series = judge_metric(process, metric), process.series[AT, metric]
    if found is None or found.verdict != "leak":
        return None
    return found.since or 0, series.generations[-1 - found.ending]
