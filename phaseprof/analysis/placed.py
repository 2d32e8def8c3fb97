"""What two looks by place say of the growth of memory: where most of it is kept, and what it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from phaseprof.analysis.causes import CONTAINERS, KIND_OF_TYPE, TENSORS, is_plumbing, normalised
from phaseprof.analysis.limits import COUNTER_BYTES, Horizon
from phaseprof.analysis.naming import advise, summarise
from phaseprof.analysis.since import since
from phaseprof.analysis.symptoms import Symptom
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.records import COMPANIONS, NO_ROOT, Finding
from phaseprof.verdict.levels import comes_with

# Of what came at a place, the part that tensors with a graph must be for it to be graphs.
MOSTLY = 0.5
# Of the growth of memory, the least share that is told of itself.
SHARE = 0.2
# Containers whose table grows and shrinks by steps, whatever they hold.
HASHED = frozenset({"dict", "set", "frozenset", "OrderedDict", "defaultdict", "Counter"})
_UNREACHABLE, _OUTSIDE, _OURS = "unreachable", "outside Python", "phaseprof."
# Where the standard library keeps what a counter counts: such a table grows with it, and a thread holds itself.
REGISTRIES = {
    "threads": ("module threading.", "module concurrent.futures.thread.", "threading.py ", "thread.py "),
    "children": ("module multiprocessing.", "module subprocess."),
}


@dataclass(frozen=True)
class Share:
    """Growth at one place.

    Attributes:
        kind, subject: as in a finding.
        holder: the path to the place; empty where nothing in Python leads to it.
        bytes_slope: growth in bytes a generation, between the two looks.
        graphs_slope: tensors with a graph a generation; what their graphs save in C++ is not among the bytes.
        type_name: of the subject, qualified.
        objects: type -> objects a generation that came, directly in the place or below it.
    """

    kind: str
    subject: str
    holder: tuple[str, ...]
    bytes_slope: float
    graphs_slope: float = 0.0
    type_name: str = ""
    objects: Mapping[str, float] = field(default_factory=dict)


def shares(process: ProcessRun) -> list[Share]:
    """Return the places where memory grew between the newest look and one before it, the heaviest first."""
    told = process.places
    if told is None or told.g <= told.since:
        return []
    rows = [place for place in told.rows if place.bytes > 0 and place.steps and not _was_rehashed(place)]
    every = [_share(place, told.g - told.since, process) for place in rows]
    return [share for share in every if not share.type_name.startswith(_OURS)]


def _was_rehashed(place: fmt.Place) -> bool:
    """Whether the table of a dict or a set is all that became larger: no object came.

    One that is full, and drops an item for each that it takes, is given a larger table or a smaller one now and then.
    """
    return place.type.rpartition(".")[2] in HASHED and not any(n for _, n, _ in (*place.direct, *place.inside))


def _share(place: fmt.Place, turns: int, process: ProcessRun) -> Share:
    kind, subject = name_growth(place)
    holder = () if place.steps[0] in (_UNREACHABLE, _OUTSIDE) else tuple(place.steps)
    if not holder and kind == "autograd graph":
        graphs = (one for one in reversed(process.holders) if one.subject == "graph" and one.speaks_for_most)
        holder = next((tuple(one.steps) for one in graphs if one.root not in NO_ROOT), ())
    objects: dict[str, float] = {}
    for name, n, _ in (*place.direct, *place.inside):
        objects[name] = max(objects.get(name, 0.0), n / turns)
    return Share(kind, subject, holder, place.bytes / turns, place.graphs / turns, _subject(place), objects)


def best_share(process: ProcessRun, rate: float) -> Share | None:
    """Return the heaviest place, if what came there is a good part of what a counter grew by.

    Where no place shows as much, those where tensors with a graph came may: C++ holds what the graphs have saved.

    Args:
        process: the recording.
        rate: growth of the counter, in bytes a generation.
    """
    graphs = [share for share in shares(process) if share.kind == "autograd graph" and share.holder]
    found = [share for share in shares(process) if share.bytes_slope >= SHARE * rate and _names(share)]
    if graphs:  # what C++ alone holds, parameters of models that are gone for example, the graphs have saved
        found = [share for share in found if share.holder or share.kind != "tensors"]
    telling = [share for share in found if share.kind != "container"]
    return next(iter(telling or found), None) or max(graphs, key=lambda share: share.graphs_slope, default=None)


def _names(share: Share) -> bool:
    """Whether a place says something: rings have rules of their own, and plumbing that nobody holds is anybody's."""
    return share.kind != "garbage" and (share.kind != "container" or bool(share.holder))


def companion(process: ProcessRun, kind: str, rate: float) -> Share | None:
    """Return the place where objects came that come with a counter: of a type known for it, else as many of them.

    Args:
        process: the recording.
        kind: that of the counter's findings.
        rate: by how much it grows a generation.
    """
    every = shares(process)
    known = [one for one in every if any(n > 0 and _short(name) in COMPANIONS[kind] for name, n in one.objects.items())]
    alike = [one for one in every if one.kind == "objects" and comes_with(rate, one.objects.get(one.type_name, 0.0))]
    registries = REGISTRIES.get(kind, ())
    return next((one for one in (*known, *alike) if one.holder and not one.holder[0].startswith(registries)), None)


def came(process: ProcessRun, kind: str) -> float:
    """Return the bytes a generation of tensors or arrays that came at the places where most came; graphs are both."""
    turns = max(1, process.places.g - process.places.since) if process.places is not None else 1
    rows = process.places.rows if process.places is not None else []
    of_kind = (size for place in rows for name, _, size in place.inside if _kind_of(name) == kind)
    return sum(of_kind) / turns


def named_by(finding: Finding, share: Share, rate: float) -> Finding:
    """Give a counter's finding the kind, subject and holder of a place, and the words for them."""
    named = replace(
        finding, kind=share.kind, subject=share.subject, holder=share.holder, bytes_slope=share.bytes_slope,
        advice=advise(share.kind, share.subject, share.holder),
    )  # fmt: skip
    return replace(named, summary=summarise(named, rate))


def other_shares(
    process: ProcessRun, symptoms: Mapping[str, Symptom], known: Sequence[Finding], horizon: Horizon
) -> list[Finding]:
    """Return a finding for each place that brought a good part of what memory in use leaks, and that none speaks of.

    Args:
        process: the recording.
        symptoms: all of its judged series.
        known: what was found, whether it leaks or fills up.
        horizon: whether they would be felt, and when memory ends.
    """
    memory = symptoms.get("malloc_in_use_bytes")
    leaks = [finding for finding in known if finding.verdict == "leak"]
    if memory is None or memory.judgement.verdict != "leak" or any(map(_of_unknown_size, leaks)):
        return []
    rate = memory.judgement.slope
    if not horizon.is_felt(rate, memory.judgement.since, least=COUNTER_BYTES, metric=memory.key):
        return []
    found: list[Finding] = []
    for share in shares(process):
        left = rate - sum(leak.bytes_slope for leak in (*leaks, *found))
        is_large = share.bytes_slope >= SHARE * rate and left >= MOSTLY * share.bytes_slope
        if not is_large or not share.holder or any(_speaks_of(leak, share) for leak in known):
            continue
        if horizon.is_felt(share.bytes_slope, memory.judgement.since):
            found.append(named_by(_plain(process, memory, share, horizon), share, share.bytes_slope))
    return found


def _of_unknown_size(leak: Finding) -> bool:
    """Whether what leaks may account for any growth of memory in use."""
    return not leak.bytes_slope and leak.kind != "container"


def _speaks_of(leak: Finding, share: Share) -> bool:
    """Whether a finding is about what lies at a place: of the same subject, or held by one path or a part of it."""
    if leak.subject == share.subject:
        return True
    mine, other = normalised(leak.holder), normalised(share.holder)
    n = min(len(mine), len(other))
    return n > 1 and mine[:n] == other[:n]


def _plain(process: ProcessRun, memory: Symptom, share: Share, horizon: Horizon) -> Finding:
    judgement = memory.judgement
    return Finding(
        "leak", share.kind, memory.phase(), metric=memory.key, slope=share.bytes_slope,
        slope_low=share.bytes_slope, slope_high=share.bytes_slope, **since(process, memory),
        confidence=judgement.confidence, eta_s=horizon.seconds_left(share.bytes_slope), evidence=(memory.evidence,),
    )  # fmt: skip


def name_growth(place: fmt.Place) -> tuple[str, str]:
    """Name kind and subject of what came at a place: what lies directly in it, unless that only carries others.

    Example: 40 tuples of an observation and a reward each are arrays; 40 episodes are episodes, whatever they hold.
    """
    subject = _subject(place)
    short = subject.rpartition(".")[2]
    if place.steps and place.steps[0] == _UNREACHABLE:
        return "garbage", short
    if short in TENSORS and place.graphs >= MOSTLY * sum(n for name, n, _ in place.inside if _is_tensor(name)) > 0:
        return "autograd graph", "Tensor"
    if short in CONTAINERS or is_plumbing(subject):
        return "container", place.type.rpartition(".")[2]
    return KIND_OF_TYPE.get(short, "objects"), short


def _subject(place: fmt.Place) -> str:
    """The type directly in the place that brought most, else what of it tells most, else that of the place itself."""
    if place.direct and not is_plumbing(place.direct[0][0]):
        return place.direct[0][0]
    telling = [name for name, _, _ in place.inside if not is_plumbing(name)]
    if telling:
        return telling[0]
    return place.direct[0][0] if place.direct else place.type


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _kind_of(name: str) -> str:
    return KIND_OF_TYPE.get(name.rpartition(".")[2], "objects")


def _is_tensor(name: str) -> bool:
    return name.rpartition(".")[2] in TENSORS
