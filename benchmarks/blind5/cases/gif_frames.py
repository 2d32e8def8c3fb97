"""The videos of evaluations are drawn with Pillow and saved as GIF."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import math

from PIL import Image, ImageDraw

SIZE = (400, 240)


class Recorder:
    def __init__(self):
        self.frames = []

    def draw(self, angle):
        image = Image.new("RGB", SIZE, "white")
        pen = ImageDraw.Draw(image)
        pen.line([(200, 120), (200 + 90 * math.sin(angle), 120 + 90 * math.cos(angle))], fill="black", width=6)
        self.frames.append(image)

    def save(self, path):
        small = [frame.resize((50, 30)) for frame in self.frames[-4:]]
        small[0].save(path, save_all=True, append_images=small[1:])
        if not driver.LEAK:
            self.frames.clear()


def main():
    recorder = Recorder()
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("train"):
            driver.work(45)
        with pp.profile_phase("evaluate"):
            with pp.profile_phase("render"):
                for step in range(4):
                    recorder.draw(generation + 0.3 * step)
                driver.work(25)
            with pp.profile_phase("save_video"):
                recorder.save("evaluation.gif")
                driver.work(15)
    driver.finish()


main()
