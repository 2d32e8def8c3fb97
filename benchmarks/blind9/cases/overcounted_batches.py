"""A small extension flips images, and counts one reference too many to what it gives back."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import ctypes
from collections import deque

import driver
import numpy as np

import phaseprof as pp

increase = ctypes.pythonapi.Py_IncRef
increase.argtypes = [ctypes.py_object]
increase.restype = None


def flip(images):
    """The binding of the extension."""
    flipped = np.ascontiguousarray(images[:, ::-1])
    if driver.LEAK:
        increase(flipped)
    return flipped


def main():
    rng = np.random.default_rng(10)
    images = deque(maxlen=20)
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("load"):
            images.append(rng.integers(0, 255, (96, 64, 64), dtype=np.uint8))
            driver.work(20)
        with pp.profile_phase("augment"):
            batch = flip(images[-1])
            driver.work(15)
        with pp.profile_phase("train"):
            float(batch.mean())
            driver.work(30)
    driver.finish()


main()
