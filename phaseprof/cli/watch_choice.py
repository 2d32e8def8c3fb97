"""What of a run the live view is to show: which ranks, which phase, in which order, how far back."""

from __future__ import annotations

import re
from dataclasses import dataclass

from phaseprof.errors import UsageError
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.series import Series
from phaseprof.records import Finding
from phaseprof.report.access import memory_point, series_of

SORTS = ("rank", "memory", "growth", "rate")
_RANKS = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


@dataclass(frozen=True)
class Choice:
    """What was asked for.

    Attributes:
        sort: one of ``SORTS``; figures come largest first.
        ranks: first and last of each range of ranks; none: all.
        phase: memory is read at its end, and only its findings count; empty: at the end of a generation, and all.
        history: how many past generations to list.
    """

    sort: str = "rank"
    ranks: tuple[tuple[int, int], ...] = ()
    phase: str = ""
    history: int = 0

    def takes(self, process: ProcessRun) -> bool:
        """Whether a process is shown."""
        rank = process.header.rank if process.header else 0
        return not self.ranks or any(first <= rank <= last for first, last in self.ranks)

    def takes_finding(self, finding: Finding) -> bool:
        """Whether a finding is shown."""
        return not self.phase or finding.phase == self.phase

    def memory_of(self, process: ProcessRun) -> Series | None:
        """Return resident memory where it is compared; ``None`` if it was not read there."""
        point = f"after {self.phase}" if self.phase else memory_point(process)
        return series_of(process, "rss_bytes", point=point)


def parse_ranks(text: str) -> tuple[tuple[int, int], ...]:
    """Read ranks such as ``0,4-7``.

    Raises:
        UsageError: it is something else.

    >>> parse_ranks("0,4-7")
    ((0, 0), (4, 7))
    """
    found = [_RANKS.fullmatch(word.strip()) for word in text.split(",")] if text else []
    ranges = [(int(one[1]), int(one[2] or one[1])) for one in found if one]
    if len(ranges) != len(found) or any(first > last for first, last in ranges):
        raise UsageError(f"--rank must be ranks such as 0,4-7 (got {text!r})")
    return tuple(ranges)
