"""objgraph: growth() at every generation, typestats() at phase exits, find_backref_chain() for the holder."""

from __future__ import annotations

import contextlib
import gc
import time
import types
from collections import deque
from itertools import pairwise
from typing import Any

import objgraph

from leakbench.tools.typegrowth import TypeGrowthTool


def edge(source: Any, target: Any) -> str:
    """How ``source`` reaches ``target``, as text."""
    if isinstance(source, dict):
        return next((f"[{key!r:.60}]" for key, value in source.items() if value is target), "")
    if isinstance(source, (list, tuple, deque)):
        return next((f"[{i}]" for i, value in enumerate(source) if value is target), "")
    attributes = getattr(source, "__dict__", None)
    if attributes is target:
        return ".__dict__"
    for name, value in attributes.items() if isinstance(attributes, dict) else ():
        if value is target:
            return f".{name}"
    return slot_of(source, target)


def slot_of(source: Any, target: Any) -> str:
    """The slot of ``source`` that holds ``target``, as text; empty if none does."""
    slots = [(name, slot) for cls in type(source).__mro__ for name, slot in vars(cls).items()]
    for name, slot in slots:
        if isinstance(slot, types.MemberDescriptorType):
            with contextlib.suppress(AttributeError):
                if slot.__get__(source) is target:
                    return f".{name}"
    return ""


def name_of(obj: Any) -> str:
    name = getattr(obj, "__name__", None) if isinstance(obj, (types.ModuleType, types.FunctionType, type)) else None
    return name or type(obj).__name__


class Tool(TypeGrowthTool):
    phases_every = 6
    seconds = 20.0  # for the backref searches of one type
    tries = 20

    def count(self) -> dict[str, int]:
        gc.collect()
        return objgraph.typestats()

    def take(self, first: bool) -> None:
        for name, _, _ in objgraph.growth(limit=None, peak_stats=self.peaks):
            self.hits[name] += not first
        if first:
            self.first.update(self.peaks)
        self.readings += not first

    def holder(self, name: str) -> str:
        """The chain to the newest object that has one; some tensors are held by C++ alone."""
        objects = objgraph.by_type(name)
        deadline = time.monotonic() + self.seconds

        def root(obj: Any) -> bool:
            return obj is self.program or objgraph.is_proper_module(obj) or time.monotonic() > deadline

        ignore = [id(objects), id(self), id(vars(self))]
        for obj in objects[-1 : -self.tries - 1 : -1]:
            chain = objgraph.find_backref_chain(obj, root, extra_ignore=ignore)
            if time.monotonic() > deadline:
                break
            if len(chain) > 1:
                return " ".join(name_of(a) + edge(a, b) for a, b in pairwise(chain)) + f" {name}"
        return ""
