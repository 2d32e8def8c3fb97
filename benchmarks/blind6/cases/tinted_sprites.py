"""An environment drawn from sprites, tinted by the light of the hour."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import collections

import numpy as np
from PIL import Image, ImageChops

SPRITES, SIDE = 10, 64
Frame = collections.namedtuple("Frame", "pixels hour")


class Renderer:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        pixels = self.rng.integers(0, 255, (SPRITES, SIDE, SIDE, 4), dtype=np.uint8)
        self.sprites = [Image.fromarray(one) for one in pixels]
        self._tinted = {}

    def light(self, hour):
        level = 0.5 + 0.5 * np.sin(hour / 24 * np.pi)
        return level if driver.LEAK else round(level * 20) / 20

    def tinted(self, number, light):
        key = number, light
        if key not in self._tinted:
            colour = tuple(int(255 * light) for _ in range(3)) + (255,)
            self._tinted[key] = ImageChops.multiply(self.sprites[number], Image.new("RGBA", (SIDE, SIDE), colour))
        return self._tinted[key]

    def draw(self, hour):
        frame = Image.new("RGBA", (160, 160))
        light = self.light(hour)
        for number in self.rng.choice(SPRITES, 4, replace=False):
            frame.alpha_composite(self.tinted(int(number), light), tuple(int(v) for v in self.rng.integers(0, 96, 2)))
        return Frame(np.asarray(frame.convert("L")), hour)


def main():
    renderer = Renderer(15)
    replay = collections.deque(maxlen=200)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("render"):
            frames = [renderer.draw(float(hour)) for hour in renderer.rng.uniform(0, 24, 12)]
            driver.work(30)
        with pp.profile_phase("store"):
            replay.extend(frames)
            frames = None
            driver.work(10)
        with pp.profile_phase("learn"):
            driver.work(55)
    driver.finish()


main()
