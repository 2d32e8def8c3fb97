"""How a run came to its end, where it did not end by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from phaseprof.analysis.symptoms import AT
from phaseprof.recording.limits import LEFT, LIMIT, InUse, limits_in_use
from phaseprof.recording.model import ProcessRun
from phaseprof.records import NEAR_LIMIT
from phaseprof.units import format_bytes

# What is in use of a limit near which a look was made, from which on a process that is killed is out of memory.
STILL_NEAR = 0.75


@dataclass(frozen=True)
class Death:
    """Where a process was when it ended, or when its recording did.

    Attributes:
        cause: what it was told or what was raised; empty where nothing was written.
        generation: the program's number or name of the last generation; ``None``: there was none.
        phase: the innermost phase, as far as known.
        limits: how much was in use of the memory limit of the process, and of each device, when they were last read.
        rank: of how many; ``None`` where the process is alone.
        was_near: a look was made near the limit of the process, and gave back what was kept for it; little more has
            been given back since.
    """

    cause: str
    generation: int | str | None
    phase: str
    limits: Mapping[str, InUse]
    rank: tuple[int, int] | None = None
    was_near: bool = False

    @property
    def has_cause(self) -> bool:
        """Whether it is known, or nearly so, what ended it: of many ranks one dies, and the others are told to end."""
        return bool(self.cause) or self._is_out_of_memory()

    def describe(self) -> str:
        """Say it in one sentence, without an end."""
        who = "" if self.rank is None else f"rank {self.rank[0]} of {self.rank[1]}, "
        seen = "" if self.cause else ", last seen"
        at = "" if self.generation is None else f"{seen} at generation {self.generation}"
        where = f" in {self.phase}" if self.phase else ""
        told = [one for device, one in self.limits.items() if not device or self._is_near(device)]
        used = " and ".join(map(_in_words, told))
        return f"{who}{self._verb()}{at}{where}" + (f", with {used} in use" if used else "")

    def _verb(self) -> str:
        if self.cause:
            return f"ended by {self.cause}"
        return "killed, most likely out of memory" if self._is_out_of_memory() else "ended without a word"

    def _is_out_of_memory(self) -> bool:
        return self._is_near("") or self.was_near

    def _is_near(self, device: str) -> bool:
        return device in self.limits and self.limits[device].share >= NEAR_LIMIT


def death_of(process: ProcessRun) -> Death | None:
    """Say how a process ended, from its recording; ``None`` where it closed its recording and nothing was wrong.

    A recording without an end is that of a process which was killed, crashed or left by ``os._exit``, or which still
    runs: a recording cannot tell.
    """
    header = process.header
    if header is None:  # nothing was recorded, or its beginning is missing
        return None
    ordinal = process.last_ordinal
    final = next((one for one in process.dying[-1:] if one.g >= ordinal and one.ending), None)
    # Where no generation is declared, that of the exception is not over before its phase comes again.  Another one may
    # be that of the cleaning up.
    if final is not None and not process.has_generations and process.comes_again(final.phase, final.t):
        final = None
    if process.ended is not None and final is None:
        return None
    cause, phase, v = ("", process.open_phase or "", {}) if final is None else (final.cause, final.phase, final.v)
    generation = process.number_of(ordinal) if ordinal >= 0 else None
    rank = (header.rank, header.world_size) if header.world_size > 1 else None
    limits = limits_in_use(_limits(process) | v)
    looked = limits_in_use(process.dying[-1].v) if process.dying else {}
    was_near = "" in looked and looked[""].share >= NEAR_LIMIT and "" in limits and limits[""].share >= STILL_NEAR
    return Death(cause, generation, phase, limits, rank, was_near)


def _limits(process: ProcessRun) -> dict[str, float]:
    """The limits and what was left of them, by the newest readings of any point.

    Limits are read at ends of generations; what this process itself had taken since is known of each boundary.
    """
    figures = {
        metric: series.last
        for (point, metric), series in process.series.items()
        if point == AT and metric.endswith((LIMIT, LEFT))
    }
    for metric, left in list(figures.items()):
        prefix = metric.removesuffix(LEFT)
        limit = figures.get(prefix + LIMIT)
        taken = _newest(process, f"{prefix}allocated_bytes" if prefix else "rss_bytes")
        if metric.endswith(LEFT) and limit is not None and taken is not None:
            figures[metric] = min(left, limit - taken)
    return figures


def _newest(process: ProcessRun, metric: str) -> float | None:
    """The largest reading of a counter in the last generation, at any point."""
    found = (series for (_, name), series in process.series.items() if name == metric and len(series))
    return max((one.last for one in found if one.generations[-1] == process.last_ordinal), default=None)


def _in_words(one: InUse) -> str:
    size = format_bytes(one.limit_bytes)
    return f"{one.share:.0%} of the " + (f"{size} of {one.device}" if one.device else f"memory limit of {size}")
