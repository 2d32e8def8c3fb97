"""Worlds which C code calls back through a handle: a set of the module keeps the handles alive while C has them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import collections

import cffi
import numpy as np

ffi = cffi.FFI()
ffi.cdef("typedef double (*step_function)(void *world, int action);")
SIZE = 96
_handles = set()


@ffi.callback("step_function")
def on_step(handle, action):
    return ffi.from_handle(handle).step(action)


class World:
    def __init__(self, tiles, rng):
        self.height_map = tiles + rng.normal(0, 0.1, (SIZE, SIZE)).astype(np.float32)
        self.where = [int(v) for v in rng.integers(0, SIZE, 2)]
        self.handle = ffi.new_handle(self)
        self.open = True
        _handles.add(self.handle)

    def step(self, action):
        axis, sign = action % 2, 1 if action < 2 else -1
        self.where[axis] = (self.where[axis] + sign) % SIZE
        return float(self.height_map[tuple(self.where)])

    def close(self):
        self.open = False
        if not driver.LEAK:
            _handles.discard(self.handle)
        self.handle = None


class Tiles:
    """The last tiles asked for."""

    def __init__(self, limit):
        self.limit = limit
        self.loaded = collections.OrderedDict()

    def get(self, number):
        if number not in self.loaded:
            self.loaded[number] = np.random.default_rng(number).normal(size=(SIZE, SIZE)).astype(np.float32)
            while len(self.loaded) > self.limit:
                self.loaded.popitem(last=False)
        self.loaded.move_to_end(number)
        return self.loaded[number]


def main():
    rng = np.random.default_rng(1)
    tiles = Tiles(200)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("reset"):
            worlds = [World(tiles.get(generation * 9 + i % 12), rng) for i in range(24)]
            driver.work(20)
        with pp.profile_phase("simulate"):
            for world in worlds:
                sum(on_step(world.handle, int(action)) for action in rng.integers(0, 4, 60))
            driver.work(35)
        with pp.profile_phase("close"):
            for world in worlds:
                world.close()
            worlds = world = None
            driver.work(10)
        with pp.profile_phase("learn"):
            driver.work(40)
    driver.finish()


main()
