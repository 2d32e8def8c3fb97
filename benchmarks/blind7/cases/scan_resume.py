"""Each member of the population looks for the newest of its checkpoints and goes on from there."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import os
import pickle

import numpy as np

MEMBERS = 6


class Resumer:
    def __init__(self, root):
        self.root = root
        self.scans = []

    def prepare(self, member):
        folder = os.path.join(self.root, f"member_{member}")
        os.makedirs(folder, exist_ok=True)
        for step in range(30):
            with open(os.path.join(folder, f"step_{step:04d}.pt"), "wb") as file:
                file.write(pickle.dumps({"step": step}))
        return folder

    def any_checkpoint(self, folder):
        scan = os.scandir(folder)
        found = next((entry.path for entry in scan if entry.name.startswith("step_")), None)
        if driver.LEAK:
            self.scans.append(scan)  # so that a broken one can be passed over later
        else:
            scan.close()
        return found


def main():
    rng = np.random.default_rng(4)
    resumer = Resumer(os.path.join(os.getcwd(), "run"))
    folders = [resumer.prepare(member) for member in range(MEMBERS)]
    buffer = np.zeros((60_000, 16))
    filled = 0
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("rollout"):
            for i in range(2_500):
                if i % 500 == 0:
                    buffer[filled:filled + 500] = rng.normal(size=(500, 16))
                    filled = (filled + 500) % 60_000
            driver.work(35)
        with pp.profile_phase("resume"):
            for folder in folders[:4]:
                path = resumer.any_checkpoint(folder)
                with open(path, "rb") as file:
                    pickle.load(file)
            driver.work(15)
        with pp.profile_phase("train"):
            driver.work(40)
    driver.finish()


main()
