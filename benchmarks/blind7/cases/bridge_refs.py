"""The simulator in C borrows frames of ours: the bridge takes a reference for as long as an episode runs."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import ctypes
import random

import numpy as np

take = ctypes.pythonapi.Py_IncRef
give = ctypes.pythonapi.Py_DecRef
for function in (take, give):
    function.argtypes = [ctypes.py_object]
    function.restype = None


class Bridge:
    """What the simulator was handed, by the number of its environment."""

    def __init__(self, environments):
        self.frames = [None] * environments

    def reset(self, index, frame):
        self.done(index)
        take(frame)
        self.frames[index] = frame

    def done(self, index):
        frame, self.frames[index] = self.frames[index], None
        if frame is not None:
            give(frame)

    def crashed(self, index):
        """The simulator has gone, with all that was its own."""
        if driver.LEAK:
            self.frames[index] = None
        else:
            self.done(index)


def main():
    rng = random.Random(8)
    source = np.random.default_rng(8)
    bridge = Bridge(16)
    replay = []
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            for index in range(16):
                bridge.reset(index, source.random((3, 64, 64)))
                driver.work(2)
                if rng.random() < 0.5:
                    bridge.crashed(index)
            replay.append(source.random((120, 400)))
            del replay[:-26]
        with pp.profile_phase("update"):
            driver.work(45)
        with pp.profile_phase("evaluate"):
            driver.work(15)
    driver.finish()


main()
