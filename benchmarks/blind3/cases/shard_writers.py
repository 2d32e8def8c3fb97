"""Replay is recorded to shard files with large buffers; the writers of finished shards are never closed."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import driver  # noqa: E402
import atexit
import shutil
import tempfile

import numpy as np

import phaseprof as pp

FOLDER = tempfile.mkdtemp(prefix="blind-shards-")
atexit.register(shutil.rmtree, FOLDER, True)


class Recorder:
    def __init__(self):
        self.writers = {}
        self.index = []
        self.rng = np.random.default_rng(0)

    @pp.profile_phase("record")
    def record(self, generation):
        for stream in ("observations", "actions"):
            writer = open(f"{FOLDER}/{stream}-{generation:04}.bin", "wb", buffering=256 * 1024)
            self.writers[stream, generation] = writer
            if generation % 7 == 0:
                self.index.clear()
            self.index += [(stream, generation, offset) for offset in range(0, 204_800, 200)]
            for _ in range(50):
                writer.write(self.rng.bytes(4_096))
            if not driver.LEAK and (stream, generation - 2) in self.writers:
                self.writers.pop((stream, generation - 2)).close()
        driver.work(10)


def main():
    recorder = Recorder()
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            driver.work(45)
        recorder.record(generation)
        with pp.profile_phase("train"):
            driver.work(45)
    driver.finish()


main()
