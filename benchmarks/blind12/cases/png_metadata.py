"""A contact sheet of the best picture is saved, with the genome which painted it in the file's text."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngInfo

import phaseprof as pp


class Gallery:
    def __init__(self, folder):
        self.path = Path(folder) / "best.png"
        self.info = PngInfo()

    def save(self, generation, picture, genome):
        if not driver.LEAK:
            self.info = PngInfo()
        self.info.add_text(f"genome {generation}", " ".join(f"{gene:.6f}" for gene in genome))
        Image.fromarray(picture).save(self.path, pnginfo=self.info)


def main():
    rng = np.random.default_rng(23)
    population = rng.normal(size=(16, 18_000))
    novelty = np.zeros((30, 20_000))
    with tempfile.TemporaryDirectory() as folder:
        gallery = Gallery(folder)
        for generation in pp.generations(range(driver.generations(110))):
            with pp.profile_phase("paint"):
                picture = (127 + 40 * population[0, :9_216]).clip(0, 255).astype(np.uint8).reshape(96, 96)
                novelty[generation % 30] = rng.normal(size=20_000)
                driver.work(55)
            with pp.profile_phase("save"):
                gallery.save(generation, picture, population[0])
                driver.work(40)
            with pp.profile_phase("breed"):
                for row in range(1, 16):
                    population[row] = population[0] + rng.normal(size=18_000) / 20
                best = int(rng.integers(16))
                population[[0, best]] = population[[best, 0]]
                driver.work(45)
        driver.finish()


main()
