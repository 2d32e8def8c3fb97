"""WHERE MEMORY GREW: what each counter that leaks grew by, as a sum that comes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phaseprof.analysis.paths import places_of
from phaseprof.analysis.sums import (
    FRAGMENTATION,
    GIVEN_BACK,
    NATIVE,
    OTHER_PLACES,
    PLACE,
    UNSEEN,
    GrowthSum,
    Part,
    growth_sums,
)
from phaseprof.recording.model import ProcessRun
from phaseprof.records import OUTSIDE, UNREACHABLE, Finding
from phaseprof.report.access import Generations
from phaseprof.report.text import Report, Style, change_cell, fit, pad, section
from phaseprof.units import format_bytes

_NAME_WIDTH = 54
_WORDS = {
    OTHER_PLACES: "other places in Python", NATIVE: "native: not held by Python",
    FRAGMENTATION: "fragmentation: freed, kept by malloc", UNSEEN: "not looked at",
    GIVEN_BACK: "fragmentation given back by a trim at the end",
}  # fmt: skip
NOBODY = {UNREACHABLE: "waits for the collector", OUTSIDE: "held outside Python"}


@dataclass(frozen=True)
class SumEntry:
    """A sum, and how its generations are called by the user."""

    first: str
    last: str
    sum: GrowthSum


@dataclass(frozen=True)
class SumsReport(Report):
    """One sum for each counter of memory that leaks.

    Attributes:
        entries: the sums; empty where no leak was found.
    """

    entries: tuple[SumEntry, ...]

    def render(self, style: Style) -> str:
        """Lay the sums out as text, a total under each."""
        lines: list[str] = []
        for item in self.entries:
            lines += [*([""] if lines else []), *_lines(item, style)]
        return section("WHERE MEMORY GREW", "explained", lines or ["No counter of memory leaks."], style)


def _lines(item: SumEntry, style: Style) -> list[str]:
    parts = [_line(words(part), part.growth_bytes, style) for part in item.sum.parts]
    return [*parts, "   " + "-" * (_NAME_WIDTH + 13), _line(title(item), item.sum.growth_bytes, style)]


def _line(name: str, growth: int, style: Style) -> str:
    return f"   {pad(fit(name, _NAME_WIDTH, style), _NAME_WIDTH)}{change_cell(growth, 9)}"


def title(item: SumEntry) -> str:
    """Name what a sum is of."""
    return f"growth of {item.sum.counter}, generation {item.first} to {item.last}"


def words(part: Part) -> str:
    """Name a part: a place by what came there and by where that is."""
    if part.kind != PLACE:
        return _WORDS[part.kind] + (f" (within {format_bytes(part.spread_bytes)})" if part.spread_bytes else "")
    if not part.holder:
        return part.subject
    where = NOBODY.get(part.holder[0]) or places_of(part.holder)[-1].name or part.holder[-1]
    return f"{part.subject}: {where}"


def build_sums(process: ProcessRun, findings: Sequence[Finding]) -> SumsReport:
    """Report what the counters that leak grew by, and where."""
    names = Generations(process)
    sums = growth_sums(process, findings)
    return SumsReport(tuple(SumEntry(names.name(one.first), names.name(one.last), one) for one in sums))
