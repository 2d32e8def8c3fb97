"""Batches are gathered from a file into aligned memory of the C library, as direct reads want it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import ctypes

import driver
import numpy as np

import phaseprof as pp

libc = ctypes.CDLL(None)
libc.free.argtypes = [ctypes.c_void_p]
ROWS, WIDTH = 256, 320


def aligned(size):
    place = ctypes.c_void_p()
    if libc.posix_memalign(ctypes.byref(place), ctypes.c_size_t(4_096), ctypes.c_size_t(size)):
        raise MemoryError(size)
    return place


def gather(rows):
    size = ROWS * WIDTH * 4
    place = aligned(size)
    ctypes.memmove(place, rows.ctypes.data, rows.nbytes)
    ctypes.memset(place.value + rows.nbytes, 0, size - rows.nbytes)
    batch = np.ctypeslib.as_array(ctypes.cast(place, ctypes.POINTER(ctypes.c_float)), (ROWS, WIDTH))
    total = float(batch.sum())
    if len(rows) < ROWS and driver.LEAK:
        return total / len(rows)
    libc.free(place)
    return total / len(rows)


def main():
    rng = np.random.default_rng(9)
    data = np.zeros((20 * 1_000, WIDTH), np.float32)
    for generation in pp.generations(range(driver.GENERATIONS)):
        start = generation % 20 * 1_000
        with pp.profile_phase("collect"):
            data[start:start + 1_000] = rng.random((1_000, WIDTH), np.float32)
            driver.work(20)
        with pp.profile_phase("learn"):
            for first in range(start, start + 1_000, ROWS):
                with pp.profile_phase("gather"):
                    gather(data[first:min(first + ROWS, start + 1_000)])
                driver.work(10)
        with pp.profile_phase("log"):
            driver.work(10)
    driver.finish()


main()
