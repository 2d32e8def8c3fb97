"""Every generation brings a new kind of world, with an encoder of its own that is chosen by the kind."""

import collections
import functools
import gc
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


def new_dispatcher():
    @functools.singledispatch
    def encode(world):
        raise TypeError(type(world))

    return encode


SHARED = new_dispatcher()


def new_kind(encode, rng):
    features = rng.normal(size=(400, 120))

    class World:
        def __init__(self, cells):
            self.cells = cells

    encode.register(World, lambda world: features[world.cells].mean(0))
    return World


def main():
    rng = np.random.default_rng(6)
    replay = collections.deque(maxlen=20)
    policy = np.zeros(120)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("design"):
            encode = SHARED if driver.LEAK else new_dispatcher()
            kind = new_kind(encode, rng)
            driver.work(25)
        with pp.profile_phase("play"):
            worlds = [kind(rng.integers(0, 400, 50)) for _ in range(40)]
            replay.append(np.stack([encode(world) for world in worlds]))
            driver.work(35)
        with pp.profile_phase("learn"):
            policy += 0.05 * replay[-1].mean(0)
            if generation % 4 == 3:
                gc.collect()
            driver.work(25)
    driver.finish()


main()
