"""Holder paths of ten suspects in a large heap, beside objgraph.find_backref_chain asked ten times.

Run ``python -m benchmarks.bench_holders [--quick]``. Both are measured in one process on one heap, by this thread's CPU
time, best of a few rounds; both must find the list that holds the suspects.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable

import objgraph

from phaseprof.probes.autograd import count_nodes
from phaseprof.probes.holders import find_holders

N_OBJECTS, N_OBJECTS_QUICK = 1_000_000, 200_000
N_SUSPECTS = 10


class Item:
    pass


class Node:
    """One link of the chain from the module to the list that grows."""

    def __init__(self, below: object) -> None:
        self.below = below


def best_of(action: Callable[[], object], rounds: int) -> float:
    """Return the shortest CPU time in seconds."""
    best = float("inf")
    for _ in range(rounds):
        start = time.thread_time()
        action()
        best = min(best, time.thread_time() - start)
    return best


def make_heap(n_objects: int) -> list[object]:
    """Make tracked objects as a trainer's heap has them: instances, dicts, lists and tuples that hold each other."""
    held: list[object] = []
    for i in range(n_objects // 4):
        instance = Item()
        items = [instance]
        instance.items, instance.step = items, i
        held.append((items, {"step": i, "of": instance}))
    gc.collect()
    return held


def hang_chain(n_levels: int) -> tuple[list[Item], int]:
    """Hang a list of 5,000 items ``n_levels`` holders below this module; return ten items and the list's id.

    The list itself must not be a local of a running function, or the search would end there.
    """
    grown = [Item() for _ in range(5_000)]
    top: object = grown
    for _ in range(n_levels - 3):  # the list, its item and the module's namespace are levels too
        top = Node(top)
    globals()["TOP"] = top
    return grown[-N_SUSPECTS:], id(grown)


def chain_rows(n_levels: int) -> list[dict[str, object]]:
    """Measure ten suspects in one list, ``n_levels`` holders below a module."""
    suspects, list_id = hang_chain(n_levels)
    try:
        check(suspects, list_id)
        ours = best_of(lambda: find_holders(suspects), 3)
        peer = best_of(lambda: [chain_of(suspect, suspects) for suspect in suspects], 1)
    finally:
        del globals()["TOP"]
    peer_name = "objgraph.find_backref_chain asked ten times"
    name = f"ten suspects, {n_levels} levels"
    return [{"name": name, "ours": ours, "peer": peer, "peer_name": peer_name, "ratio": peer / ours, "bound": 10}]


def chain_of(suspect: object, suspects: list[Item]) -> list[object]:
    chain: list[object] = objgraph.find_backref_chain(suspect, objgraph.is_proper_module, extra_ignore=[id(suspects)])
    return chain


def check(suspects: list[Item], list_id: int) -> None:
    """Refuse to time answers that are wrong."""
    paths = find_holders(suspects)
    if any(path.container_id != list_id or path.root != "module global" for path in paths):
        raise SystemExit(f"wrong holder: {paths[0]}")
    if not any(id(link) == list_id for link in chain_of(suspects[0], suspects)):
        raise SystemExit("objgraph did not find the list")


def rows(quick: bool) -> list[dict[str, object]]:
    """Measure and return one row a comparison; ``ours`` and ``peer`` are seconds, ``bound`` the ratio to reach."""
    held = make_heap(N_OBJECTS_QUICK if quick else N_OBJECTS)
    try:
        return [row for n_levels in (4, 6) for row in chain_rows(n_levels)]
    finally:
        held.clear()


def graph_rows(quick: bool) -> list[dict[str, object]]:
    """Measure what no peer does: a walk over an autograd graph, in microseconds a node; empty without torch."""
    try:
        import torch
    except ImportError:
        return []
    weight, total = torch.nn.Parameter(torch.randn(64, 64)), torch.zeros(())
    for _ in range(400 if quick else 4_000):
        total = total + torch.tanh(torch.randn(8, 64) @ weight).pow(2).mean()
    n_nodes = count_nodes([total], max_nodes=1_000_000)
    each_s = best_of(lambda: count_nodes([total], max_nodes=1_000_000), 3) / n_nodes
    return [{"name": "count_nodes", "us_per_node": each_s * 1e6}]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    for found in rows(quick):
        met = "met" if found["ratio"] >= found["bound"] else "NOT met"
        print(
            f"{found['name']:24} {found['ours'] * 1e3:9.1f} ms   {found['peer_name']} {found['peer'] * 1e3:10.1f} ms"
            f"   {found['ratio']:6.1f}x (bound {found['bound']}x, {met})"
        )
    for found in graph_rows(quick):
        print(f"{found['name']:24} {found['us_per_node']:6.2f} us/node")


if __name__ == "__main__":
    main()
