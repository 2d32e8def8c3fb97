"""How long until memory ends, and whether anybody will feel a leak before: by the hour, and so far.

What a generation lasts does not matter here: 6 KiB in each of 20 ms are a gigabyte an hour, 100 KiB in each of an hour
are nothing.
"""

from __future__ import annotations

from statistics import median

from phaseprof.analysis.symptoms import AT
from phaseprof.recording.model import ProcessRun

# A leak that takes less than this share of what is left in an hour is negligible: memory lasts for 200 days.
SHARE_PER_HOUR = 2e-4
# What a leak must have come to so far, in bytes: caches of any library move memory by some hundred kilobytes.  Of 120
# healthy builds of small trainings none kept more than 160 KB; of 110 leaky ones the least that was kept is 1.2 MB.
FELT_BYTES = 1024 * 1024.0
# The same for objects of classes that the program itself defines: they are no library's cache, and a class that leaks
# is worth a line long before its objects are felt.  Chosen: 256 of the smallest objects.
OWN_BYTES = 16 * 1024.0
# For a log, numbers and text that every training keeps of itself: memory lasts for five days, and what leaks beside it
# ends the run before the log is a fiftieth of memory.  Chosen, not measured, and with programs in sight: losses kept as
# numbers, in a trainer that repaired its leak so, last for 8 to 15 days, and statistics of ten kilobytes an epoch come
# to 600 KB in sixty quick ones; LeakBench's leaks of text and numbers are far faster.
LOG_SHARE_PER_HOUR, LOG_PART = 1 / 120, 0.02
# What a log must have come to so far to be news beside a leak.
LOG_NEWS_BYTES = 64 * 1024.0
# What a reading that the recording keeps takes in the process: two slots of growing lists, a number and an ordinal.
SLOTS_BYTES, NUMBERS_BYTES = 18.0, 56.0


class Horizon:
    """What a recording knows about time and limits.

    Args:
        process: the recording.
        least_bytes: growth by as much, in bytes a generation, is felt; ``None``: what matters by the hour and so far.
    """

    def __init__(self, process: ProcessRun, least_bytes: float | None = None) -> None:
        self._least_bytes = least_bytes
        seconds = [g.seconds for g in process.generations[-50:] if g.seconds]
        self.generation_s = median(seconds) if seconds else self._implied(process)
        left = process.series.get((AT, "available_bytes"))
        self.left_bytes = left.last if left is not None else None
        self.newest = max((series.generations[-1] for series in process.series.values() if len(series)), default=0)
        self._n_readings = sum(map(len, process.series.values())) + sum(map(len, process.charges.values()))

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

    def lasts_until_full(self, bytes_per_generation: float, since: int | None, *, length: int, bound: int) -> bool:
        """Whether a container is full before memory ends, if what is to come is like what came; unknown limits last.

        Example: 60 of 100,000 error records have taken 36 MB: all would take 60 GB, and 24 are left.

        Args:
            bytes_per_generation: what its growth adds.
            since: the generation in which it began; ``None``: the first.
            length: items in it now.
            bound: items that it can hold; -1: no end to them.
        """
        if bound <= 0:
            return False
        to_come = self.so_far(bytes_per_generation, since) * (bound - length) / max(1, length)
        return self.left_bytes is None or to_come <= self.left_bytes

    def is_material(self, bytes_per_generation: float, *, share: float = SHARE_PER_HOUR) -> bool:
        """Whether the rate by the hour matters on this machine; unknown limits or times count as material."""
        left_s = self.seconds_left(bytes_per_generation)
        return left_s is None or share * left_s <= 3600

    def is_log_felt(self, bytes_per_generation: float, since: int | None, *, beside: float = 0.0) -> bool:
        """Whether a log grows by more than a training keeps of itself, by the hour, so far, and beside other leaks.

        Args:
            bytes_per_generation: its rate.
            since: the generation in which it began to grow; ``None``: the first.
            beside: bytes a generation by which memory leaks in all, where that is known.
        """
        if self._least_bytes is not None:
            return bytes_per_generation >= self._least_bytes
        return (
            bytes_per_generation >= LOG_PART * beside
            and self.so_far(bytes_per_generation, since) >= FELT_BYTES
            and self.is_material(bytes_per_generation, share=LOG_SHARE_PER_HOUR)
        )

    def so_far(self, bytes_per_generation: float, since: int | None) -> float:
        """Bytes that growth at this rate has come to since the generation in which it began."""
        return bytes_per_generation * (self.newest + 1 - (since or 0))

    def is_felt(
        self, bytes_per_generation: float, since: int | None, *, least: float = FELT_BYTES, metric: str = ""
    ) -> bool:
        """Whether growth matters by the hour and has come to something so far.

        Args:
            bytes_per_generation: the rate.
            since: the generation in which it began; ``None``: the first.
            least: bytes that it must have come to so far.
            metric: the counter of memory that shows it, if that is all that does: it must have grown by twice as much
                as the recording's own readings take.
        """
        if self._least_bytes is not None:
            return bytes_per_generation >= self._least_bytes
        if metric.endswith("_bytes"):
            own = SLOTS_BYTES + (0.0 if metric == "malloc_in_use_bytes" else NUMBERS_BYTES)
            least = max(least, 2 * own * self._n_readings)
        return self.so_far(bytes_per_generation, since) >= least and self.is_material(bytes_per_generation)
