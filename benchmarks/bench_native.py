"""The passes in C beside the same passes in Python: counts, the heap by place, deep sizes, memory.

Run ``python -m benchmarks.bench_native [--quick]``. Both languages are measured in one process on one heap; the
best of a few rounds of this thread's CPU time counts, so that a busy machine blurs little.
"""

from __future__ import annotations

import argparse
import functools
import gc
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from bench_census import best_of, make_classes, make_heap
from phaseprof.native.extension import extension, passes_in_python
from phaseprof.native.places import read_places
from phaseprof.probes import census
from phaseprof.probes.sizes import deep_sizes

N_OBJECTS, N_OBJECTS_QUICK = 1_000_000, 200_000
HAS_CHEAP_LISTS = sys.version_info >= (3, 12)
# Ratios and figures to reach: half of the Python pass's time up to 3.11, where the collector's list is most of it.
CENSUS_RATIO = 3.0 if HAS_CHEAP_LISTS else 2.0
SIZE_RATIO = 4.0
# What a look in the loop must save beside a large library.
PART_RATIO = 10.0
PLACES_NS, PLACES_RATIO, BESIDE_TORCH_S, MEMORY_BYTES = 100, 10.0, 0.035, 48
SMAPS = Path("/proc/self/smaps_rollup")


def in_python(action: Callable[[], object]) -> Callable[[], object]:
    def run() -> object:
        with passes_in_python():
            return action()

    return run


def row(name: str, ours: float, peer: float, **more: object) -> dict[str, object]:
    return {
        "name": name,
        "ours": ours,
        "peer": peer,
        "peer_name": "the Python pass",
        "ratio": peer / max(ours, 1e-9),
        **more,
    }


def count_rows(classes: list[type]) -> list[dict[str, object]]:
    found = []
    for name, action, bound in (
        ("census in C", census.count_types, CENSUS_RATIO),
        ("one watched class in C", lambda: census.watched_counts(classes[:1]), 1.0),
        ("twenty watched classes in C", lambda: census.watched_counts(classes), 1.0),
    ):
        found.append(row(name, best_of(action, 7), best_of(in_python(action), 3), bound=bound))
    return found


class Sample:
    def __init__(self, step: int) -> None:
        self.step, self.reward, self.rows = step, 0.5 * step, [step]


def size_rows(n_objects: int) -> list[dict[str, object]]:
    containers = [{"step": float(i), "rows": [i, (float(i), i + 1)]} for i in range(n_objects // 6)]
    instances = [Sample(i) for i in range(n_objects // 4)]
    found = []
    for name, data in (("nested containers", containers), ("instances", instances)):
        measure = functools.partial(deep_sizes, {"data": data})
        note = f"{measure().total_bytes:,} bytes"
        peer = best_of(in_python(measure), 3)
        found.append(row(f"deep size of {name} in C", best_of(measure, 5), peer, bound=SIZE_RATIO, note=note))
    return found


def places_rows() -> list[dict[str, object]]:
    table = read_places()
    ours, peer = best_of(read_places, 5), best_of(in_python(read_places), 1)
    note = f"{table.n_met:,} objects met, {len(table):,} places, {ours / table.n_met * 1e9:.0f} ns an object"
    most = PLACES_NS * 1e-9 * table.n_met
    return [
        row("the heap by place in C", ours, peer, bound=PLACES_RATIO, most=most, note=note),
        memory_row(table.n_met),
    ]


def memory_row(n_met: int) -> dict[str, object]:
    """Return the most memory that a walk takes while it runs, in a child, whose peak is its own."""
    per_object = in_child(lambda: _peak_of(read_places)) / n_met
    return {
        "name": "memory of a walk by place, for each object met", "ours": per_object, "peer": None, "peer_name": "",
        "ratio": None, "bound": None, "unit": "bytes", "most": MEMORY_BYTES,
    }  # fmt: skip


def _peak_of(action: Callable[[], object]) -> float:
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here on
    before = _status("VmRSS")
    action()
    return _status("VmHWM") - before


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024


def in_child(measure: Callable[[], float]) -> float:
    """Return what a function measures in a forked child."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, repr(measure()).encode())
        finally:
            os._exit(0)
    os.close(write)
    answer = os.read(read, 100)
    os.close(read)
    os.waitpid(child, 0)
    return float(answer)


def _private() -> int:
    return sum(int(line.split()[1]) for line in SMAPS.read_text().splitlines() if line.startswith("Private_")) * 1024


def _grown_by(action: Callable[[], object]) -> float:
    before = _private()
    action()
    return max(0, _private() - before)


def fork_row() -> dict[str, object]:
    """Return what of a forked child's memory becomes its own by a walk, in C and in Python."""
    ours = in_child(lambda: _grown_by(read_places))
    peer = in_child(lambda: _grown_by(in_python(read_places)))
    return row(
        "memory that a walk in a forked child makes its own", ours, peer, unit="bytes", most=_status("VmRSS") / 100
    )


TORCH = """
import time, torch
from phaseprof.native.places import read_places
from phaseprof.native.extension import passes_in_python
def best(action, rounds):
    least = 9e9
    for _ in range(rounds):
        begin = time.thread_time(); action(); least = min(least, time.thread_time() - begin)
    return least
def main():
    model = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(50)))
    optimizer = torch.optim.Adam(model.parameters())
    envs = [[object() for _ in range(50)] for _ in range(200)]
    part = read_places(libraries=False)
    return best(lambda: read_places(libraries=False), 7), best(read_places, 7), part.n_met, len(part)
table = read_places()
ours = best(read_places, 7)
with passes_in_python(): peer = best(read_places, 1)
print(ours, peer, table.n_met, len(table), *main())
"""


def torch_rows() -> list[dict[str, object]]:
    done = subprocess.run([sys.executable, "-c", TORCH], capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        return []
    ours, peer, n_met, n_places, part, whole, n_part, n_part_places = map(float, done.stdout.split())
    note = f"{n_met:,.0f} objects met, {n_places:,.0f} places"
    beside = f"{n_part:,.0f} objects met, {n_part_places:,.0f} places: a model, its optimizer, 10,000 objects"
    return [
        row("the heap by place beside torch, in C", ours, peer, bound=PLACES_RATIO, most=BESIDE_TORCH_S, note=note),
        row(
            "what a program reaches beside torch, in C", part, whole,
            bound=PART_RATIO, peer_name="the whole heap", note=beside,
        ),
    ]  # fmt: skip


def rows(quick: bool) -> list[dict[str, object]]:
    """Measure everything; empty where there is no extension."""
    if extension() is None:
        return []
    classes = make_classes()
    held = make_heap(N_OBJECTS_QUICK if quick else N_OBJECTS, classes)
    found = [*count_rows(classes), *places_rows(), *size_rows(int(0.4 * len(held) * 4))]
    if SMAPS.exists():
        found.append(fork_row())
    held.clear()
    gc.collect()
    return found + torch_rows()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    for one in rows(parser.parse_args().quick):
        print(one)


if __name__ == "__main__":
    main()
