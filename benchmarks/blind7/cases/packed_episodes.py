"""Episodes are packed while they run, one compressor for each."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import bz2
import random

import numpy as np

ENVS = 3


class Recorder:
    def __init__(self):
        self.running = {}  # token of the episode -> [compressor, size so far]
        self.packed = 0

    def step(self, token, chunk):
        entry = self.running.get(token)
        if entry is None:
            entry = self.running[token] = [bz2.BZ2Compressor(1), 0]
        entry[1] += len(entry[0].compress(chunk))

    def terminated(self, token):
        compressor, size = self.running.pop(token)
        self.packed += size + len(compressor.flush())

    def truncated(self, token):
        """Not worth keeping."""
        if not driver.LEAK:
            del self.running[token]


def main():
    rng = random.Random(2)
    source = np.random.default_rng(2)
    recorder = Recorder()
    window = []
    token = 0
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("play"):
            episodes = [source.integers(0, 12, size=150_000, dtype=np.uint8) for _ in range(ENVS)]
            window.append(source.random(60_000))
            del window[:-20]
            driver.work(15)
        with pp.profile_phase("record"):
            for episode in episodes:
                token += 1
                for part in np.array_split(episode, 3):
                    recorder.step(token, part.tobytes())
                if rng.random() < 0.45:
                    recorder.truncated(token)
                else:
                    recorder.terminated(token)
        with pp.profile_phase("learn"):
            driver.work(25)
    driver.finish()


main()
