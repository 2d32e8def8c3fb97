"""Healthy: blocks of many sizes come and go, and a few small ones that stay a while pin the pages around them.

The C heap grows at first and then serves every round from what it has.
"""

import ctypes
import random

from leakbench import Case, Truth

BLOCKS, STAY = 12_000, 40


class Simulator:
    def __init__(self, leaky):
        self.random = random.Random(0)
        self.libc = ctypes.CDLL(None)
        self.libc.malloc.restype = ctypes.c_void_p
        self.libc.free.argtypes = [ctypes.c_void_p]
        self.staying = []
        self.energy = 0.0

    def generation(self, pp, index):
        with pp.phase("simulate"):
            blocks = []
            for _ in range(BLOCKS):
                size = self.random.randint(64, 4096)
                block = self.libc.malloc(ctypes.c_size_t(size))
                ctypes.memset(block, 0, size)
                blocks.append(block)
            for block in self.staying:
                self.libc.free(block)
            self.staying = blocks[::STAY]
            for i, block in enumerate(blocks):
                if i % STAY:
                    self.libc.free(block)
        with pp.phase("train_step"):
            for _ in range(2000):
                self.energy += 1e-3 * (self.random.random() - self.energy)


CASE = Case(
    name="fragmented_heap",
    build=Simulator,
    truth=Truth(phase="", kind="native"),
    source="synthetic",
    leaky_build=False,
)
