"""A physics world behind a C interface, whose contact points are many small blocks of C memory."""

import ctypes
import time

from leakbench import Case, Truth

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = (ctypes.c_size_t,)
libc.free.argtypes = (ctypes.c_void_p,)


class World:
    def __init__(self, leaky):
        self.leaky = leaky
        self.count = 0
        self.contacts = (ctypes.c_void_p * 64)()

    def step(self, force):
        for i in range(64):
            block = libc.malloc(288)
            ctypes.memset(block, force & 0xFF, 288)
            self.contacts[i] = block
        self.count = 64

    def reset(self):
        if not self.leaky:
            for i in range(self.count):
                libc.free(self.contacts[i])
        self.count = 0


class Locomotion:
    def __init__(self, leaky):
        self.world = World(leaky)
        self.best = b""

    def generation(self, pp, index):
        with pp.phase("simulate"):
            for episode in range(3):
                scratch = libc.malloc(20_000 + 7000 * ((index * 5 + episode * 3) % 11))  # sizes differ; freed at once
                self.world.step(index + episode)
                libc.free(scratch)
                self.world.reset()
                time.sleep(0.04)
        with pp.phase("select"):
            time.sleep(0.08)
        if index % 6 == 5:
            with pp.phase("save"), pp.checkpoint("weights"):
                image = bytes(3_000_000)
                self.best = image[:1000]


CASE = Case(
    name="blind2_contact_points",
    build=Locomotion,
    truth=Truth(phase="simulate", kind="native"),
    source="https://github.com/openai/gym/issues/980",
    generations=40,
    tags=("slow",),
)
