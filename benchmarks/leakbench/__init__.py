"""LeakBench: small, real leak patterns and their healthy twins, to score any leak finder.

Every case is a tiny training program that does its work in named phases, generation after
generation.  A case comes in two builds of the same program: ``leaky=True`` leaks in one known
place, ``leaky=False`` is the repaired program (or a look-alike that only seems to leak).
A tool under test sees nothing but the calls of :class:`Instrument`; what it reports is compared
with :class:`Truth`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

KINDS = (
    "objects",  # live Python objects of one type grow in number
    "tensors",  # bytes of live torch storages grow (each storage counted once)
    "arrays",  # bytes of live numpy buffers grow (each base counted once)
    "autograd graph",  # autograd nodes and the tensors they saved stay alive
    "container",  # one container grows though its items are small or not tracked by the collector
    "garbage",  # dead reference cycles pile up; a full collection frees them
    "native",  # anonymous process memory grows that no Python object or tensor explains
    "children",  # child processes, or their private memory, grow
    "descriptors",  # open file descriptors grow
    "shared memory",  # shared-memory segments grow
    "threads",  # live threads grow
)


class Instrument(Protocol):
    """What a case may call.  All labels are plain strings; nothing is returned to the case."""

    def generation(self, index: int) -> AbstractContextManager[Any]: ...
    def phase(self, name: str) -> AbstractContextManager[Any]: ...
    def checkpoint(self, label: str) -> AbstractContextManager[Any]: ...
    def watch(self, cls: type, expected: int | tuple[int, int] | None = None) -> None: ...
    def track(self, name: str, getter: Callable[[], Any]) -> None: ...


class Program(Protocol):
    """One build of a case: ``generation`` does all the phases of one generation."""

    def generation(self, pp: Instrument, index: int) -> None: ...


@dataclass(frozen=True)
class Truth:
    """Where the leak is.  Every field is matched case-insensitively against a finding.

    phase:   the phase in which the memory is allocated that then stays.
    kind:    one of KINDS; ``also`` lists other kinds that are a fair name for the same leak.
    subject: the type (or named thing) that grows, e.g. ``Tensor``; ``None`` where no type grows.
    holder:  words that must all appear, in this order, in the holder path that a tool prints,
             e.g. ``("StatCollector", "losses")``; empty where nothing in Python holds it.
    site:    functions of the case in which the memory that then stays is allocated, each with its class; a line in any
             of them is right.  Empty where no line allocates it.
    """

    phase: str
    kind: str
    subject: str | None = None
    holder: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    subject_also: tuple[str, ...] = ()
    site: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """A leaky program, and its healthy twin.

    build:       ``build(leaky) -> Program``; called once, in a fresh process.
    source:      the public report the mechanism comes from, or ``"synthetic"``.
    generations: how many generations a tool gets to decide.
    needs:       modules the case imports beyond numpy and torch.
    """

    name: str
    build: Callable[[bool], Program]
    truth: Truth
    source: str
    generations: int = 30
    needs: tuple[str, ...] = ()
    healthy_twin: bool = True
    leaky_build: bool = True
    tags: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class Finding:
    """What a tool claims leaks.  A tool that cannot say a field leaves it empty; ``site`` is ``file:line``."""

    phase: str = ""
    kind: str = ""
    subject: str = ""
    holder: str = ""
    detail: str = ""
    site: str = ""


def load_cases(package: str = "leakbench.cases") -> dict[str, Case]:
    """Import every module of ``package`` and collect its module-level ``CASE`` (or ``CASES``)."""
    root = importlib.import_module(package)
    found: dict[str, Case] = {}
    for info in pkgutil.iter_modules(root.__path__):
        module = importlib.import_module(f"{package}.{info.name}")
        for case in getattr(module, "CASES", None) or [module.CASE]:
            if case.name in found:
                raise ValueError(f"two cases are named {case.name!r}")
            found[case.name] = case
    return dict(sorted(found.items()))
