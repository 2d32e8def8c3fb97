"""Recorders hand their recordings over as open files, through a socket; the learner reads what is in them."""

import os
import socket
import sys
import tempfile
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Recorder:
    """What would be another program, at the other end of the socket."""

    def __init__(self, end, rng):
        self.end = end
        self.rng = rng

    def record(self, steps):
        with tempfile.TemporaryFile(dir=".") as file:
            file.write(self.rng.random((steps, 10)).tobytes())
            file.flush()
            socket.send_fds(self.end, [steps.to_bytes(4, "big")], [file.fileno()])


class Learner:
    def __init__(self, end):
        self.end = end

    def receive(self):
        message, descriptors, _, _ = socket.recv_fds(self.end, 4, 1)
        steps = int.from_bytes(message, "big")
        recording = np.frombuffer(os.pread(descriptors[0], steps * 80, 0)).reshape(steps, 10)
        if not driver.LEAK:
            os.close(descriptors[0])
        return recording


def main():
    rng = np.random.default_rng(197)
    here, there = socket.socketpair()
    recorder, learner = Recorder(there, rng), Learner(here)
    replay = deque(maxlen=80)
    returns = deque(maxlen=50)
    for generation in pp.generations(range(driver.generations(128))):
        with pp.profile_phase("record"):
            for _ in range(2):
                recorder.record(steps=int(rng.integers(60, 120)))
            driver.work(70)
        with pp.profile_phase("receive"):
            for _ in range(2):
                replay.append(learner.receive())
            driver.work(15)
        with pp.profile_phase("learn"):
            returns.append(float(np.mean([recording[:, 0].sum() for recording in replay])))
            driver.work(70)
    driver.finish()


main()
