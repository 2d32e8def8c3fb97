"""What a simulator in C prints is caught by turning standard output to a file for a while."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import collections
import contextlib
import os
import tempfile

import numpy as np


@contextlib.contextmanager
def captured(lines):
    with tempfile.TemporaryFile() as file:
        saved = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            yield
        finally:
            os.dup2(saved, 1)
            if not driver.LEAK:
                os.close(saved)
        file.seek(0)
        lines.extend(file.read().decode().splitlines())


class Simulator:
    """It prints with write(2), as C does."""

    def __init__(self, number):
        self.number = number
        self.rng = np.random.default_rng(number)

    def run(self):
        states = np.cumsum(self.rng.normal(size=(200, 24)), axis=0)
        for step in range(0, 200, 20):
            os.write(1, f"sim {self.number} step {step} energy {float(states[step, 0]):.3f} {'contact ' * 40}\n".encode())
        return states


def main():
    simulators = [Simulator(i) for i in range(5)]
    log = collections.deque(maxlen=1_200)
    replay = [None] * 110
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("simulate"):
            for simulator in simulators:
                with captured(log):
                    states = simulator.run()
                replay[(generation * 5 + simulator.number) % 110] = states
            driver.work(35)
        with pp.profile_phase("learn"):
            sum(float(one.mean()) for one in replay if one is not None)
            driver.work(55)
        with pp.profile_phase("log"):
            sum("contact" in line for line in log)
            driver.work(10)
    driver.finish()


main()
