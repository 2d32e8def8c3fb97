"""One search for the holders of several investigations' survivors, within which alone they are held."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from phaseprof.live.families import HeapView
from phaseprof.live.investigation import Investigation
from phaseprof.probes import sizes
from phaseprof.probes.holders import HolderPath, find_holder_choices
from phaseprof.probes.uninterrupted import uninterrupted

# Survivors whose sizes are added up.
_SIZED = 4
SIZE_DEADLINE_S = 0.05


class Held(NamedTuple):
    """What a search found of one investigation's survivors.

    Attributes:
        one: the investigation.
        choices: for each survivor its paths, best first.
        each: bytes that go with one of them; -1 where that is not known.
    """

    one: Investigation
    choices: Sequence[Sequence[HolderPath]]
    each: int


@uninterrupted
def search_holders(
    ready: Sequence[Investigation], survivors_of: Callable[[Investigation, HeapView], list[object]], deadline_s: float
) -> list[Held]:
    """Search for the holders of all survivors together; no object is held when this returns.

    Cost: that of ``find_holder_choices``.
    """
    asked: list[object] = []
    spans: list[tuple[Investigation, int, int]] = []
    try:
        with HeapView([i.family for i in ready if i.family is not None], young=False) as view:
            for one in ready:
                begin = len(asked)
                asked += survivors_of(one, view)
                spans.append((one, begin, len(asked)))
        choices = find_holder_choices(asked, deadline_s=deadline_s, ignore=[id(asked)])
        return [Held(one, choices[begin:end], own_bytes(asked[begin:end])) for one, begin, end in spans]
    finally:
        asked.clear()


def own_bytes(survivors: Sequence[object]) -> int:
    """Return what each survivor adds to what older ones reach, in bytes, on average; -1 if that is not known.

    What all share counts for none of them, and neither does what one in a chain reaches through those before it.

    Args:
        survivors: oldest first.
    """
    if not survivors:
        return -1
    named = {str(number): survivor for number, survivor in enumerate(survivors[-_SIZED:])}
    try:
        found = sizes.deep_sizes(named, deadline_s=SIZE_DEADLINE_S)
        if len(named) == 1:
            return found.names["0"].bytes
        return round((found.total_bytes - found.names["0"].bytes) / (len(named) - 1))
    finally:
        named.clear()
