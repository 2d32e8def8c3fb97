"""Messages of the simulator, each of its own length, are read through pointers to arrays of that length."""

import ctypes
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Reader:
    def __init__(self):
        self.total = 0.0

    def length(self, count):
        return count if driver.LEAK else 1 << int(count - 1).bit_length()

    def read(self, message, count):
        kind = ctypes.c_float * self.length(count)
        body = bytearray(4 * self.length(count))
        body[: len(message)] = message
        pointer = ctypes.POINTER(kind)(kind.from_buffer(body))
        values = np.ctypeslib.as_array(pointer.contents)
        self.total += float(values[:count].sum())


def main():
    rng = np.random.default_rng(15)
    reader = Reader()
    source = rng.normal(size=30_000).astype(np.float32)
    window = np.zeros((20, 100, 96))
    for generation in pp.generations(range(driver.generations(64))):
        with pp.profile_phase("simulate"):
            counts = rng.integers(1, 30_000, size=70).tolist()
            messages = [(memoryview(source)[:count].cast("B"), count) for count in counts]
            driver.work(40)
        with pp.profile_phase("receive"):
            for message, count in messages:
                reader.read(message, count)
            driver.work(25)
        with pp.profile_phase("train"):
            window[generation % 20] = rng.normal(size=(100, 96)) + reader.total * 1e-9
            driver.work(45)
    driver.finish()


main()
