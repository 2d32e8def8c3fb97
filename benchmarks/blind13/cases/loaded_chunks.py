"""Players walk through a world without an end, whose chunks are loaded around them and unloaded behind them."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Chunk:
    def __init__(self, x, y):
        rng = np.random.default_rng([x & 0xFFFF, y & 0xFFFF])
        self.blocks = rng.integers(200, size=(16, 16, 14), dtype=np.uint8)


class World:
    def __init__(self):
        self.chunks = {}

    def around(self, x, y):
        for cx in range(x - 3, x + 4):
            for cy in range(y - 3, y + 4):
                if (cx, cy) not in self.chunks:
                    self.chunks[cx, cy] = Chunk(cx, cy)

    def unload(self, players):
        for cx, cy in list(self.chunks):
            if driver.LEAK:
                far = all(abs(cx - x) > 8 and abs(cy - y) > 8 for x, y in players)
            else:
                far = all(abs(cx - x) > 8 or abs(cy - y) > 8 for x, y in players)
            if far:
                del self.chunks[cx, cy]


def main():
    rng = np.random.default_rng(113)
    world = World()
    players = [[0, 100 * i] for i in range(4)]
    views = deque(maxlen=60)
    for _ in pp.generations(range(driver.generations(180))):
        with pp.profile_phase("walk"):
            for lane, player in enumerate(players):
                for _ in range(2):
                    player[0] += 0 if rng.random() < 0.3 else 1
                    player[1] = 100 * lane + int(rng.integers(-2, 3))
                    world.around(*player)
                views.append(world.chunks[tuple(player)].blocks[0].copy())
            world.unload(players)
            driver.wait(220)
            driver.work(20)
        with pp.profile_phase("train"):
            driver.wait(100)
            driver.work(20)
    driver.finish()


main()
