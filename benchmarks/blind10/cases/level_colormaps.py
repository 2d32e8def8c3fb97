"""Terrain is evolved, and every fifth generation the best one is painted in colours made for its heights."""

import collections
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import matplotlib
import numpy as np
from matplotlib.colors import ListedColormap

import phaseprof as pp

SHADES = 40_000


class Painter:
    def __init__(self):
        self.name = None
        self.picture = None

    def paint(self, heights, generation):
        order = np.sort(np.random.default_rng(generation).random(SHADES))
        colours = np.stack([order, 1 - order, order ** 2, np.ones(SHADES)], 1)
        if self.name and not driver.LEAK:
            matplotlib.colormaps.unregister(self.name)
        self.name = f"terrain-{generation}"
        matplotlib.colormaps.register(ListedColormap(colours, name=self.name))
        self.picture = (matplotlib.colormaps[self.name](heights) * 255).astype(np.uint8)


def main():
    rng = np.random.default_rng(7)
    painter = Painter()
    elites = collections.deque(maxlen=20)
    terrain = rng.random((96, 96))
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("mutate"):
            terrains = np.clip(terrain + 0.05 * rng.normal(size=(6, 96, 96)), 0, 1)
            driver.work(30)
        with pp.profile_phase("select"):
            terrain = terrains[int(terrains.std((1, 2)).argmax())].copy()
            elites.append(terrain)
            driver.work(35)
        with pp.profile_phase("paint"):
            if generation % 5 == 4:
                painter.paint(terrain, generation)
            driver.work(25)
    driver.finish()


main()
