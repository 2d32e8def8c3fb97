"""What two looks by place say of the growth of memory: how much of it is kept where, and what it is.

An exact counter decides that memory leaks; places only explain it.  What they brought, and what is left, add up to the
counter's growth: each part of a fifth or more is a finding, so that a small leak never hides a large one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from phaseprof.analysis.categories import CONTAINERS, GRAPH_NODE, MEMORY, PLAIN_ITEMS, TENSORS
from phaseprof.analysis.garbage import comes_to_much, waits_for_long
from phaseprof.analysis.limits import FELT_BYTES, LOG_NEWS_BYTES, OWN_BYTES, Horizon
from phaseprof.analysis.naming import ONE_OBJECT, advise, summarise
from phaseprof.analysis.naming_places import MOSTLY, SHARE, name_growth, short
from phaseprof.analysis.paths import normalised
from phaseprof.analysis.since import since
from phaseprof.analysis.symptoms import AT, FITTING, Symptom, fits
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.records import (
    CONTEXTS,
    GARBAGE,
    NODE_BYTES,
    OUTSIDE,
    UNIT_BYTES,
    UNREACHABLE,
    Certainty,
    Finding,
    Verdict,
    is_own_name,
)  # fmt: skip
from phaseprof.verdict import judge
from phaseprof.verdict.levels import accounts_for

# Storages that may be those of as many tensors: what other looks met before is among them.
MOST_STORAGES = 1.25
# Fewer objects a generation are weighed: a few that grow are no growth in number.
COUNTED = 0.5
# Of the run, the part after which a container must have been full for its growth not to be the filling of it.
LONG_FULL = 0.5
# Items that came take as much as any other of the container where it is no more than this, as a factor.
ALIKE = 1.1
# Of how many places it is asked which of them filled up.
MOST_PARTS = 6
# Of what the floor of a sawtooth rises by, how many times it a place may bring that has nothing to do with the cycles.
WITH_CYCLE = 3.0
# Containers whose table grows and shrinks by steps, whatever they hold.
HASHED = frozenset({"dict", "set", "frozenset", "OrderedDict", "defaultdict", "Counter"})
# How a path to the values of context variables begins.
_CONTEXT = (OUTSIDE, "(Context)", "(hamt)")


@dataclass(frozen=True)
class Share:
    """Growth at one place.

    Attributes:
        kind, subject: as in a finding.
        type_name: of the subject, qualified.
        holder: the path to the place; empty where nothing in Python leads to it.
        bytes_slope: growth in bytes a generation, between the two looks.
        graphs_slope: tensors with a graph a generation; what their graphs save in C++ is not among the bytes.
        objects: type -> objects a generation that came, of those directly in the place and below it.
        is_log: a container of numbers or lines of text, or of containers that hold nothing else.
        bound, length: capacity of the container at the place, and how many lie in it; -1 where it has none.
        was_rehashed: the table of a dict or a set is all that became larger, unless numbers or text came into it.
        came: objects of the most frequent type that came directly, in all; where nothing in Python leads to the place,
            of those below it as well.
        small_slope: of the growth in bytes, what is no tensor's or array's: Python's own allocator may have given it.
        is_namespace: the names of a module: what comes there directly comes under a name of its own.
    """

    kind: str
    subject: str
    type_name: str
    holder: tuple[str, ...]
    bytes_slope: float
    graphs_slope: float
    objects: Mapping[str, float]
    is_log: bool = False
    bound: int = -1
    length: int = -1
    was_rehashed: bool = False
    came: int = 0
    small_slope: float = 0.0
    is_namespace: bool = False

    @property
    def is_full(self) -> bool:
        """Whether it is a container that has filled up: what came until then comes no more."""
        return 0 < self.bound <= self.length

    @property
    def growth(self) -> tuple[float, str]:
        """What it grows by, and in what: objects of the program's types are counted, all else is weighed."""
        n = self.objects.get(self.type_name, 0.0) if self.kind == "objects" else 0.0
        return (n, "objects/generation") if n >= COUNTED else (self.bytes_slope, "bytes/generation")

    @property
    def may_be_told(self) -> bool:
        """Whether one look at it may name it: rings may be waiting by chance, and C holds types of every library."""
        return self.kind != GARBAGE and (bool(self.holder) or self.kind in ("tensors", "arrays", "autograd graph"))

    def is_saved_by(self, n_nodes: int) -> bool:
        """Whether it is tensors that only C++ holds, and so many nodes of graphs came that these have saved them."""
        return self.kind == "tensors" and not self.holder and 0 < MOSTLY * self.came <= n_nodes

    def comes_one_by_one(self, risen: float) -> bool:
        """Whether as many came as if most of the ``risen`` generations, those in which memory rose, left one.

        Example: one large array is no rise.
        """
        return self.kind == "container" or self.came >= MOSTLY * risen

    def is_new_name(self, turns: int) -> bool:
        """Whether it is what a module was given under a few new names, which is no rise from generation to generation.

        Example: a script that makes a large array after its loop, before the last look.
        """
        return self.is_namespace and self.came < MOSTLY * turns

    @property
    def names(self) -> bool:
        """Whether it says something: plumbing that nobody holds is anybody's."""
        return self.kind != "container" or bool(self.holder)


@dataclass(frozen=True)
class Memory:
    """What the exact counters of memory show.

    Attributes:
        symptom: the counter that shows most of the growth.
        rate: bytes a generation, of all allocators.
        blocks_rate: of these, what Python's own allocator leaks.
        units: the counters that leak, and the bytes that one of each stands for.
    """

    symptom: Symptom
    rate: float
    blocks_rate: float = 0.0
    units: Mapping[str, float] = field(default_factory=dict)

    def seen_by(self, symptoms: Mapping[str, Symptom]) -> Symptom:
        """The counter that tells the phase: that which was added up, where it rose with the one that was judged."""
        return self.symptom if self.symptom.key in self.units else symptoms[next(iter(self.units))]

    def most_of_a_place(self, *, is_open: bool) -> float:
        """Bytes a generation that a place may bring: two looks may stand at different heights of a sawtooth cycle.

        Args:
            is_open: the newer look was made in a generation that has not ended, and meets what that one had just made.
        """
        return WITH_CYCLE * self.rate if is_open or self.symptom.judgement.shape == "sawtooth" else math.inf

    def grown(self, until: int) -> float:
        """Bytes that it leaked from its beginning to a generation."""
        return self.rate * (until - (self.symptom.judgement.since or 0))

    def grown_by(self, process: ProcessRun) -> float:
        """Bytes that it leaked until the newest look by place; 0 without one."""
        return 0.0 if process.places is None else self.grown(process.places.g)

    def may_be(self, share: Share) -> bool:
        """Whether a place may have brought growth: a larger table alone moves no block of Python's own allocator."""
        return share.names and not (share.was_rehashed and self.blocks_rate <= 0)

    def is_part(self, share: Share) -> bool:
        """Whether a part of the growth is a finding of its own: a fifth of all, or most of what is Python's own."""
        return share.bytes_slope >= SHARE * self.rate or share.small_slope >= MOSTLY * self.blocks_rate > 0


def is_measured(told: fmt.Places | None) -> bool:
    """Whether a look is told against one before it."""
    return told is not None and told.since < told.g


def measured_looks(process: ProcessRun) -> list[fmt.Places]:
    """Return the newest look at all of the heap and that without libraries, those that are told against one before."""
    looks = (process.looks.get(True), process.looks.get(False))
    return [told for told in looks if told is not None and is_measured(told)]


def _item_bytes(process: ProcessRun) -> dict[tuple[str, ...], float]:
    """Bytes of an item of each container, as a look at all of the heap saw it that is told by itself."""
    whole = process.looks.get(True)
    rows = [] if whole is None or is_measured(whole) else whole.rows
    return {tuple(row.steps): row.bytes / row.length for row in rows if row.length > 0}


def shares(told: fmt.Places | None, item_bytes: Mapping[tuple[str, ...], float] | None = None) -> list[Share]:
    """Return the places where memory grew between a look and one before it, the heaviest first.

    Args:
        told: the look; of a single one it is what lies there.
        item_bytes: path to a container -> what each of its items takes, where that is known.
    """
    if told is None:
        return []
    turns = told.g - told.since or told.g + 1
    each = item_bytes or {}
    every = [
        _share(place, told.since, turns, each.get(tuple(place.steps)))
        for place in told.rows if place.bytes > 0 and place.steps and not _is_ours(place)
    ]  # fmt: skip
    if not any(one.kind == "autograd graph" for one in every):
        every = [_as_graph(one) if one.is_saved_by(_n_nodes(told)) else one for one in every]
    keeper = _keeper_of_graphs(told)
    contexts = _contexts(every) or (() if keeper is None else keeper.holder)
    # What C++ alone holds of a graph hangs from its nodes: a context is one, and a tensor with a graph keeps them.
    return [
        replace(one, holder=contexts) if one.kind == "autograd graph" and not one.holder else one
        for one in every
        if not is_own_name(one.type_name)
    ]


def _is_ours(place: fmt.Place) -> bool:
    """Whether what came is of this package, such as a local variable that holds a profiler."""
    return any(map(is_own_name, (place.type, *(name for name, _, _ in place.direct[:1]))))


def _contexts(every: Sequence[Share]) -> tuple[str, ...]:
    """The place where contexts of a program's own autograd functions came; each is a node of a graph."""
    return next((one.holder for one in every if one.holder and one.type_name.startswith(CONTEXTS)), ())


def _as_graph(share: Share) -> Share:
    return replace(share, kind="autograd graph", subject="Tensor")


def _n_nodes(told: fmt.Places) -> int:
    """How many nodes of graphs came that only C++ holds."""
    outside = [place for place in told.rows if place.steps and place.steps[0] == OUTSIDE]
    return sum(n for place in outside for name, n, _ in place.inside if GRAPH_NODE.search(short(name)))


def _no_more_than_lies_there(process: ProcessRun, told: fmt.Places, share: Share) -> Share:
    """Bound what a place grows by with what lies there at the end, as a look that is told by itself saw it.

    Example: the state of an optimizer is made at the first step of a training, between two looks early in the run.
    """
    end = process.looks.get(True)
    if end is None or is_measured(end) or end.g <= told.g or not share.holder:
        return share
    place = normalised(share.holder)
    there = max((row.bytes for row in end.rows if normalised(row.steps) == place), default=math.inf)
    return replace(share, bytes_slope=min(share.bytes_slope, there / (end.g - told.since)))


def _was_rehashed(place: fmt.Place) -> bool:
    """Whether the table of a dict or a set is all that became larger: no object came.

    One that is full, and drops an item for each that it takes, is given a larger table or a smaller one now and then.
    """
    return short(place.type) in HASHED and not any(n for _, n, _ in (*place.direct, *place.inside))


def _share(place: fmt.Place, since: int, turns: int, item_bytes: float | None = None) -> Share:
    kind, subject, type_name = name_growth(place)
    holder = _holder(place.steps)
    objects: dict[str, float] = {}
    for name, n, _ in (*place.direct, *place.inside):
        objects[name] = max(objects.get(name, 0.0), n / turns)
    slopes = place.bytes / turns, place.graphs / turns
    is_log = kind == "container" and _is_log(place)
    bound = -1 if _grows_in_its_items(place, since, turns, item_bytes) else place.bound
    rehashed = _was_rehashed(place)
    came = max((n for _, n, _ in (place.direct if holder else (*place.direct, *place.inside))), default=0)
    small = place.bytes - sum(n_bytes for name, _, n_bytes in place.inside if short(name) in MEMORY)
    return Share(
        kind, subject, type_name, holder, *slopes, objects, is_log, bound, place.length, rehashed, came,
        small_slope=small / turns, is_namespace=place.type == "module",
    )  # fmt: skip


def _is_log(place: fmt.Place) -> bool:
    """Whether nothing came but numbers and text, in containers or not.

    Example: a dict that gains a list of numbers in each epoch.  Numbers are charged to the container that holds them.
    """
    came = [short(name) for name, n, _ in (*place.direct, *place.inside) if n]
    return bool(came) and all(name in PLAIN_ITEMS or name in CONTAINERS for name in came)


def _holder(steps: Sequence[str]) -> tuple[str, ...]:
    """Return the path to a place; empty where nothing in Python leads to it.

    Values of context variables lie in tables of the running context, which only the thread's own state in C refers to.
    """
    if tuple(steps[:3]) == _CONTEXT:
        return "contextvars (Context)", *(step for step in steps[3:] if not step.startswith("(hamt"))
    return () if steps[0] in (UNREACHABLE, OUTSIDE) else tuple(steps)


def _grows_in_its_items(place: fmt.Place, since: int, turns: int, item_bytes: float | None) -> bool:
    """Whether a full container must have been full for long: then it grows because each of its items takes more.

    Example: a buffer of 200 episodes that become longer as the agent improves; its bound bounds no memory.

    Args:
        place: what came to it.
        since: ordinal of the older look.
        turns: generations between the two.
        item_bytes: what each of its items takes by now; ``None``: not known.
    """
    came = sum(n for _, n, _ in place.direct)
    had = place.length - came
    if not 0 < place.bound <= place.length or had <= 0:
        return False
    if item_bytes is not None and place.bytes <= ALIKE * came * item_bytes:
        return False  # it grew by the items that came, and by no more
    full_after = place.bound * (since + 1) / had  # at the pace at which it filled until the older look
    return full_after <= LONG_FULL * (since + 1 + turns)


def explain(
    process: ProcessRun,
    told: fmt.Places,
    memory: Memory,
    horizon: Horizon,
    phase: str | None,
    *,
    most: float = math.inf,
    least: float = FELT_BYTES,
) -> list[Finding]:
    """Return a finding for each place that brought a fifth or more of what memory leaks, and one for the rest.

    Args:
        process: the recording.
        told: a look that is told against one before it.
        memory: what leaks.
        horizon: whether a part would be felt, and when memory ends.
        phase: the one in which memory rises, for what was not followed from birth.
        most: bytes a generation that a place may have brought: more is not of this memory.
        least: bytes that it must have brought so far.
    """
    turns = told.g - told.since
    most = min(most, memory.most_of_a_place(is_open=_is_unfinished(process, told.g)))
    every = [
        _no_more_than_lies_there(process, told, share) for share in shares(told, _item_bytes(process))
        if share.bytes_slope <= most and not share.is_new_name(turns)
    ]  # fmt: skip
    every = _with_their_storages(every)
    graphs = [share for share in every if share.kind == "autograd graph"]
    if any(share.holder for share in graphs):  # what C++ alone holds, such as saved parameters, the graphs have saved
        every = [share for share in every if share.holder or share.kind != "tensors"]
        graphs = [share for share in graphs if share.holder]
    parts = [share for share in every if memory.may_be(share) and memory.is_part(share)]
    chosen = _that_still_grow(process, told, parts, memory)
    left = memory.rate - sum(share.bytes_slope for share in every)
    if graphs and left >= SHARE * memory.rate:
        heaviest = max(graphs, key=lambda share: share.graphs_slope)
        chosen = [replace(heaviest, bytes_slope=heaviest.bytes_slope + left), *(s for s in chosen if s != heaviest)]
    elif left >= MOSTLY * memory.rate and (kept := _kept_nodes(process, memory)) is not None:
        chosen.append(replace(kept, bytes_slope=left))
    felt = [share for share in chosen if _is_felt(process, share, memory, horizon, least)]
    logs = [share for share in felt if share.is_log and not _is_felt_log(share, memory, horizon)]
    return [
        *(_finding(process, memory, share, horizon, phase) for share in felt if share not in logs),
        *(as_log(_finding(process, memory, share, horizon, phase)) for share in logs),
    ]


def _is_unfinished(process: ProcessRun, generation: int) -> bool:
    """Whether a generation was under way, or broken off, when the program was looked at for the last time."""
    is_under_way = any(turn.ordinal == generation and turn.seconds is None for turn in process.generations[-1:])
    return is_under_way or any(one.g == generation for one in process.dying)


def _that_still_grow(process: ProcessRun, told: fmt.Places, parts: Sequence[Share], memory: Memory) -> list[Share]:
    """Leave out what filled up between the looks: it is what the counter rose by beyond what it leaks.

    Only places to which less came than one thing in two generations: what comes in each of them has not ended.

    Example: in 45 generations memory rose by 12.5 MB, and leaks 232 KB in each to the end.  To a window of 20 arrays
    five came, which take the 2.1 MB between.
    """
    turns = told.g - told.since
    ended = _beyond_leak(process, told, memory)
    able = [share for share in parts if not share.comes_one_by_one(turns)]
    if FITTING * ended < SHARE * turns * memory.rate or len(able) > MOST_PARTS:
        return list(parts)
    some = (chosen for n in range(1, len(able) + 1) for chosen in itertools.combinations(able, n))
    fitting = [chosen for chosen in some if fits(turns * sum(one.bytes_slope for one in chosen), ended)]
    return [share for share in parts if len(fitting) != 1 or share not in fitting[0]]


def _beyond_leak(process: ProcessRun, told: fmt.Places, memory: Memory) -> float:
    """Bytes that the counters rose by between two looks, or until they were last read, beyond what they leak."""
    read = [(process.series[AT, key], unit) for key, unit in memory.units.items()]
    until = min([told.g, *(series.generations[-1] for series, _ in read)])
    ends = [(np.interp([told.since, until], series.generations, series.values), unit) for series, unit in read]
    return sum(unit * float(end - begin) for (begin, end), unit in ends) - (until - told.since) * memory.rate


def as_log(finding: Finding) -> Finding:
    """Say of what grows in a log that it grows slowly: no leak, and news only beside one."""
    finding = replace(finding, verdict="growing", eta_s=None)
    return replace(finding, summary=summarise(finding, finding.bytes_slope, known_as="log"))


def is_log(finding: Finding) -> bool:
    """Whether a finding of ``explain`` is of a log that grows slowly."""
    return finding.verdict == "growing" and finding.kind == "container"


def _with_their_storages(every: Sequence[Share]) -> list[Share]:
    """Charge storages that only C++ holds to dead cycles with tensors, of which there are as many or more.

    A look that asks tensors for their storages makes an object of each, which C++ keeps with the storage: what a tensor
    in a dead cycle takes then lies there.
    """
    dead = next((one for one in every if one.kind == GARBAGE and _n_tensors(one) > 0), None)
    stray = [one for one in every if dead and one.subject == "UntypedStorage" and not one.holder]
    if dead is None or not stray or sum(map(_n_tensors, stray)) > MOST_STORAGES * _n_tensors(dead):
        return list(every)
    whole = replace(dead, bytes_slope=dead.bytes_slope + sum(one.bytes_slope for one in stray))
    return [whole if one is dead else one for one in every if one not in stray]


def _n_tensors(share: Share) -> float:
    """Tensors or storages a generation."""
    return sum(n for name, n in share.objects.items() if short(name) in TENSORS)


def explain_once(
    process: ProcessRun, memory: Memory, horizon: Horizon, phase: str | None, *, least: float = FELT_BYTES
) -> Finding | None:
    """Return a finding for the place where about as much lies as memory grew by, for want of a second look."""
    told = process.places
    if told is None or told.since < told.g:
        return None
    turns = told.g + 1
    grown = memory.grown(told.g)
    risen = memory.symptom.n_rises
    private = process.series.get((AT, "anonymous_bytes")) if memory.blocks_rate else None  # blocks are of many sizes
    resident = 0.0 if private is None else private.grown_since(memory.symptom.judgement.since or 0)
    told_once = [
        one for one in shares(told)
        if (one.may_be_told or (one.kind == "objects" and process.is_own(one.type_name))) and memory.may_be(one)
    ]  # fmt: skip
    fitting = [
        one for one in told_once
        if any(accounts_for(turns * one.bytes_slope, most) for most in (grown, resident))
        and not one.is_full and one.comes_one_by_one(risen)
    ]  # fmt: skip
    best = min(
        fitting,
        key=lambda one: (one.kind == "container", not one.holder, abs(math.log(turns * one.bytes_slope / grown))),
        default=None,
    )
    where = "it holds about as much as memory grew"
    best = best or _kept_nodes(process, memory)
    if best is None:
        where, best = "it holds as many graphs as there were generations", _kept_graphs(process, told)
    if best is not None and best.kind == "autograd graph" and not best.holder:  # another look may have met who holds it
        elsewhere = [one for look in measured_looks(process) for one in shares(look)]
        best = replace(best, holder=_contexts(elsewhere))
    share = None if best is None else replace(best, bytes_slope=memory.rate, objects={})  # how many came is not known
    if share is None or not _is_felt(process, share, memory, horizon, least):
        return None
    if share.is_log and not _is_felt_log(share, memory, horizon):
        return None
    found = _finding(process, memory, share, horizon, phase)
    once = Certainty(subject="seen once", holder="seen once" if share.holder else "not known")
    text = f"{found.summary}; named from a single look at the end: {where}"
    return replace(found, certainty=once, summary=text)


def _kept_nodes(process: ProcessRun, memory: Memory) -> Share | None:
    """The tensor whose graph is kept, if the nodes of all graphs take about as much as memory grew by.

    Example: losses that are summed as tensors after ``backward``, which leaves the bare nodes: a few KB a step.
    """
    told, nodes = process.places, process.series.get((AT, "graph_nodes"))
    if told is None or nodes is None or nodes.generations[-1] < told.g:
        return None
    return _keeper_of_graphs(told) if accounts_for(NODE_BYTES * nodes.last, memory.grown(told.g)) else None


def _keeper_of_graphs(told: fmt.Places) -> Share | None:
    """The place where most tensors with a graph lie, which a row without bytes names."""
    row = next((row for row in told.rows if row.graphs and not row.bytes and row.steps), None)
    return None if row is None else replace(_share(row, told.since, told.g + 1), kind="autograd graph")


def _kept_graphs(process: ProcessRun, told: fmt.Places) -> Share | None:
    """The place where at least as many tensors with a graph lie as generations passed: C++ holds what those take."""
    every = [share for share in shares(told) if share.kind == "autograd graph" and share.holder]
    keeper = _keeper_of_graphs(told)
    if keeper is not None:
        every.append(keeper)
    best = max(every, key=lambda share: share.graphs_slope, default=None)
    return best if best is not None and best.graphs_slope * (told.g + 1) >= told.g else None


def _is_felt(process: ProcessRun, share: Share, memory: Memory, horizon: Horizon, least: float) -> bool:
    if share.is_log:
        least = min(least, LOG_NEWS_BYTES)
    elif process.is_own(share.type_name):
        least = min(least, OWN_BYTES)
    return horizon.is_felt(share.bytes_slope, memory.symptom.judgement.since, least=least)


def _is_felt_log(share: Share, memory: Memory, horizon: Horizon) -> bool:
    return horizon.is_log_felt(share.bytes_slope, memory.symptom.judgement.since, beside=memory.rate)


def _finding(process: ProcessRun, memory: Memory, share: Share, horizon: Horizon, phase: str | None) -> Finding:
    """Return a finding for what came at a place between two looks, which both have met."""
    judgement = memory.symptom.judgement
    verdict = _verdict_of(share, horizon, judgement.since)
    slope, unit = share.growth
    known_as = ONE_OBJECT if share.kind == "objects" and share.holder and not share.came else None
    found = Finding(
        verdict, share.kind, phase_of(process, share) or phase, share.subject, share.holder, metric=memory.symptom.key,
        slope=slope, slope_unit=unit, slope_low=slope, slope_high=slope,
        bytes_slope=share.bytes_slope, **since(process, memory.symptom),
        confidence=judgement.confidence, eta_s=horizon.seconds_left(share.bytes_slope) if verdict == "leak" else None,
        advice=advise(known_as or share.kind, share.subject, share.holder), evidence=(memory.symptom.evidence,),
        certainty=Certainty(subject="measured", holder="measured" if share.holder else "not known"),
    )  # fmt: skip
    if share.kind == GARBAGE and not (waits_for_long(process, judgement.since or 0) and comes_to_much(process)):
        found = replace(found, verdict="growing", eta_s=None)
    return replace(found, summary=summarise(found, share.bytes_slope, known_as=known_as))


def _verdict_of(share: Share, horizon: Horizon, since: int | None) -> Verdict:
    """A container with a bound fills up, unless memory ends before it is full."""
    if share.is_full:
        return "plateau"
    is_in_time = horizon.lasts_until_full(share.bytes_slope, since, length=share.length, bound=share.bound)
    return "filling" if is_in_time else "leak"


def phase_of(process: ProcessRun, share: Share) -> str | None:
    """Return the phase in which most of what came at a place was born, where its class is watched."""
    told = {births.subject: births.phases for births in process.births if births.phases}
    born = told.get(f"watched/{share.subject}", {})
    return max(born, key=lambda phase: (born[phase][1], born[phase][0]), default=None)


def rest_of(
    process: ProcessRun, told: fmt.Places, symptoms: Mapping[str, Symptom], memory: Memory
) -> tuple[float, float]:
    """Bytes a generation that still leak when what places brought is taken off, and the least that may be.

    Both are 0 where it rose once, or by little.

    Example: memory grows by 5 MiB a generation, and by 2 MiB once for an import; places brought 1 MiB a generation.
    The rest is 4 MiB.
    """
    generations = np.array(memory.symptom.evidence.generations, np.float64)
    brought = sum(share.bytes_slope for share in _that_still_grow(process, told, shares(told), memory))
    left = -brought * generations
    for key, unit in memory.units.items():
        evidence = symptoms[key].evidence
        left = left + unit * np.interp(generations, evidence.generations, evidence.values)
    if np.ptp(left) < FELT_BYTES:
        return 0.0, 0.0
    judgement = judge(left, memory.symptom.evidence.generations)
    if judgement.verdict != "leak":
        return 0.0, 0.0
    rest = min(judgement.slope, memory.rate - brought)  # of a part of the time only, places may have brought less
    return rest, min(rest, judgement.slope_low)


def leaking_memory(symptoms: Mapping[str, Symptom]) -> Memory | None:
    """Add up what the exact counters of the allocators leak: memory in use of malloc, and blocks of Python's own."""
    leaks = [
        (symptom.pace * unit, symptom)
        for key, unit in UNIT_BYTES.items()
        if (symptom := symptoms.get(key)) is not None and symptom.judgement.verdict == "leak"
    ]
    if not leaks:
        return None
    blocks = sum(rate for rate, symptom in leaks if symptom.key == "python_blocks")
    leaking = {symptom.key: UNIT_BYTES[symptom.key] for _, symptom in leaks}
    return Memory(max(leaks, key=lambda leak: leak[0])[1], sum(rate for rate, _ in leaks), blocks, leaking)
