"""What became in a later run of each leak of the first: whether a repair held, where places have moved, too."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from phaseprof.analysis.answers import answer
from phaseprof.analysis.paths import place_of_growth
from phaseprof.recording.model import ProcessRun
from phaseprof.records import Finding

Fate = Literal["gone", "still leaks", "still grows", "not known", "new"]

# Leaks that look alike but lie elsewhere are one that has moved, if neither grows this many times faster.
ALIKE = 2.0


@dataclass(frozen=True)
class Repair:
    """One leak in two runs.

    Attributes:
        run: which run is held against the first.
        place: where it lies, such as ``trainer.used_envs``; what grows, where no holder is known.
        subject: what grows.
        fate: what became of it; *not known* where the later run is too short to say.
        moved_to: the place in the later run, where that is another.
        before, after: growth a generation and its unit, in the first run and in the later one.
    """

    run: int
    place: str
    subject: str
    fate: Fate
    moved_to: str = ""
    before: tuple[float, str] | None = None
    after: tuple[float, str] | None = None


def repairs(runs: Sequence[tuple[ProcessRun, Sequence[Finding]]]) -> tuple[Repair, ...]:
    """Follow the leaks of the first run through each later one, and list the leaks that are new there.

    Args:
        runs: a process of each run, and what was found in it.

    A leak is known again by its kind, what grows and the place; else by what grows and the attribute, since a root may
    have another name; else by what grows and the phase, at about the same rate.
    """
    before = [finding for finding in runs[0][1] if finding.verdict == "leak"]
    return tuple(
        repair for at, (process, found) in enumerate(runs[1:], 1) for repair in _between(before, process, found, at)
    )


def _between(before: Sequence[Finding], process: ProcessRun, found: Sequence[Finding], run: int) -> Iterator[Repair]:
    left, matched = list(found), dict[int, Finding]()
    for key in (_exactly, _by_attribute, _by_phase):
        for at, finding in enumerate(before):
            again = None if at in matched else next((one for one in left if _is_same(finding, one, key)), None)
            if again is not None:
                left.remove(again)
                matched[at] = again
    is_judged = answer(process, found) not in ("too short", "not judged")
    for at, finding in enumerate(before):
        place, again = _place(finding), matched.get(at)
        if again is None:
            yield Repair(run, place, _subject(finding), "gone" if is_judged else "not known", before=_rate(finding))
            continue
        fate: Fate = "still leaks" if again.verdict == "leak" else "still grows"
        moved_to = "" if _place(again) == place else _place(again)
        yield Repair(run, place, _subject(finding), fate, moved_to, _rate(finding), _rate(again))
    for finding in left:
        if finding.verdict == "leak":
            yield Repair(run, _place(finding), _subject(finding), "new", after=_rate(finding))


def _is_same(one: Finding, other: Finding, key: Callable[[Finding], Hashable]) -> bool:
    if key(one) is None or key(one) != key(other):
        return False
    (rate, unit), (again, unit_again) = _rate(one), _rate(other)
    return key is not _by_phase or (unit == unit_again and rate <= ALIKE * again and again <= ALIKE * rate)


def _exactly(finding: Finding) -> Hashable:
    return (finding.kind, finding.subject, finding.phase if not finding.holder else None, _place(finding))


def _by_attribute(finding: Finding) -> Hashable:
    place = place_of_growth(finding.holder)
    return (finding.subject, place.rpartition(".")[2]) if place else None


def _by_phase(finding: Finding) -> Hashable:
    return (finding.kind, finding.subject, finding.phase) if finding.subject else None


def _place(finding: Finding) -> str:
    return place_of_growth(finding.holder) or _subject(finding) + (f" in {finding.phase}" if finding.phase else "")


def _subject(finding: Finding) -> str:
    return finding.subject or finding.kind


def _rate(finding: Finding) -> tuple[float, str]:
    by_bytes = finding.bytes_slope > 0
    return (finding.bytes_slope, "bytes/generation") if by_bytes else (finding.slope, finding.slope_unit)
