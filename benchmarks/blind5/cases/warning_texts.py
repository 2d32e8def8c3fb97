"""A trainer warns of each strange sample with its values in the text."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import collections
import random
import warnings

shown = collections.deque(maxlen=50)


def show(message, category, filename, lineno, file=None, line=None):
    shown.append((category.__name__, lineno))


def check(sample, index):
    low, high = min(sample), max(sample)
    if high - low > 5:
        if driver.LEAK:
            warnings.warn(f"sample {index} is out of range: {' '.join(f'{v:.6f}' for v in sample)}", RuntimeWarning)
        else:
            warnings.warn("a sample is out of range", RuntimeWarning)
        return [v / (high - low) for v in sample]
    return sample


def prepare(rng, generation):
    total = 0.0
    for index in range(320):
        sample = [rng.gauss(0, 3) for _ in range(64)]
        total += sum(check(sample, 1000 * generation + index))
    return total


def main():
    warnings.showwarning = show
    warnings.simplefilter("default", RuntimeWarning)
    rng = random.Random(5)
    totals = collections.deque(maxlen=20)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("prepare"):
            totals.append(prepare(rng, generation))
            driver.work(20)
        with pp.profile_phase("train"):
            driver.work(55)
    driver.finish()


main()
