"""How long until memory ends: the nearest limit, what is left of it, and how fast a leak eats it."""

from __future__ import annotations

from statistics import median

from phaseprof.analysis.symptoms import AT
from phaseprof.recording.model import ProcessRun

# A leak that takes less than this share of what is left in an hour is a trifle on any machine.
SHARE_PER_HOUR = 2e-4


class Horizon:
    """What a recording knows about time and limits."""

    def __init__(self, process: ProcessRun) -> None:
        seconds = [g.seconds for g in process.generations[-50:] if g.seconds]
        self.generation_s = median(seconds) if seconds else self._implied(process)
        left = process.series.get((AT, "available_bytes"))
        self.left_bytes = left.last if left is not None else None

    @staticmethod
    def _implied(process: ProcessRun) -> float | None:
        header = process.header
        turns = max((series.generations[-1] for series in process.series.values() if len(series)), default=0)
        if header is None or turns < 1 or not process.last_ns:
            return None
        return (process.last_ns - header.started_ns) / 1e9 / turns

    def seconds_left(self, bytes_per_generation: float, *, of: float | None = None) -> float | None:
        """Seconds until the limit at this rate; ``None`` where limit, time or growth is unknown.

        Args:
            bytes_per_generation: the rate.
            of: bytes that are left, where it is not the process's limit that counts but a device's.
        """
        left = self.left_bytes if of is None else of
        if left is None or not self.generation_s or bytes_per_generation <= 0:
            return None
        return left / bytes_per_generation * self.generation_s

    def is_material(self, bytes_per_generation: float) -> bool:
        """Whether the rate matters on this machine; unknown limits or times count as material."""
        left_s = self.seconds_left(bytes_per_generation)
        return left_s is None or 3600 / left_s >= SHARE_PER_HOUR
