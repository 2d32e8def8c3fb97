"""Videos of the evaluation episodes go through an encoder process (here: cat)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import subprocess

import numpy as np


class VideoRecorder:
    def __init__(self):
        self._encoders = []
        self.frames = 0

    def open(self):
        encoder = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self._encoders.append(encoder)
        return encoder

    def write(self, encoder, frames):
        for frame in frames:
            encoder.stdin.write(frame.tobytes())
            self.frames += 1
        encoder.stdin.flush()

    def close(self, encoder):
        encoder.stdin.close()
        encoder.wait()
        self._encoders.remove(encoder)


def main():
    rng = np.random.default_rng(6)
    recorder = VideoRecorder()
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("train"):
            driver.work(55)
        with pp.profile_phase("evaluate"):
            frames = [rng.integers(0, 255, (24, 24), dtype=np.uint8) for _ in range(8)]
            driver.work(20)
        with pp.profile_phase("record"):
            with pp.checkpoint("encode"):
                encoder = recorder.open()
                recorder.write(encoder, frames)
            if not driver.LEAK:
                recorder.close(encoder)
            driver.work(20)
    driver.finish()
    for encoder in list(recorder._encoders):
        recorder.close(encoder)


main()
