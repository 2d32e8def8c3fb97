"""Candidates are checked by short programs, which are awaited through their process descriptors."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import os
import select
import subprocess
from collections import deque

import driver
import numpy as np

import phaseprof as pp


def run_checked(command, seconds):
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    watch = os.pidfd_open(child.pid)
    ready, _, _ = select.select([watch], [], [], seconds)
    if not ready:
        child.kill()
    code = child.wait()
    if not driver.LEAK:
        os.close(watch)
    return code


def main():
    rng = np.random.default_rng(2)
    archive = deque(maxlen=18)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("mutate"):
            archive.append(rng.normal(size=(120, 300)))
            driver.work(30)
        with pp.profile_phase("score"):
            driver.work(25)
        if generation % 3 == 2:
            with pp.profile_phase("check"):
                for _ in range(5):
                    run_checked(["true"], 5.0)
                driver.work(10)
    driver.finish()


main()
