"""Image augmentation on a thread pool; each worker has scratch arrays of its own."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

_local = threading.local()
SIDES = (40, 44, 48, 52)


def scratch(side):
    """An array to work in; one a size and worker."""
    if not hasattr(_local, "scratch"):
        _local.scratch = {}
    if driver.LEAK:
        array = np.empty((side, side))
        _local.scratch.setdefault(side, []).append(array)
        return array
    if side not in _local.scratch:
        _local.scratch[side] = [np.empty((side, side))]
    return _local.scratch[side][0]


def augment(job):
    side, seed = job
    image = scratch(side)
    image[:] = seed
    np.add(image, np.arange(side), out=image)
    image[:] = image[::-1].copy()
    return float(image.mean())


def main():
    pool = ThreadPoolExecutor(3, thread_name_prefix="augment")
    brightness = 0.0
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("list_files"):
            jobs = [(SIDES[i % 4], generation + i) for i in range(28)]
            driver.work(15)
        with pp.profile_phase("augment"):
            means = list(pool.map(augment, jobs))
            driver.work(35)
        with pp.profile_phase("train"):
            brightness += 0.1 * (sum(means) / len(means) - brightness)
            driver.work(50)
    driver.finish()
    pool.shutdown()


main()
