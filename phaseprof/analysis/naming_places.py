"""What came at a place: the kind of growth, and the type that tells most about it."""

from __future__ import annotations

from phaseprof.analysis.categories import CONTAINERS, KIND_OF_TYPE, TENSORS, is_plumbing, is_private
from phaseprof.analysis.garbage import what_piles_up
from phaseprof.recording import format as fmt
from phaseprof.records import GARBAGE, OUTSIDE, UNREACHABLE

# Of what came at a place, the part that tensors with a graph must be for it to be graphs.
MOSTLY = 0.5
# The same where only C++ holds them: a graph saves tensors with a graph and others, two or three for each.
SAVED = 0.1
# Of the growth of memory, the least share that is a finding of its own.
SHARE = 0.2


def name_growth(place: fmt.Place) -> tuple[str, str, str]:
    """Name kind, subject and its qualified type of what came: what lies directly there, unless it only carries others.

    Example: 40 tuples of an observation and a reward each are arrays.
    """
    subject = _subject(place)
    name = short(subject)
    if place.steps and place.steps[0] == UNREACHABLE:
        return GARBAGE, name, subject
    part = SAVED if place.steps and place.steps[0] == OUTSIDE else MOSTLY
    if name in TENSORS and place.graphs >= part * sum(n for one, n, _ in place.inside if _is_tensor(one)) > 0:
        return "autograd graph", "Tensor", subject
    if place.steps and place.steps[0] == OUTSIDE and _carry(place):
        return "objects", short(place.direct[0][0]), place.direct[0][0]
    if name in CONTAINERS or (is_plumbing(subject) and name not in TENSORS):
        return "container", short(_carried(place)), subject
    return KIND_OF_TYPE.get(name, "objects"), name, subject


def _subject(place: fmt.Place) -> str:
    """The type directly in the place that brought most, else what of it tells most, else that of the place itself.

    Example: a private type of the standard library gives way to the objects that each of them has, whatever these hold.
    """
    if place.direct and not is_plumbing(place.direct[0][0]):
        return place.direct[0][0]
    if place.steps and place.steps[0] == UNREACHABLE and place.inside:
        return what_piles_up(place.inside)[0]
    telling = [row for row in place.inside if not is_plumbing(row[0]) and _is_in_most(place, row)]
    if telling:
        is_hidden = bool(place.direct) and is_private(place.direct[0][0])
        objects = [name for name, _, _ in telling if is_hidden and short(name) not in KIND_OF_TYPE]
        return next(iter(objects), telling[0][0])
    return place.direct[0][0] if place.direct else place.type


def _carry(place: fmt.Place) -> bool:
    """Whether Python's own objects came directly, no containers, that have most of what came below them.

    Example: functions that a table of the interpreter's holds, each with a dict among its defaults.
    """
    name, _, n_bytes = place.direct[0] if place.direct else ("", 0, 0)
    if n_bytes < MOSTLY * place.bytes or not is_plumbing(name) or short(name) in CONTAINERS:
        return False
    return next((own for one, _, own in place.inside if one == name), n_bytes) < MOSTLY * n_bytes


def _is_in_most(place: fmt.Place, row: tuple[str, int, int]) -> bool:
    """Whether a type came with most of what lies directly in the place, or is a good part of the bytes.

    Example: of 400 rows of a log, 40 have an array of 100 bytes: the growth is the rows', not the arrays'.
    """
    _, n, n_bytes = row
    return not place.direct or n >= MOSTLY * place.direct[0][1] or n_bytes >= SHARE * place.bytes


def _carried(place: fmt.Place) -> str:
    """The type of the container at the place, or what the containers in it carry, where that is most of the bytes.

    Example: a list gains a list of four dicts in each step: what grows are dicts.
    """
    if place.direct and short(place.direct[0][0]) in CONTAINERS:
        name, _, n_bytes = max(place.inside, key=lambda row: row[2], default=("", 0, 0))
        is_other = short(name) in CONTAINERS and name not in (place.direct[0][0], place.type)
        if is_other and n_bytes >= MOSTLY * place.bytes:
            return name
    return place.type


def short(name: str) -> str:
    """The last part of a qualified name."""
    return name.rpartition(".")[2]


def _is_tensor(name: str) -> bool:
    return short(name) in TENSORS
