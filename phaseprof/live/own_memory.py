"""What our own looks keep is not what the program uses: the allocators' counters are recorded without it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from phaseprof.live.families import Reader

# At most so much is taken off: while we look, other threads of the program may allocate as well, and no more of a leak
# than this may go unseen.
MOST = {"malloc_in_use_bytes": 4 * 2**20, "python_blocks": 65_536}


class OwnMemory:
    """Takes what looks have allocated and not given back off the counters of the allocators.

    Args:
        reader_of: returns what reads a counter; ``None`` where nothing does.

    Cost: one more reading of each counter after a look.
    """

    def __init__(self, reader_of: Callable[[str], Reader | None]) -> None:
        self._reader_of = reader_of
        self._read: dict[str, float] = {}
        self._own = dict.fromkeys(MOST, 0.0)

    def take_off(self, figures: dict[str, float]) -> None:
        """Take it off what was read before anything was looked at."""
        self._read = {metric: figures[metric] for metric in MOST if metric in figures}
        for metric, value in self._read.items():
            figures[metric] = value - self._own[metric]

    def begin(self) -> None:
        """What comes from now on is ours, until ``looked``."""
        self._read = self._now(MOST)

    def looked(self) -> None:
        """Looks were made since: what came, less what they gave back, is theirs."""
        for metric, now in self._now(self._read).items():
            self._own[metric] = min(max(0.0, self._own[metric] + now - self._read[metric]), MOST[metric])
        self._read = {}

    def _now(self, metrics: Iterable[str]) -> dict[str, float]:
        readers = ((metric, self._reader_of(metric)) for metric in metrics)
        values = {metric: reader() for metric, reader in readers if reader is not None}
        return {metric: value for metric, value in values.items() if value is not None}
