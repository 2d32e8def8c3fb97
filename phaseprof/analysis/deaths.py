"""How a run came to its end, where it did not end by itself."""

from __future__ import annotations

from dataclasses import dataclass

from phaseprof.analysis.symptoms import AT
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.series import Series
from phaseprof.records import NEAR_LIMIT
from phaseprof.units import format_bytes


@dataclass(frozen=True)
class Death:
    """Where a process was when it ended, or when its recording did.

    Attributes:
        cause: what it was told or what was raised; empty where nothing was written.
        generation: the program's number or name of the last generation; ``None``: there was none.
        phase: the innermost phase, as far as known.
        used_share: of the nearest memory limit, 0 to 1, at the last reading; ``None``: not known.
        limit_bytes: that limit.
    """

    cause: str
    generation: int | str | None
    phase: str
    used_share: float | None
    limit_bytes: float | None

    def describe(self) -> str:
        """Say it in one sentence, without an end."""
        seen = "" if self.cause else ", last seen"
        at = "" if self.generation is None else f"{seen} at generation {self.generation}"
        where = f" in {self.phase}" if self.phase else ""
        share = self.used_share
        limit = format_bytes(self.limit_bytes or 0)
        used = "" if share is None else f", with {share:.0%} of the memory limit of {limit} in use"
        return f"{self._verb()}{at}{where}{used}"

    def _verb(self) -> str:
        if self.cause:
            return f"ended by {self.cause}"
        near = self.used_share is not None and self.used_share >= NEAR_LIMIT  # the limit then ended it, most likely
        return "killed, most likely out of memory" if near else "ended without a word"


def death_of(process: ProcessRun) -> Death | None:
    """Say how a process ended, from its recording; ``None`` where it closed its recording and nothing was wrong.

    A recording without an end is that of a process which was killed, crashed or left by ``os._exit``, or which still
    runs: a recording cannot tell.
    """
    if process.header is None:  # nothing was recorded, or its beginning is missing
        return None
    ordinal = process.last_ordinal
    final = next((one for one in process.dying[-1:] if one.g >= ordinal and one.ending), None)
    if process.ended is not None and final is None:
        return None
    limit, left = (process.series.get((AT, metric)) for metric in ("limit_bytes", "available_bytes"))
    cause, phase = ("", process.open_phase or "") if final is None else (final.cause, final.phase)
    generation = process.number_of(ordinal) if ordinal >= 0 else None
    return Death(cause, generation, phase, _share(limit, left), None if limit is None else limit.last)


def _share(limit: Series | None, left: Series | None) -> float | None:
    if limit is None or left is None or limit.last <= 0:
        return None
    return min(1.0, max(0.0, 1 - left.last / limit.last))
