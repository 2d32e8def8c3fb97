"""A simulator which only flushes on a terminal is started under a pseudo-terminal for each evaluation."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import collections
import os
import subprocess

import driver
import numpy as np

import phaseprof as pp


def simulate(seed):
    master, slave = os.openpty()
    process = subprocess.Popen(["echo", f"return {seed * 0.5}"], stdout=slave, stdin=subprocess.DEVNULL)
    process.wait()
    line = os.read(master, 1024).decode()
    os.close(slave)
    if not driver.LEAK:
        os.close(master)
    return float(line.split()[1])


def main():
    rng = np.random.default_rng(0)
    elites = collections.deque(maxlen=20)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("mutate"):
            elites.append(rng.normal(size=100_000))
            driver.work(30)
        with pp.profile_phase("simulate"):
            returns = [simulate(2 * generation + k) for k in range(2)]
            driver.work(15)
        with pp.profile_phase("select"):
            elites[-1][:2] = returns
            driver.work(20)
    driver.finish()


main()
