"""Where no generation is declared, one ends when an outermost phase comes round again, after a while."""

from __future__ import annotations


class Rounds:
    """Gathers rounds of the outermost phases to generations.

    Args:
        least_s: seconds that a generation lasts at least.
    """

    def __init__(self, least_s: float) -> None:
        self._least_ns = round(least_s * 1e9)
        self._least_s = least_s
        self._seen: set[int] = set()
        self._began = self._n = 0
        self._is_told = False

    def go_on(self, number: int, now: int) -> bool:
        """Take in that a label is passed; return whether the open generation goes on with it."""
        if number not in self._seen:
            if not self._seen:
                self._began = now
            self._seen.add(number)
            return True
        self._n += 1
        return now - self._began < self._least_ns

    def next(self, number: int, now: int) -> str:
        """Begin the next generation with a label; return what the user must know of the one before, the first time."""
        text = ""
        if self._n > 1 and not self._is_told:
            self._is_told = True
            each_ms = (now - self._began) / 1e6 / self._n
            text = (
                f"phases recur every {each_ms:.1f} ms and no generation was declared: {self._least_s:g} s of them "
                "count as one; mark the outer loop with generation(), or name it with run --generation"
            )
        self._seen = {number}
        self._began, self._n = now, 0
        return text
