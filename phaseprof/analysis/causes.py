"""Joins symptoms of one leak into one cause: what shares a holder is one thing seen several times."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby

from phaseprof.analysis.symptoms import Symptom
from phaseprof.recording import format as fmt
from phaseprof.records import COMPANIONS, GARBAGE, NO_ROOT, SOME_TIMES, without_numbers

TENSORS = frozenset({"Tensor", "Parameter", "Buffer", "UntypedStorage"})
# A type whose growth in number is known by a kind of its own.
KIND_OF_TYPE = {
    **dict.fromkeys(TENSORS, "tensors"),
    "ndarray": "arrays", "memmap": "arrays", "array": "arrays", "Thread": "threads", "SharedMemory": "shared memory",
    "Process": "children", "ForkProcess": "children", "SpawnProcess": "children", "Popen": "children",
    "socket": "descriptors", "TextIOWrapper": "descriptors", "BufferedReader": "descriptors",
    "BufferedWriter": "descriptors", "FileIO": "descriptors",
}  # fmt: skip
MEMORY = TENSORS | {"ndarray", "memmap"}
CONTAINERS = frozenset({"list", "dict", "set", "deque", "OrderedDict", "defaultdict", "Counter", "tuple", "frozenset"})
# Types that carry others: what they carry says more than they do.
PLUMBING = CONTAINERS | {
    "method", "function", "cell", "partial", "str", "bytes", "int", "float", "ReferenceType", "weakref", "frame",
    "traceback", "generator", "coroutine", "builtin_function_or_method", "module", "getset_descriptor", "code",
    "property", "object", "_HashedSeq", "Event", "Condition", "RLock", "lock", "KeyedRef", "Context", "slice",
    "list_iterator", "dict_items", "dict_keyiterator", "mappingproxy", "NoneType", "_thread.lock",
}  # fmt: skip
# Modules whose types of these names are meant.
STANDARD = frozenset({
    "builtins", "types", "functools", "collections", "weakref", "threading", "_thread", "_weakref", "_contextvars",
    "contextvars", "asyncio", "_asyncio", "torch", "typing", "string", "re",
})  # fmt: skip
# What the import of a module leaves behind, ours among them: loaders, and the signatures that decorators ask for.
IMPORTS = frozenset({"importlib", "_frozen_importlib", "_frozen_importlib_external", "zipimport", "inspect"})

# Nodes of an autograd graph, as torch names them; their Python objects come and go with whoever looks at them.
GRAPH_NODE = re.compile(r"Backward\d+$|^AccumulateGrad$")
# Types that a path shows by another name than their own.
_SHOWN_AS = {"_lru_cache_wrapper": "lru_cache"}
# What counted objects hold must come to this share of the memory that grows for it to be theirs.
EXPLAINED_SHARE = 0.8


def is_plumbing(name: str) -> bool:
    """Whether a type only carries or accompanies others; a program's own ``Event`` does not.

    Args:
        name: qualified, or short where no more is known.
    """
    module, _, short = name.rpartition(".")
    package = module.partition(".")[0]
    if package in IMPORTS:
        return True
    if is_private(name):
        return True
    if module and package not in STANDARD:
        return False
    return short in PLUMBING or short == "UntypedStorage" or GRAPH_NODE.search(short) is not None


def is_private(name: str) -> bool:
    """Whether a type is the standard library's own affair, which no program names, and no counter's companion.

    >>> is_private("weakref._Info"), is_private("app._Info"), is_private("concurrent.futures.thread._WorkItem")
    (True, False, False)
    """
    module, _, short = name.rpartition(".")
    is_known = any(short in types for types in COMPANIONS.values())
    return short.startswith("_") and module.partition(".")[0] in sys.stdlib_module_names and not is_known


def carries(symptom: Symptom) -> bool:
    """Whether what grows is plumbing."""
    return is_plumbing(symptom.named)


def comes_with_python(name: str) -> bool:
    """Whether a type of this qualified name comes with Python or with torch."""
    module = name.rpartition(".")[0]
    return not module or module.partition(".")[0] in STANDARD | IMPORTS


@dataclass
class Cause:
    """Symptoms with one holder, or with none.

    Attributes:
        holder: the holder record that tells most; ``None`` where nobody was found or asked.
        symptoms: by key.
    """

    holder: fmt.Holder | None = None
    symptoms: dict[str, Symptom] = field(default_factory=dict)

    @property
    def item(self) -> str:
        """Short name of the type that the growing container holds, or that the path ends at."""
        return self.holder.item.rpartition(".")[2] if self.holder is not None else ""

    @property
    def is_garbage(self) -> bool:
        """Whether survivors are dead cycles: no root reaches them, or a collection freed most of them."""
        if any(s.collected is not None and s.collected.asked for s in self.symptoms.values()):
            return any(s.was_freed for s in self.symptoms.values())
        return self.holder is not None and self.holder.root == GARBAGE

    @property
    def is_confirmed_garbage(self) -> bool:
        """Whether a collection freed most of the survivors, so that nothing can hold them."""
        return self.is_garbage and any(s.collected is not None and s.collected.freed for s in self.symptoms.values())

    @property
    def is_rooted(self) -> bool:
        """Whether a holder in Python was found; what C++ or dead cycles hold has none."""
        return self.holder is not None and self.holder.root not in NO_ROOT and not self.is_garbage

    @property
    def is_sum(self) -> bool:
        """Whether only bytes of storages, arrays or other buffers were added up, and nothing was counted."""
        return all(key.startswith(("storages/", "arrays_bytes", "untracked/")) for key in self.symptoms)

    def of_kind(self, *prefixes: str) -> list[Symptom]:
        """Symptoms whose key begins with one of the prefixes."""
        return [s for key, s in self.symptoms.items() if key.startswith(prefixes)]

    @property
    def ends_at_plumbing(self) -> bool:
        """Whether the item is a type that only carries others, or there is none."""
        named = [s for s in self.of_kind("count/", "watched/") if s.subject == self.item]
        return not self.item or (all(map(carries, named)) if named else is_plumbing(self.item))

    def subjects(self) -> set[str]:
        """Short names of the types that grow."""
        return {s.subject for s in self.of_kind("count/", "watched/")}

    @property
    def weight(self) -> float:
        """Bytes a generation that go with the objects or the items that grow, as far as their size was measured."""
        items = [
            s.judgement.slope * s.holder.retained_bytes / s.holder.length
            for s in self.of_kind("container/")
            if s.holder is not None and s.holder.retained_bytes > 0 and s.holder.length > 0
        ]
        return max([0.0, *map(self.weight_of, self.subjects()), *items])

    def weight_of(self, subject: str) -> float:
        """Bytes a generation that go with the objects of a type, as far as their own size was measured."""
        grown = [s for s in self.of_kind("count/", "watched/") if s.subject == subject]
        return max((s.judgement.slope * max(1, s.holder.retained_bytes if s.holder else 1) for s in grown), default=0.0)


def join(symptoms: Mapping[str, Symptom]) -> list[Cause]:
    """Group rising symptoms by holder; dead cycles are one cause; those without a holder come last, each alone."""
    held: dict[tuple[str, ...], Cause] = {}
    alone: dict[str, Cause] = {}
    is_confirmed = any(s.was_freed for s in symptoms.values())
    for key, symptom in symptoms.items():
        if not symptom.rises:
            continue
        holder = symptom.holder
        if symptom.was_freed:
            held.setdefault(("garbage",), Cause(holder)).symptoms[key] = symptom
            continue
        if holder is None or (symptom.births is None and not holder.speaks_for_most):
            # A sample without a common holder is no evidence; a watched class and its census are one all the same.
            watched = f"watched/{symptom.subject}"
            alone.setdefault(watched if watched in symptoms else key, Cause()).symptoms[key] = symptom
            continue
        place = place_of(holder)
        if is_confirmed and holder.root == GARBAGE and symptom.collected is None:
            place = ("garbage",)
        elif holder.root == GARBAGE:
            place = ("garbage", symptom.phase() or "")  # rings of one phase are one leak, wherever each was entered
        cause = held.setdefault(place, Cause(holder))
        cause.symptoms[key] = symptom
        if _tells_more(symptom, cause):
            cause.holder = holder
    return _adopt_unheld([*_merge_alike(_merge_nested(held)), *alone.values()])


def place_of(holder: fmt.Holder) -> tuple[str, ...]:
    """Return the path up to the growing container without what changes: lengths and indexes."""
    name = holder.container.rpartition(".")[2]
    shown = f"({_SHOWN_AS.get(name, name)}, " if name else ""
    steps = list(holder.steps)
    if shown:
        last = max((n for n, step in enumerate(steps) if shown in step), default=len(steps) - 1)
        found = [n for n, step in enumerate(steps) if f"{shown}{holder.length:,}" in step]
        steps = steps[: (found[0] if found else last) + 1]
    return normalised(steps)


def normalised(steps: Iterable[str]) -> tuple[str, ...]:
    """Drop what differs between two looks at one place: numbers, repeats, and whether a step is the last."""
    plain = (without_numbers(step).removesuffix(SOME_TIMES) for step in steps)
    return tuple(step for step, _ in groupby(step.replace("(", "").replace(")", "") for step in plain))


def _tells_more(symptom: Symptom, cause: Cause) -> bool:
    """Prefer the holder record of a type that is not plumbing, with the larger share explained."""
    kept = next((s for s in cause.symptoms.values() if s.holder is cause.holder), None)
    if kept is None or kept is symptom or symptom.holder is None or kept.holder is None:
        return False
    return (_weight(symptom), symptom.holder.retained_bytes) > (_weight(kept), kept.holder.retained_bytes)


def _weight(symptom: Symptom) -> int:
    if symptom.key.startswith("container/"):
        return 0
    return 1 if carries(symptom) else 2


def _merge_alike(causes: Mapping[tuple[str, ...], Cause]) -> list[Cause]:
    """Join what is one leak though its holders differ: parts of what grows, and siblings."""
    order = sorted(causes, key=lambda place: _standing(causes[place]))
    kept: dict[tuple[str, ...], Cause] = {}
    for place in order:
        cause = causes[place]
        home = next((k for p, k in kept.items() if _is_part_of(cause, k) or _are_siblings(place, cause, p, k)), None)
        if home is None:
            kept[place] = cause
        else:
            home.symptoms.update({key: s for key, s in cause.symptoms.items() if key not in home.symptoms})
    return list(kept.values())


def _standing(cause: Cause) -> tuple[bool, int, bool]:
    """Order causes so that those which others may be part of come first: leaks, of telling types, that were counted."""
    return not _leaks(cause), -max(map(_weight, cause.symptoms.values())), cause.is_sum


def _leaks(cause: Cause) -> bool:
    return any(s.judgement.verdict == "leak" for s in cause.symptoms.values())


def _is_part_of(part: Cause, whole: Cause) -> bool:
    """Whether a cause is what another one's objects hold, or memory that they account for."""
    if part.holder is None or (_leaks(part) and not _leaks(whole)):
        return False
    grown = [s.judgement.slope for s in part.of_kind("storages/", "arrays_bytes")]
    is_of_graph = whole.is_rooted and bool(whole.of_kind("graph_"))  # it saves tensors, which its nodes alone show
    if grown and all(map(_is_memory, part.symptoms.values())) and (
        is_of_graph or whole.weight >= EXPLAINED_SHARE * max(grown) > 0
    ):
        return True
    mine, others = _phases(part), _phases(whole)
    of_tensors = all(map(_is_memory, [*part.symptoms.values(), *whole.symptoms.values()]))
    if of_tensors and not (part.is_rooted or whole.is_rooted) and (not mine or not others or mine & others):
        return True  # C++ holds them in a ring, and a search meets one part of it or another
    if not mine & others:
        return False
    steps = part.holder.steps
    inside = {s.subject for s in whole.of_kind("count/", "watched/") if not carries(s)} - set(KIND_OF_TYPE)
    return any(f"({name})" in step for name in inside for step in steps)


def _is_memory(symptom: Symptom) -> bool:
    """Whether it is storages, arrays or graphs, by bytes or by the objects that show them."""
    return symptom.subject in MEMORY or symptom.key.startswith(("storages/", "arrays_bytes", "graph_"))


def _are_siblings(place: tuple[str, ...], cause: Cause, other: tuple[str, ...], home: Cause) -> bool:
    """Whether two containers of one object grow in one phase: what a program notes twice is noted too often once."""
    if len(place) < 2 or place[:-1] != other[:-1] or not cause.is_rooted:
        return False
    return all(map(carries, cause.symptoms.values())) and bool(_phases(cause) & _phases(home))


def _adopt_unheld(causes: list[Cause]) -> list[Cause]:
    """Give what nothing in Python holds to the cause that is born in the same phase and has a holder.

    What a kept graph or context holds in C++ grows in step with what Python shows of it: one leak, seen twice.
    """
    rooted = [cause for cause in causes if cause.is_rooted]
    kept = []
    for cause in causes:
        if cause.is_rooted or cause.is_confirmed_garbage:
            kept.append(cause)
            continue
        home = next((r for r in rooted if _belongs(cause, r)), None)
        if home is None:
            kept.append(cause)
        else:
            home.symptoms.update(cause.symptoms)
    return kept


def _belongs(unheld: Cause, home: Cause) -> bool:
    if all(key.startswith("count/") and carries(s) for key, s in unheld.symptoms.items()):
        return _leaks(home) or not _leaks(unheld)
    of_tensors = all(map(_is_memory, unheld.symptoms.values())) and any(map(_is_memory, home.symptoms.values()))
    return bool(_phases(home) & _phases(unheld)) or (of_tensors and not _phases(unheld))


def _phases(cause: Cause) -> set[str]:
    return {phase for s in cause.symptoms.values() if (phase := s.phase()) is not None}


def _merge_nested(held: Mapping[tuple[str, ...], Cause]) -> dict[tuple[str, ...], Cause]:
    """A place inside another cause's place is the same leak seen deeper: it joins the outer one."""
    kept: dict[tuple[str, ...], Cause] = {}
    for place in sorted(held, key=len):
        outer = next((p for p in kept if p and place[: len(p)] == p), None)
        if outer is None:
            kept[place] = held[place]
            continue
        whole, inner = kept[outer], held[place]
        if whole.holder is not None and not whole.holder.container and whole.ends_at_plumbing:
            whole.holder = inner.holder  # the outer one ends at what only carries the inner one's object
        whole.symptoms.update(inner.symptoms)
    return kept
