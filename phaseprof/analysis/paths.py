"""Holder paths in plain words: ``trainer.used_envs (list of 192)`` instead of one step after the other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from phaseprof.records import SOME_TIMES, UNKNOWN_HOLDER, UNKNOWN_NAME, without_numbers

# A step is a link and what it leads to: ``.losses (list, 82)``, ``[-1] Episode``, ``module train.cache (dict, 5) x3``.
_STEP = re.compile(
    r"(?P<link>.*?)(?: \((?P<what>[^()]*(?:\([^()]*\))?[^()]*)\)| (?P<item>\S+))?(?P<times> x[\d,…]+)?\Z"
)
_SIZED = re.compile(r"(?P<kind>.+), (?P<size>[\d,]+)(?: entries)?\Z")
_LOCAL = re.compile(r"(?:(?P<file>\S+) )?(?P<function>\S+\(\))(?P<rest>.*) local (?P<name>\S+)\Z")
_MODULE = re.compile(r"module (?P<module>[\w.]+?)\.(?P<name>\w+)\Z")
_WHOLE_MODULE = re.compile(r"module [\w.]+\Z")
# What a program could write: not "outside Python", nor a name that the search did not find.
_NAMED = re.compile(r"[^\W\d]\w*[^ ?]*\Z")
# The items of a list, or of a list in a list, that end a name; and from how many on they are of one kind.
_NUMBERED = re.compile(r"(?:\[(?:-?\d+|\.\.\.)\])+\Z")
MANY = 6
_MAIN = "__main__"
_STOPPED = frozenset({UNKNOWN_HOLDER, "?"})  # as recordings of earlier versions have it
# Characters of a name that are shown: what lies further left was said on a line above.
_MOST = 44


@dataclass(frozen=True)
class Place:
    """One step in words.

    Attributes:
        name: how a program would write it, such as ``trainer.used_envs``.
        what: its type, with the number of its items: ``list of 192``; empty if not known.
        note: where the first name is found.
        size: number of items, -1 if it has none.
    """

    name: str
    what: str
    note: str = ""
    size: int = -1

    def __str__(self) -> str:
        shown = self.name if len(self.name) <= _MOST else f"...{self.name[3 - _MOST :]}"
        what = f" ({self.what})" if self.what else ""
        return f"{shown}{what}{', ' if self.note else ''}{self.note}"


def places_of(steps: Sequence[str]) -> tuple[Place, ...]:
    """Put the steps of a holder path into words, the root first."""
    return tuple(_places(steps))


def _places(steps: Sequence[str]) -> Iterator[Place]:
    name = ""
    for at, step in enumerate(steps):
        if at == 0 and _WHOLE_MODULE.match(step):
            name = step.rpartition(" ")[2]
            yield Place(name, "", "a module")
            continue
        found = _STEP.match(step)
        link, what = (found["link"], found["what"] or found["item"] or "") if found else (step, "")
        times = found["times"] or "" if found else ""
        name, note = _root(link) if at == 0 else _joined(name, link)
        sized = _SIZED.match(what)
        kind, size = (sized["kind"], int(sized["size"].replace(",", ""))) if sized else (what, -1)
        yield Place(name, (f"{kind} of {size:,}" if size >= 0 else kind) + times, note, size)


def _root(link: str) -> tuple[str, str]:
    if link in _STOPPED:
        return "...", "where the search for its holder stopped"
    local, module = _LOCAL.match(link), _MODULE.match(link)
    if local:
        file = f" in {local['file']}" if local["file"] else ""
        return local["name"], f"a local of {local['function']}{file}{local['rest']}"
    if module:
        where = "the main program" if module["module"] == _MAIN else module["module"]
        return module["name"], f"a global of {where}"
    return link, ""


def _joined(name: str, link: str) -> tuple[str, str]:
    if link.startswith((".", "[")):
        return f"{name}{link}", ""
    if link == "autograd graph":
        return f"the graph of {name}", ""
    kind, _, new = link.rpartition(" ")
    return new, f"{kind} reached from {name}" if kind else ""


def _around(place: Place, sized: Sequence[Place]) -> str:
    """Return the list that a place is one of many items of: it is not the one item that a program must bound."""
    name, numbers = place.name, _NUMBERED.search(place.name)
    if numbers is None:
        return name
    outer = name[: numbers.start()]
    return next((one.name for one in sized if outer == one.name and one.size >= MANY), name)


def place_of_growth(steps: Sequence[str], container: str = "", length: int = -1) -> str:
    """Return the name of what a program must clear or bound: of what grows, else of what has the most items on a path.

    Empty where the path is; the last place that has a name where nothing on it has items.

    Args:
        steps: the path.
        container: type of the container that is known to grow; empty where none is.
        length: how many items it had.
    """
    places = [place for place in places_of(steps) if _NAMED.match(place.name) and UNKNOWN_NAME not in place.name]
    sized = [place for place in places if place.size >= 0]
    grown = f"{container.rpartition('.')[2]} of {length:,}"
    known = next((place for place in sized if place.what.startswith(grown)), None)
    if known is not None:
        return _around(known, sized)
    if sized:
        return _around(max(sized, key=lambda place: place.size), sized)
    inner = [place for place in places if not place.name.endswith("]")]
    return inner[-1].name if inner else ""


def normalised(steps: Iterable[str]) -> tuple[str, ...]:
    """Drop what differs between two looks at one place: numbers, repeats, and whether a step is the last."""
    plain = (without_numbers(step).removesuffix(SOME_TIMES) for step in steps)
    return tuple(step for step, _ in groupby(step.replace("(", "").replace(")", "") for step in plain))
