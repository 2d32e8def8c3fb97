"""Long games are spilled to temporary files and read back when they are learnt from."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import tempfile
from collections import deque

import driver
import numpy as np

import phaseprof as pp


class Spill:
    def __init__(self):
        self.waiting = deque()
        self.files = []

    def put(self, game):
        file = tempfile.TemporaryFile()  # noqa: SIM115
        file.write(game.tobytes())
        self.waiting.append((len(self.files), game.shape))
        self.files.append(file)

    def take(self):
        number, shape = self.waiting.popleft()
        file = self.files[number]
        file.seek(0)
        game = np.frombuffer(file.read()).reshape(shape)
        if not driver.LEAK:
            file.close()
            self.files[number] = None
        return game


def main():
    rng, spill = np.random.default_rng(21), Spill()
    recent = deque(maxlen=20)
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("play"):
            recent.append(rng.normal(size=(150, 200)))
            driver.work(20)
        with pp.profile_phase("spill"):
            for _ in range(2):
                spill.put(recent[-1])
            driver.work(10)
        with pp.profile_phase("learn"):
            for _ in range(2):
                spill.take()
            driver.work(30)
    driver.finish()


main()
