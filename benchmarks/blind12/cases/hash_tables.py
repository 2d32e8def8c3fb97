"""States which were met in a generation are counted in a hash table of the C library."""

import ctypes
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

libc = ctypes.CDLL(None, use_errno=True)


class Table(ctypes.Structure):
    _fields_ = (("table", ctypes.c_void_p), ("size", ctypes.c_uint), ("filled", ctypes.c_uint))


class Entry(ctypes.Structure):
    _fields_ = (("key", ctypes.c_char_p), ("data", ctypes.c_void_p))


libc.hsearch_r.argtypes = (Entry, ctypes.c_int, ctypes.POINTER(ctypes.POINTER(Entry)), ctypes.POINTER(Table))
ENTER = 1
NAMES = [f"state {number:05}".encode() for number in range(4_000)]


def count(states):
    table = Table()
    if not libc.hcreate_r(12_000, ctypes.byref(table)):
        raise MemoryError
    found = ctypes.POINTER(Entry)()
    for state in states:
        libc.hsearch_r(Entry(NAMES[state], None), ENTER, ctypes.byref(found), ctypes.byref(table))
        found.contents.data = (found.contents.data or 0) + 1
    distinct = table.filled
    if not driver.LEAK:
        libc.hdestroy_r(ctypes.byref(table))
    return distinct


def main():
    rng = np.random.default_rng(27)
    window = np.zeros((40, 300, 64))
    for generation in pp.generations(range(driver.generations(120))):
        with pp.profile_phase("rollout"):
            states = rng.integers(len(NAMES), size=900).tolist()
            driver.work(45)
        with pp.profile_phase("count"):
            distinct = count(states)
            driver.work(50)
        with pp.profile_phase("learn"):
            window[generation % 40] = rng.normal(size=(300, 64)) / distinct
            driver.work(50)
    driver.finish()


main()
