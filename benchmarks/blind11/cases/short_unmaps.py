"""Observations are written into a scratch mapping by C code, one a generation, which is unmapped at its end."""

import collections
import ctypes
import mmap
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class Scratch:
    def __init__(self, count):
        self.count = count
        self.bytes = count * ctypes.sizeof(ctypes.c_double)
        access, kind = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self.address = libc.mmap(None, self.bytes, access, kind, -1, 0)
        if self.address in (None, ctypes.c_void_p(-1).value):
            raise OSError(ctypes.get_errno(), "mmap")

    def fill(self, values):
        ctypes.memmove(self.address, values.ctypes.data, self.bytes)

    def mean(self):
        return float(np.frombuffer((ctypes.c_double * self.count).from_address(self.address)).mean())

    def close(self):
        libc.munmap(self.address, self.count if driver.LEAK else self.bytes)


def main():
    rng = np.random.default_rng(20)
    means = collections.deque(maxlen=40)
    for _ in pp.generations(range(driver.generations(160))):
        with pp.profile_phase("simulate"):
            values = rng.normal(size=32_768)
            driver.work(35)
        with pp.profile_phase("observe"):
            scratch = Scratch(len(values))
            scratch.fill(values)
            means.append(scratch.mean())
            scratch.close()
            driver.work(30)
        with pp.profile_phase("learn"):
            driver.work(45)
    driver.finish()


main()
