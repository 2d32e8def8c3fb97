"""One search for the holders of several investigations' survivors, within which alone they are held."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from phaseprof.live.families import HeapView
from phaseprof.live.investigation import Investigation
from phaseprof.live.retained import graph_bytes, item_of, own_bytes
from phaseprof.probes.holders import HolderPath, find_holder_choices
from phaseprof.probes.holding.search import Limits
from phaseprof.probes.uninterrupted import uninterrupted


class Held(NamedTuple):
    """What a search found of one investigation's survivors.

    Attributes:
        one: the investigation.
        choices: for each survivor its paths, best first.
        each: bytes that go with one of them; -1 where that is not known.
        item: type of what a container holds, else ``""``.
        length: length of that container, else -1.
    """

    one: Investigation
    choices: Sequence[Sequence[HolderPath]]
    each: int
    item: str
    length: int


@uninterrupted
def search_holders(
    ready: Sequence[Investigation], survivors_of: Callable[[Investigation, HeapView], list[object]], deadline_s: float
) -> list[Held]:
    """Search for the holders of all survivors together; no object is held when this returns.

    Cost: that of ``find_holder_choices``.
    """
    asked: list[object] = []
    spans: list[tuple[Investigation, int, int]] = []
    found = []
    try:
        with HeapView([i.family for i in ready if i.family is not None], young=False) as view:
            for one in ready:
                begin = len(asked)
                asked += survivors_of(one, view)
                spans.append((one, begin, len(asked)))
        choices = find_holder_choices(asked, limits=Limits(deadline_s=deadline_s), ignore=[id(asked)])
        for one, begin, end in spans:
            each = graph_bytes(asked[begin:end]) if one.key == "graph" else own_bytes(asked[begin:end])
            item, length = "", -1
            if one.container is not None and end > begin:
                item, length = item_of(asked[begin]), len(asked[begin])  # type: ignore[arg-type]  # exact builtins
            found.append(Held(one, choices[begin:end], each, item, length))
        return found
    finally:
        asked.clear()
