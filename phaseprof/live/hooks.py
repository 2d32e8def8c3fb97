"""What others want to be called for at the ends of generations, such as trackers of experiments."""

from __future__ import annotations

import os
from collections.abc import Callable

from phaseprof.interrupts import raise_the_programs
from phaseprof.live.arguments import check_function, check_whole
from phaseprof.live.budget import Budget


class Hooks:
    """Functions to call every so many generations; what they raise is told once, and ends no run."""

    def __init__(self, warn: Callable[[str, str], None]) -> None:
        self._warn = warn
        self._calls: list[tuple[int, Callable[[], object]]] = []
        self._at_end: list[tuple[int, Callable[[], object]]] = []

    def add(self, call: Callable[[], object], every: int) -> None:
        """Call ``call`` at the end of every ``every``-th generation."""
        check_function("call", call)
        check_whole("every", every, least=1)
        self._calls.append((every, call))

    def tell(self, ordinal: int, budget: Budget) -> None:
        """A generation has ended; the time is charged to what was asked for."""
        for every, call in self._calls:
            if (ordinal + 1) % every == 0:
                try:
                    with budget.spending("integrations", asked=True):
                        call()
                except Exception as error:  # noqa: BLE001 - a tracker that is down is no reason to stop
                    raise_the_programs(error)
                    self._warn(f"an integration failed: {type(error).__name__}", f": {error}")

    def add_at_end(self, call: Callable[[], object]) -> None:
        """Call ``call`` before the recording ends; a forked child's end is none of it."""
        check_function("call", call)
        self._at_end.append((os.getpid(), call))

    def end(self) -> None:
        """The recording ends."""
        for pid, call in self._at_end:
            if pid == os.getpid():
                try:
                    call()
                except Exception as error:  # noqa: BLE001 - as above
                    raise_the_programs(error)
                    self._warn(f"an integration failed: {type(error).__name__}", f": {error}")
