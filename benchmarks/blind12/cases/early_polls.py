"""Videos of the episodes are made by small programs in the background; those that have ended are taken leave of."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Renderers:
    def __init__(self):
        self.running = []

    def start(self, seconds):
        command = ["/bin/sh", "-c", f"sleep {seconds}"]
        self.running.append(os.posix_spawn("/bin/sh", command, os.environ))

    def poll(self):
        still = []
        for pid in self.running:
            done, _ = os.waitpid(pid, os.WNOHANG)
            if not done:
                still.append(pid)
        self.running = [] if driver.LEAK else still


def main():
    rng = np.random.default_rng(21)
    renderers = Renderers()
    window = np.zeros((40, 300, 64))
    for generation in pp.generations(range(driver.generations(130))):
        with pp.profile_phase("play"):
            window[generation % 40] = rng.normal(size=(300, 64))
            driver.work(50)
        with pp.profile_phase("render"):
            renderers.start(0.005 * driver.SCALE)
            if generation % 2:
                renderers.start(0.4 * driver.SCALE)
            driver.work(60)
            renderers.poll()
        with pp.profile_phase("update"):
            window[generation % 40] -= window[generation % 40].mean(0)
            driver.work(45)
    driver.finish()
    for pid in renderers.running:
        os.waitpid(pid, 0)


main()
