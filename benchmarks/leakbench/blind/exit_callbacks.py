"""A writer registers its flush for the exit of the process and does not withdraw it when it is closed."""

import atexit
import time

import numpy as np

from leakbench import Case, Truth


class EpisodeWriter:
    def __init__(self, rng):
        self.buffer = rng.random((120, 300))
        atexit.register(self.flush)

    def flush(self):
        return self.buffer.nbytes

    def close(self, withdraw):
        self.flush()
        if withdraw:
            atexit.unregister(self.flush)


class Recorded:
    def __init__(self, leaky):
        self.leaky = leaky
        self.rng = np.random.default_rng(31)

    def generation(self, pp, index):
        with pp.phase("record"):
            with pp.phase("open_writer"):
                writer = EpisodeWriter(self.rng)
                time.sleep(0.1)
            with pp.phase("episode"):
                writer.buffer[0] = index
                time.sleep(0.1)
            with pp.phase("close_writer"):
                writer.close(withdraw=not self.leaky)
                del writer
                time.sleep(0.05)
        with pp.phase("learn"):
            time.sleep(0.1)


CASE = Case(
    name="blind_exit_callbacks",
    build=Recorded,
    truth=Truth(
        phase="open_writer",
        kind="arrays",
        subject="ndarray",
        also=("objects", "native"),
        subject_also=("EpisodeWriter", "method"),
    ),
    source="synthetic",
    generations=24,
)
