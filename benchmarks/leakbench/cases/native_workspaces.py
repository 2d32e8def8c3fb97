"""A native library keeps a workspace for every input length it has met, and lengths never repeat.

Nothing in Python grows.  The healthy build pads the inputs to one of five lengths, so there are five workspaces.
"""

import ctypes

import numpy as np

from leakbench import Case, Truth

BUCKET = 4096


class NativeLibrary:
    """Stands for a kernel library: per length, one block of the C heap that is never given back."""

    def __init__(self):
        self.libc = ctypes.CDLL(None)
        self.libc.malloc.restype = ctypes.c_void_p
        self.known = np.zeros(1 << 18, dtype=bool)

    def smooth(self, signal):
        if not self.known[len(signal)]:
            self.known[len(signal)] = True
            block = self.libc.malloc(ctypes.c_size_t(len(signal) * 8))
            ctypes.memset(block, 1, len(signal) * 8)
        return float(signal.mean())


class Trainer:
    def __init__(self, leaky):
        self.leaky = leaky
        self.rng = np.random.default_rng(0)
        self.library = NativeLibrary()
        self.level = 0.0

    def generation(self, pp, index):
        with pp.phase("load"):
            lengths = 8000 + self.rng.permutation(4 * BUCKET)[:16]
            if not self.leaky:
                lengths = -(-lengths // BUCKET) * BUCKET
        with pp.phase("smooth"):
            for length in lengths:
                self.level += 0.1 * (self.library.smooth(np.ones(length)) - self.level)


CASE = Case(
    name="native_workspaces",
    build=Trainer,
    truth=Truth(
        phase="smooth", kind="native", site=("NativeLibrary.smooth",)
    ),
    source="pytorch/pytorch#32596 (a primitive cache that grows with new shapes)",
)
