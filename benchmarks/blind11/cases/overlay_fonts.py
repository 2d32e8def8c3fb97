"""Every fifth generation a frame is drawn, with the score in letters that are larger the better it is."""

import collections
import importlib.util
import io
import sys
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

FOLDER = Path(importlib.util.find_spec("matplotlib").submodule_search_locations[0])
DEJAVU = (FOLDER / "mpl-data" / "fonts" / "ttf" / "DejaVuSans.ttf").read_bytes()


class Overlay:
    def __init__(self):
        self.fonts = {}

    def font(self, size):
        if size not in self.fonts:
            self.fonts[size] = ImageFont.truetype(io.BytesIO(DEJAVU), size)
        return self.fonts[size]

    def draw(self, image, score):
        size = 10 + 8 * score
        font = self.font(size if driver.LEAK else 4 * round(size / 4))
        ImageDraw.Draw(image).text((4, 4), f"score {score:.2f}", font=font, fill=255)


def main():
    rng = np.random.default_rng(22)
    overlay = Overlay()
    frames = collections.deque(maxlen=5)
    replay = collections.deque(maxlen=30)
    for generation in pp.generations(range(driver.generations(100))):
        with pp.profile_phase("rollout"):
            replay.append(rng.normal(size=(200, 40)))
            score = float(np.abs(replay[-1]).mean() + rng.random())
            driver.work(40)
        with pp.profile_phase("draw"):
            if generation % 5 == 0:
                image = Image.fromarray(rng.integers(0, 99, (96, 160)).astype(np.uint8))
                overlay.draw(image, score)
                frames.append(image)
            driver.work(10)
        with pp.profile_phase("learn"):
            driver.work(35)
    driver.finish()


main()
