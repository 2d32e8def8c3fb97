"""How often the verdict on one series is wrong: miss and false-alarm rates over generated series.

    python benchmarks/verdict_rates.py                    400 series for each class and length
    python benchmarks/verdict_rates.py --series 50        a quick look
    python benchmarks/verdict_rates.py --only walk        the classes whose name contains a word

Every class is a mechanism; its size, pace and noise are drawn anew for each series from seeded generators.
"""

from __future__ import annotations

import argparse
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from phaseprof.verdict import judge

Floats = NDArray[np.float64]
Maker = Callable[[Generator, int], Floats]
LENGTHS = (10, 20, 30, 100, 1000)


def size(rng: Generator) -> float:
    """From one object to a gigabyte, evenly by magnitude."""
    return float(np.floor(10 ** rng.uniform(0, 9)))


def linear(rng: Generator, n: int) -> Floats:
    return np.arange(n) * size(rng)


def arrivals(rng: Generator, n: int) -> Floats:
    return rng.poisson(10 ** rng.uniform(0.7, 3), n).cumsum() * 1.0


def uneven_sizes(rng: Generator, n: int) -> Floats:
    return np.floor(size(rng) * 10 * rng.lognormal(0, 0.5, n)).cumsum()


def stairs(period: int) -> Maker:
    def make(rng: Generator, n: int) -> Floats:
        return (np.arange(n) + rng.integers(period)) // period * size(rng)

    return make


def uneven_stairs(rng: Generator, n: int) -> Floats:
    return (rng.random(n) < rng.uniform(0.25, 0.6)).cumsum() * size(rng)


def quadratic(rng: Generator, n: int) -> Floats:
    t = np.arange(n)
    return (t + t * t) * size(rng)


def saturating_and_linear(rng: Generator, n: int) -> Floats:
    return np.floor(vocabulary(rng, n) + rng.uniform(20, 200) * np.arange(n))


def fill_and_leak(rng: Generator, n: int) -> Floats:
    return replay(rng, n) + size(rng) * np.arange(n)


def late(rng: Generator, n: int) -> Floats:
    return np.maximum(np.arange(n) - rng.integers(n // 4, n // 2), 0) * size(rng)


def noisy_line(ratio: float) -> Maker:
    def make(rng: Generator, n: int) -> Floats:
        return np.arange(n) + ratio * rng.standard_normal(n)

    return make


def persistent_line(rng: Generator, n: int) -> Floats:
    return np.arange(n) + 2 * ar1(rng, n, 0.7)


def walk_with_drift(rng: Generator, n: int) -> Floats:
    return np.arange(n) + rng.standard_normal(n).cumsum()


def line_with_spikes(rng: Generator, n: int) -> Floats:
    return linear(rng, n) + (rng.random(n) < 0.1) * size(rng) * 100


def noisy_stairs(rng: Generator, n: int) -> Floats:
    return np.arange(n) // 5 * 10 + rng.standard_normal(n)


def noisy_fill_and_leak(rng: Generator, n: int) -> Floats:
    return 5 * np.minimum(np.arange(n), n // 3) + np.arange(n) + rng.standard_normal(n)


def teeth(rng: Generator, n: int, low: int = 4, high: int = 8) -> Floats:
    parts: list[Floats] = []
    while sum(map(len, parts)) < n:
        parts.append(np.arange(rng.integers(low, high + 1)) * 1.0)
    begin = rng.integers(3)
    return np.concatenate([*parts, np.arange(9.0)])[begin : begin + n]


def rising_teeth(rng: Generator, n: int) -> Floats:
    return teeth(rng, n) + rng.uniform(0.2, 1) * np.arange(n)


def healthy_teeth(rng: Generator, n: int) -> Floats:
    return teeth(rng, n) * size(rng)


def regular_teeth(rng: Generator, n: int) -> Floats:
    return (np.arange(n) + rng.integers(5)) % rng.integers(3, 9) * size(rng)


def partial_teeth(rng: Generator, n: int) -> Floats:
    """Collections of random depth: a young one leaves a random share of the garbage."""
    level, out = 0.0, []
    for _ in range(n):
        level = level + 1 if rng.random() > 0.25 else level * rng.uniform(0, 0.5)
        out.append(level)
    return np.array(out)


def noisy_teeth(rng: Generator, n: int) -> Floats:
    return teeth(rng, n) + 0.15 * rng.standard_normal(n)


def constant(rng: Generator, n: int) -> Floats:
    return np.full(n, size(rng))


def spikes(rng: Generator, n: int) -> Floats:
    return (rng.random(n) < 0.15) * size(rng)


def one_step(rng: Generator, n: int) -> Floats:
    return (np.arange(n) >= rng.integers(1, n)) * size(rng)


def two_steps(rng: Generator, n: int) -> Floats:
    return one_step(rng, n) + one_step(rng, n)


def warm_up(rng: Generator, n: int) -> Floats:
    moves = np.floor(size(rng) * 10 * rng.lognormal(0, 1, n))
    moves[6:] = 0
    return moves.cumsum()


def replay(rng: Generator, n: int) -> Floats:
    full = int(rng.integers(5, 9)) if n <= 30 else int(rng.integers(5, n // 2))
    return np.minimum(np.arange(n), full) * size(rng)


def memo(rng: Generator, n: int) -> Floats:
    cells, seen, out = int(rng.integers(30, 300)), set[int](), []
    for _ in range(n):
        seen.update(rng.integers(0, cells, int(cells * 0.7)).tolist())
        out.append(len(seen))
    return np.array(out, dtype=np.float64)


def vocabulary(rng: Generator, n: int) -> Floats:
    words = int(rng.integers(500, 4000))
    chance = 1 / np.arange(1, words + 1) ** rng.uniform(1, 1.3)
    draws = 16_000 * np.arange(1, n + 1)[:, None]
    seen = 1 - np.exp(-draws * (chance / chance.sum()))
    unseen_until = rng.random(words) < seen
    return np.maximum.accumulate(unseen_until.sum(axis=1)).astype(np.float64)


def buckets(rng: Generator, n: int) -> Floats:
    seen, out = set[int](), []
    for _ in range(n):
        seen.update(int(np.log2(length)) for length in rng.integers(1000, 60_000, 4))
        out.append(len(seen))
    return np.array(out, dtype=np.float64)


def exponential(rng: Generator, n: int) -> Floats:
    return np.floor(1e6 * (1 - np.exp(-np.arange(n) / rng.uniform(1, max(2, n / 8)))))


def ar1(rng: Generator, n: int, rho: float) -> Floats:
    out, level = [], rng.standard_normal() / np.sqrt(1 - rho * rho)
    for shock in rng.standard_normal(n):
        level = rho * level + shock
        out.append(level)
    return np.array(out)


def white(rng: Generator, n: int) -> Floats:
    return rng.standard_normal(n)


def persistent(rho: float) -> Maker:
    return lambda rng, n: ar1(rng, n, rho)


def walk(rng: Generator, n: int) -> Floats:
    return rng.standard_normal(n).cumsum()


def heavy_walk(rng: Generator, n: int) -> Floats:
    return rng.standard_t(2, n).cumsum()


def wobble(rng: Generator, n: int) -> Floats:
    return 1000.0 + rng.integers(-1, 2, n)


def retention(rng: Generator, n: int) -> Floats:
    """Pages that an allocator keeps: growth that halves every few generations, and noise of some pages."""
    level = 1e8 * (1 - np.exp(-np.arange(n) / rng.uniform(1, 3)))
    return np.round((level + 2e5 * rng.standard_normal(n)) / 4096) * 4096


def noisy_replay(rng: Generator, n: int) -> Floats:
    return np.minimum(np.arange(n), n // 3) * 5 + rng.standard_normal(n)


def noisy_step(rng: Generator, n: int) -> Floats:
    return (np.arange(n) >= rng.integers(1, n)) * 10 + rng.standard_normal(n)


LEAKS: dict[str, Maker] = {
    "exact line": linear,
    "Poisson arrivals": arrivals,
    "lognormal sizes": uneven_sizes,
    "step every 2nd": stairs(2),
    "step every 3rd": stairs(3),
    "step every 10th": stairs(10),
    "uneven steps (25-60 %)": uneven_stairs,
    "quadratic": quadratic,
    "saturating start + line": saturating_and_linear,
    "filling buffer + line": fill_and_leak,
    "begins late": late,
    "line with spikes": line_with_spikes,
    "sawtooth, rising floor": rising_teeth,
    "line, white noise 1x slope": noisy_line(1),
    "line, white noise 3x slope": noisy_line(3),
    "line, white noise 10x slope": noisy_line(10),
    "line, AR(0.7) noise 2x slope": persistent_line,
    "random walk with drift": walk_with_drift,
    "steps every 5th, noise": noisy_stairs,
    "noisy filling + line": noisy_fill_and_leak,
}
HEALTHY: dict[str, Maker] = {
    "constant": constant,
    "constant with spikes": spikes,
    "count that wobbles by one": wobble,
    "one step": one_step,
    "two steps": two_steps,
    "warm-up of 6, uneven": warm_up,
    "buffer fills": replay,
    "memo completes": memo,
    "vocabulary": vocabulary,
    "cache of size classes": buckets,
    "exponential approach": exponential,
    "sawtooth, regular": regular_teeth,
    "sawtooth, irregular": healthy_teeth,
    "sawtooth, partial drops": partial_teeth,
    "sawtooth, noisy": noisy_teeth,
    "white noise": white,
    "AR(0.5) noise": persistent(0.5),
    "AR(0.9) noise": persistent(0.9),
    "random walk": walk,
    "random walk, heavy tails": heavy_walk,
    "allocator retention": retention,
    "noisy buffer fills": noisy_replay,
    "noisy step": noisy_step,
}


def verdicts(name: str, make: Maker, n: int, series: int) -> Counter[str]:
    """Judge ``series`` series of one class and length; the seed depends on nothing but class, length and number."""
    found: Counter[str] = Counter()
    for number in range(series):
        rng = np.random.default_rng([zlib.crc32(name.encode()), n, number])
        found[judge(make(rng, n)).verdict] += 1
    return found


def print_table(title: str, classes: dict[str, Maker], series: int, *, leaky: bool) -> None:
    print(f"\n| {title} | " + " | ".join(f"n = {n}" for n in LENGTHS) + " |\n|---|" + "---:|" * len(LENGTHS))
    for name, make in classes.items():
        cells = []
        for n in LENGTHS:
            found = verdicts(name, make, n, series if n < 1000 else max(1, series // 4))
            rate = 100 * found["leak"] / found.total()
            other = next((f" {v}" for v, _ in found.most_common() if v != "leak"), "")
            wrong = 100 - rate if leaky else rate
            cells.append(f"{wrong:.1f}{other if not leaky or wrong else ''}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, default=400, help="for each class and length (a quarter at n = 1000)")
    parser.add_argument("--only", default="", help="only the classes whose name contains this")
    args = parser.parse_args(argv)
    begin = time.perf_counter()
    for title, classes, leaky in (("leak: % missed", LEAKS, True), ("healthy: % false alarms", HEALTHY, False)):
        chosen = {name: make for name, make in classes.items() if args.only in name}
        if chosen:
            print_table(title, chosen, args.series, leaky=leaky)
    print(f"\n{args.series} series a cell, {time.perf_counter() - begin:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
