"""Selection sorts the population with qsort of the C library, by a comparison in Python."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import ctypes
from collections import deque

import driver
import numpy as np

import phaseprof as pp

libc = ctypes.CDLL(None)
Comparison = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))


class Sorter:
    def __init__(self):
        self.alive = []  # a callback which dies while C calls it brings the process down

    def order(self, genomes):
        target = genomes.mean(axis=0)

        def compare(left, right):
            one, other = genomes[left[0]], genomes[right[0]]
            return -1 if one[0] - target[0] < other[0] - target[0] else 1

        callback = Comparison(compare)
        self.alive.append(callback)
        places = (ctypes.c_int * len(genomes))(*range(len(genomes)))
        libc.qsort(places, len(genomes), ctypes.sizeof(ctypes.c_int), callback)
        if not driver.LEAK:
            self.alive.remove(callback)
        return list(places)


def main():
    rng, sorter = np.random.default_rng(18), Sorter()
    hall = deque(maxlen=20)
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("breed"):
            genomes = rng.normal(size=(150, 350))
            driver.work(20)
        with pp.profile_phase("play"):
            driver.work(25)
        with pp.profile_phase("select"):
            hall.append(genomes[sorter.order(genomes)[:60]])
            driver.work(10)
    driver.finish()


main()
