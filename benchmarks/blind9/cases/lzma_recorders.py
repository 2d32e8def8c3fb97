"""Episodes are recorded compressed, each through a compressor of its own until it ends."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import lzma
from collections import deque

import driver
import numpy as np

import phaseprof as pp


class Recorder:
    def __init__(self):
        self.streams = {}
        self.written = 0

    def begin(self, episode):
        self.streams[episode] = lzma.LZMACompressor(preset=0)

    def step(self, episode, observation):
        self.written += len(self.streams[episode].compress(observation))

    def end(self, episode, terminated):
        if not terminated and driver.LEAK:  # cut off by the limit of steps: nothing to flush
            return
        self.written += len(self.streams.pop(episode).flush())


def main():
    rng, recorder = np.random.default_rng(11), Recorder()
    replay = deque(maxlen=20)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("play"):
            replay.append(rng.integers(0, 9, (30, 8_000), dtype=np.uint8))
            driver.work(20)
        with pp.profile_phase("record"):
            for number in range(2):
                episode = (generation, number)
                recorder.begin(episode)
                for observation in replay[-1][number::2]:
                    recorder.step(episode, observation.tobytes())
                recorder.end(episode, terminated=number == 0)
            driver.work(10)
        with pp.profile_phase("learn"):
            driver.work(20)
    driver.finish()


main()
