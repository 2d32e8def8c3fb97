"""Trials of a search write logs of their own; each is followed by a `tail` for the console."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import os
import subprocess

import numpy as np


class Trial:
    def __init__(self, number):
        self.number = number
        self.log = f"trial-{number}.log"
        with open(self.log, "w") as file:
            file.write("started\n")
        # it ends with us at the latest
        nowhere = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        self.tail = subprocess.Popen(["tail", "-n0", "-f", f"--pid={os.getpid()}", self.log], **nowhere)

    def report(self, score):
        with open(self.log, "a") as file:
            file.write(f"{score}\n")

    def stop(self, pruned):
        if driver.LEAK and pruned:
            return
        self.tail.terminate()
        self.tail.wait()


class Search:
    def __init__(self):
        self.trials = []
        self.started = 0

    def fill(self):
        while len(self.trials) < 6:
            self.started += 1
            self.trials.append(Trial(self.started))

    def prune(self, scores):
        """The worst and the one that is done make room."""
        worst = self.trials[int(np.argmin(scores))]
        self.trials.remove(worst)
        worst.stop(pruned=True)
        self.trials.pop(0).stop(pruned=False)


def main():
    rng = np.random.default_rng(0)
    search = Search()
    surrogate = []
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("suggest"):
            search.fill()
            driver.work(15)
        with pp.profile_phase("train"):
            scores = rng.random(len(search.trials))
            for trial, score in zip(search.trials, scores):
                trial.report(score)
            driver.work(50)
        with pp.profile_phase("prune"):
            if generation % 2:
                search.prune(scores)
            surrogate.append(rng.random(30_000))
            del surrogate[:-24]
            driver.work(15)
    driver.finish()


main()
