"""Expected counts that are broken at the end of a recording: since when, and until when they held."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from phaseprof.analysis.since import named_since
from phaseprof.analysis.symptoms import AT
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.series import Series
from phaseprof.records import Evidence, Finding


@dataclass(frozen=True)
class BrokenExpectation:
    """A watched class whose newest count is out of its bounds.

    Attributes:
        name: the class.
        low: least count allowed.
        high: largest count allowed.
        found: the newest count.
        phase: the phase in which the instances that are too many were made; empty if that is not known.
        broken_ordinal: ordinal of the first generation in which it was seen broken, and stayed so.
        held_ordinal: ordinal of the last in which it was seen to hold; ``None`` if it never was.
    """

    name: str
    low: int
    high: int
    found: int
    phase: str
    broken_ordinal: int
    held_ordinal: int | None

    @property
    def expected(self) -> str:
        """The bounds in words."""
        return f"exactly {self.low}" if self.low == self.high else f"{self.low} to {self.high}"


def broken_expectations(process: ProcessRun) -> Iterator[BrokenExpectation]:
    """Yield the expectations that are broken at the end, in the order in which the classes were watched.

    Counts are taken when the budget has room, and at the end: between the last count that was right and the first
    that was not, nothing is known.
    """
    for name, watch in process.watches.items():
        series = process.series.get((AT, f"watched/{name}"))
        if series is None or not len(series) or _keeps(watch, series.last):
            continue
        held = next((at for at in range(len(series) - 1, -1, -1) if _keeps(watch, series.values[at])), None)
        first = 0 if held is None else held + 1
        yield BrokenExpectation(
            name, watch.low, watch.high, int(series.last), _phase(process, name), series.generations[first],
            None if held is None else series.generations[held],
        )  # fmt: skip


def _keeps(watch: fmt.Watch, count: float) -> bool:
    return (watch.low < 0 or count >= watch.low) and (watch.high < 0 or count <= watch.high)


def _phase(process: ProcessRun, name: str) -> str:
    """The phase that was told when the expectation broke, else the one in which the most survivors were made."""
    told = next((v.phase for v in reversed(process.violations) if v.name == name and v.phase), "")
    births = next((b for b in reversed(process.births) if b.subject == f"watched/{name}" and b.phases), None)
    if told or births is None:
        return told
    return max(births.phases, key=lambda phase: births.phases[phase][0])


def expectation_finding(process: ProcessRun, broken: BrokenExpectation) -> Finding:
    """Make a broken expectation a finding of its own."""
    metric = f"watched/{broken.name}"
    series: Series = process.series[AT, metric]
    return Finding(
        "expectation", "objects", broken.phase or None, broken.name, metric=metric, confidence=1.0,
        slope_unit="objects/generation", **named_since(process, broken.broken_ordinal),
        summary=expectation_sentence(process, broken), advice=_advice(broken),
        evidence=(Evidence(AT, metric, tuple(series.generations), tuple(series.values)),),
    )  # fmt: skip


def expectation_sentence(process: ProcessRun, broken: BrokenExpectation) -> str:
    """Say what was expected, what is there, and between which counts it broke."""
    where = f" (made in {broken.phase})" if broken.phase else ""
    first = f"first seen broken in generation {process.number_of(broken.broken_ordinal)}"
    if broken.held_ordinal is None:
        until = "and never seen to hold"
    else:
        until = f"last seen to hold in generation {process.number_of(broken.held_ordinal)}"
    return f"{broken.name}: expected {broken.expected}, found {broken.found}{where}; {first}, {until}"


def _advice(broken: BrokenExpectation) -> str:
    if 0 <= broken.high < broken.found:
        where = f" in {broken.phase}" if broken.phase else ""
        return f"Look for where {broken.name} objects are made{where} and what keeps them."
    return f"Look for where {broken.name} objects are dropped, or are not made yet when the generation ends."
