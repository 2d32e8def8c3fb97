"""Recorded episodes are read from mapped files; a preview of each is looked at before the next comes."""

import mmap
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Recordings:
    def __init__(self, folder):
        self.path = Path(folder) / "episode.bin"
        self.previews = []

    def record(self, values):
        self.path.unlink(missing_ok=True)
        self.path.write_bytes(values.tobytes())

    def read(self):
        with self.path.open("rb") as file:
            mapping = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        values = np.frombuffer(mapping)
        preview = values[::512]
        self.previews.append(preview if driver.LEAK else preview.copy())
        mean = float(values.mean())
        del values, preview
        try:
            mapping.close()
        except BufferError:
            pass  # somebody still looks at it
        return mean


def main():
    rng = np.random.default_rng(32)
    window = np.zeros((50, 300, 64))
    with tempfile.TemporaryDirectory() as folder:
        recordings = Recordings(folder)
        for generation in pp.generations(range(driver.generations(160))):
            with pp.profile_phase("record"):
                recordings.record(rng.normal(size=32_768))
                driver.wait(150)
                driver.work(15)
            with pp.profile_phase("read"):
                mean = recordings.read()
                driver.work(20)
            with pp.profile_phase("train"):
                window[generation % 50] = rng.normal(size=(300, 64)) + mean
                driver.wait(210)
                driver.work(15)
        driver.finish()


main()
