"""Which counters rise, and deserve to be followed from phase to phase."""

from __future__ import annotations

from collections.abc import Mapping

from phaseprof.live import families, suspicion
from phaseprof.live.budget import Budget
from phaseprof.live.escalation import Escalation
from phaseprof.live.investigation import Investigation
from phaseprof.live.recorder import Recorder
from phaseprof.probes.protocol import Probe
from phaseprof.recording.series import Series
from phaseprof.records import UNIT_BYTES

AT = "generation end"
# The exact counters of the allocators, and the rise a generation at which a leak is worth some haste; of generations
# that are shorter than so many seconds, the rise in that time.
ALLOCATORS = {"malloc_in_use_bytes": 16_384.0, "python_blocks": 100.0}
TURN_S = 0.5
# Counters that are followed from phase to phase, and the least rise a generation that is worth it.
COUNTERS = {
    "malloc_in_use_bytes": 256.0, "python_blocks": 8.0, "descriptors": 0.0, "threads": 0.0, "children": 0.0,
    "zombie_children": 0.0, "children_private_bytes": 256.0, "children_grown_bytes": 256.0, "shm_bytes": 256.0,
    "shm_resident_bytes": 256.0, "shm_segments": 0.0, "shm_user_segments": 0.0,
}  # fmt: skip
# What is read at boundaries in place of a counter that takes milliseconds there.  It need not come to as much: a phase
# whose change does not fit the rise of the counter is not told.
FOLLOWED_BY = {"children_private_bytes": "children_faulted_bytes"}
# Counters of things that objects come with.
COUNTED = ("children", "zombie_children", "threads", "shm_segments", "descriptors")
# What children must take more than at first to be read more often.
CHILDREN_BYTES = 1 << 20
# Allocator blocks that go with a tracked object in code and classes.
BLOCKS_EACH = 2.2


class Suspects:
    """Looks through the series of a recording and starts investigations.

    Args:
        recorder: whose model holds the series.
        escalation: runs the investigations.
        sources: the probe that reads a counter, by metric; filled as counters are read.
        clock: nanoseconds.
    """

    def __init__(
        self, recorder: Recorder, escalation: Escalation, sources: Mapping[str, Probe], budget: Budget
    ) -> None:
        self._recorder = recorder
        self._escalation = escalation
        self._sources = sources
        self._budget = budget
        self._clock, self._began = budget.clock, budget.clock()

    def series(self, metric: str) -> Series | None:
        """Return a series read at the end of generations."""
        return self._recorder.model.series.get((AT, metric))

    def n_objects(self) -> int:
        """How many objects the collector tracks, as counted or as the allocator's blocks suggest; 0 if not known."""
        counted, blocks = self.series("n_objects"), self.series("python_blocks")
        if counted is not None:
            return int(counted.last)
        return 0 if blocks is None else int(blocks.last / BLOCKS_EACH)

    def n_blocks(self) -> int:
        """How many blocks Python's allocator has given out; 0 if not known."""
        blocks = self.series("python_blocks")
        return 0 if blocks is None else int(blocks.last)

    def allocated_since(self, generation: int) -> float:
        """By how many bytes what the allocators have given out has grown since a generation."""
        read = ((self.series(metric), unit) for metric, unit in UNIT_BYTES.items())
        return sum(unit * series.grown_since(generation) for series, unit in read if series is not None)

    def rises(self, metric: str) -> bool:
        """Whether a series read at the end of generations rises."""
        return suspicion.rise(self.series(metric)) > 0

    def children_rise(self) -> bool:
        """Whether the memory of child processes has risen by what would be felt, or was read only once.

        Not where their number rises, which says enough: to weigh many takes long.
        """
        series, number = self.series("children_private_bytes"), self.series("children")
        if number is not None and number.last > number.values[0]:
            return False
        return series is not None and (len(series) < 2 or series.last >= series.values[0] + CHILDREN_BYTES)

    def is_urgent(self) -> bool:
        """Whether they rise by enough, and have not stopped: a buffer that is full is no reason for haste."""
        part = min(1.0, self._seconds_each() / TURN_S)
        return any(
            suspicion.rises_still(self.series(metric), part * least + self._own_growth(metric))
            for metric, least in ALLOCATORS.items()
        )

    def are_more(self) -> bool:
        """Whether things that objects come with become more, and have not stopped."""
        return any(suspicion.rises_still(self.series(metric), 0.0) for metric in COUNTED)

    def is_any(self) -> bool:
        """Whether something may leak as far as the counters tell."""
        return any(map(self.rises, (*ALLOCATORS, *COUNTED)))

    def _seconds_each(self) -> float:
        """How long a generation has taken so far, on average."""
        return (self._clock() - self._began) / 1e9 / max(1, self._recorder.generation + 1)

    def look(self, generation: int) -> None:
        """Begin to follow every counter that rises and is not followed already.

        Args:
            generation: ordinal of the current one.
        """
        for metric, least in COUNTERS.items():
            reader = self.reader_of(FOLLOWED_BY.get(metric, metric))
            if reader is None or not self._escalation.wants(metric, generation):
                continue
            rate = suspicion.rise(self.series(metric))
            if rate > least:
                followed = 0.0 if metric in FOLLOWED_BY else rate
                self._escalation.start(Investigation(metric, metric, generation, counter=reader, rate=followed))

    def _own_growth(self, metric: str) -> float:
        """What a generation's readings add to a counter: each is a number that Python's allocator holds."""
        model = self._recorder.model
        return len(model.series) + len(model.charges) if metric == "python_blocks" else 0.0

    def reader_of(self, metric: str) -> families.Reader | None:
        """Return what reads a counter now; ``None`` if no probe gives it."""
        probe = self._sources.get(metric)
        if probe is None:
            return None
        is_of_children = metric in ("children", "zombie_children")
        return families.ChildrenReader() if is_of_children else families.CounterReader(probe, metric)
