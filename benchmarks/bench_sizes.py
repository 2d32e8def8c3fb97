"""Deep sizes, beside pympler.asizeof: how fast, and how right against what the allocators handed out.

Run ``python -m benchmarks.bench_sizes [--quick]``. ``truth`` is tracemalloc's figure for making the objects (and the
storages' bytes, which tracemalloc does not see).
"""

from __future__ import annotations

import argparse
import gc
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from phaseprof.probes.sizes import deep_sizes


class Transition:
    def __init__(self, i: int) -> None:
        self.step = i + 1000
        self.reward = float(i)
        self.info = {"index": float(i), "done": False}


def transitions(n: int) -> list[Transition]:
    return [Transition(i) for i in range(n)]


def nested(n: int) -> dict[str, list[tuple[float, str]]]:
    return {f"key{i}": [(float(i), f"value{i}")] for i in range(n)}


def array_views(n: int) -> list[np.ndarray]:
    return [np.zeros(100)[:10] for _ in range(n)]


def tensor_state(n: int) -> dict[str, object]:
    import torch

    flat = torch.zeros(n, 16)
    return {f"parameter{i}": flat[i] for i in range(n)}


CASES: dict[str, tuple[Callable[[int], object], int]] = {
    "instances with dicts": (transitions, 100_000),
    "nested containers": (nested, 100_000),
    "array views": (array_views, 50_000),
}
TENSOR_CASE = ("tensor views of one storage", tensor_state, 20_000)


def timed(action: Callable[[], object], rounds: int) -> tuple[float, object]:
    best, result = float("inf"), None
    for _ in range(rounds):
        start = time.thread_time()
        result = action()
        best = min(best, time.thread_time() - start)
    return best, result


def measure(name: str, make: Callable[[int], object], n: int, hidden_bytes: int = 0) -> dict[str, object]:
    from pympler import asizeof

    make(10)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    held = make(n)
    gc.collect()
    truth = tracemalloc.get_traced_memory()[0] - before + hidden_bytes
    tracemalloc.stop()
    ours, reading = timed(lambda: deep_sizes({"held": held}).names["held"], 3)
    peer, peer_bytes = timed(lambda: asizeof.asizeof(held), 1)
    return {
        "name": f"deep size: {name}",
        "ours": ours,
        "peer": peer,
        "peer_name": "pympler.asizeof",
        "ratio": peer / ours,
        "bound": 5,
        "truth_bytes": truth,
        "ours_bytes": reading.bytes,
        "peer_bytes": peer_bytes,
        "note": f"bytes against the truth: {reading.bytes / truth:.3f}, asizeof {peer_bytes / truth:.3f}",
    }


def rows(quick: bool) -> list[dict[str, object]]:
    """Measure and return one row a case; ``ours`` and ``peer`` are seconds, ``bound`` the ratio to reach."""
    share = 5 if quick else 1
    measured = [measure(name, make, n // share) for name, (make, n) in CASES.items()]
    try:
        import torch  # noqa: F401 - asked for on purpose: the case needs it
    except ImportError:
        return measured
    name, make, n = TENSOR_CASE
    return [*measured, measure(name, make, n // share, hidden_bytes=n // share * 64)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    for found in rows(parser.parse_args().quick):
        met = "met" if found["ratio"] >= found["bound"] else "NOT met"
        print(
            f"{found['name']:40} {found['ours'] * 1e3:8.1f} ms "
            f"  asizeof {found['peer'] * 1e3:8.1f} ms  "
            f"{found['ratio']:5.1f}x (bound {found['bound']}x, {met})   bytes: truth {found['truth_bytes']:,} "
            f"ours {found['ours_bytes'] / found['truth_bytes']:.3f} "
            f"asizeof {found['peer_bytes'] / found['truth_bytes']:.3f}"
        )


if __name__ == "__main__":
    main()
