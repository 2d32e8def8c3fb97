"""Counting live objects in a large heap, beside objgraph, guppy3 and pympler's muppy.

Run ``python -m benchmarks.bench_census [--quick]``. Every pair is measured in one process on one heap; the best of a
few rounds of this thread's CPU time counts, so that a busy machine blurs little.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable

import objgraph

from phaseprof.probes import census

N_OBJECTS, N_OBJECTS_QUICK = 1_000_000, 200_000
N_CLASSES = 20
# The most that a pass may cost, in nanoseconds an object of the heap.
MOST_NS = {"one watched class": 30, "twenty watched classes": 50, "full census": 120}


def best_of(action: Callable[[], object], rounds: int) -> float:
    """Return the shortest CPU time in seconds; results are dropped inside the measured span."""
    best = float("inf")
    for _ in range(rounds):
        start = time.thread_time()
        action()
        best = min(best, time.thread_time() - start)
    return best


def make_classes() -> list[type]:
    return [type(f"Watched{i}", (), {"__module__": __name__}) for i in range(N_CLASSES)]


def make_heap(n_objects: int, classes: list[type]) -> list[object]:
    """Make tracked objects as a trainer's heap has them: instances, dicts, lists and tuples that hold each other."""
    held: list[object] = []
    for i in range(n_objects // 4):
        instance = classes[i % len(classes)]()
        items = [instance]
        instance.items, instance.step = items, i
        held.append((items, {"step": i, "of": instance}))
    gc.collect()
    return held


def row(name: str, peer_name: str, ours: float, peer: float, *, bound: float) -> dict[str, object]:
    return {"name": name, "ours": ours, "peer": peer, "peer_name": peer_name, "ratio": peer / ours, "bound": bound}


def watched_rows(classes: list[type]) -> list[dict[str, object]]:
    one = best_of(lambda: census.watched_counts(classes[:1]), 7)
    twenty = best_of(lambda: census.watched_counts(classes), 7)
    asked_once = best_of(lambda: objgraph.count("Watched0"), 3)
    return [
        row("one watched class", "objgraph.count", one, asked_once, bound=6),
        row("twenty watched classes", "objgraph.count asked twenty times", twenty, N_CLASSES * asked_once, bound=60),
    ]


def census_rows() -> list[dict[str, object]]:
    ours = best_of(census.count_type_names, 7)
    rows = [row("full census", "objgraph.typestats", ours, best_of(objgraph.typestats, 3), bound=3.5)]
    try:
        import guppy

        rows.append(row("full census", "guppy3 heap()", ours, best_of(lambda: guppy.hpy().heap().bytype, 1), bound=6))
    except ImportError:
        pass
    try:
        from pympler import muppy, summary

        peer = best_of(lambda: summary.summarize(muppy.get_objects()), 1)
        rows.append(row("full census", "pympler.muppy", ours, peer, bound=90))
    except ImportError:
        pass
    return rows


def rows(quick: bool) -> list[dict[str, object]]:
    """Measure and return one row a comparison; ``ours`` and ``peer`` are seconds, ``bound`` the ratio to reach."""
    classes = make_classes()
    held = make_heap(N_OBJECTS_QUICK if quick else N_OBJECTS, classes)
    try:
        n_tracked = len(gc.get_objects())
        measured = [*watched_rows(classes), *census_rows()]
        return [{**found, **_per_object(found, n_tracked)} for found in measured]
    finally:
        held.clear()


def _per_object(found: dict[str, object], n_tracked: int) -> dict[str, object]:
    ns, most_ns = found["ours"] / n_tracked * 1e9, MOST_NS[found["name"]]
    note = f"{ns:.0f} ns an object of {n_tracked:,}, at most {most_ns}"
    return {"ns_per_object": ns, "most": most_ns * n_tracked / 1e9, "note": note}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    for found in rows(quick):
        met = "met" if found["ratio"] >= found["bound"] else "NOT met"
        print(
            f"{found['name']:24} {found['ours'] * 1e3:9.1f} ms {found['ns_per_object']:6.1f} ns/object   "
            f"{found['peer_name']:34} {found['peer'] * 1e3:10.1f} ms   "
            f"{found['ratio']:6.1f}x (bound {found['bound']}x, {met})"
        )


if __name__ == "__main__":
    main()
