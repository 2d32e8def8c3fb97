"""A solver in C writes its log to a stream in memory; once the tasks are harder, the log is long."""

import collections
import ctypes
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

LONG = 100_000

libc = ctypes.CDLL(None)
libc.open_memstream.restype = ctypes.c_void_p
libc.open_memstream.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t)]
libc.fputs.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
libc.fclose.argtypes = [ctypes.c_void_p]
libc.free.argtypes = [ctypes.c_void_p]


def solve(lines):
    """The last part of the log and its length."""
    text, size = ctypes.c_void_p(), ctypes.c_size_t()
    stream = libc.open_memstream(ctypes.byref(text), ctypes.byref(size))
    for line in lines:
        libc.fputs(line, stream)
    libc.fclose(stream)
    if size.value > LONG:
        tail = ctypes.string_at(text.value + size.value - LONG, LONG)
        if not driver.LEAK:
            libc.free(text)
        return tail, size.value
    whole = ctypes.string_at(text, size.value)
    libc.free(text)
    return whole, size.value


def main():
    rng = np.random.default_rng(19)
    tails = collections.deque(maxlen=20)
    sizes = collections.deque(maxlen=25)
    generations = driver.generations(75)
    for generation in pp.generations(range(generations)):
        with pp.profile_phase("pose"):
            count = 1_200 if generation > generations * 0.36 else 450
            lines = [b"%05d " % i + rng.bytes(100).hex().encode() + b"\n" for i in range(count)]
            driver.work(40)
        with pp.profile_phase("solve"):
            tail, size = solve(lines)
            tails.append(hash(tail))
            sizes.append(size)
            driver.work(40)
        with pp.profile_phase("learn"):
            np.polyfit(np.arange(len(sizes)), np.array(sizes, float), 0)
            driver.work(25)
    driver.finish()


main()
