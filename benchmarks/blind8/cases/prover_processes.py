"""Every third generation new theories are verified by an interactive prover, a process for each theory."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import collections
import subprocess

import driver
import numpy as np

import phaseprof as pp


class Verifier:
    def __init__(self):
        self.provers = {}

    def prover(self, theory):
        if theory not in self.provers:
            self.provers[theory] = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self.provers[theory]

    def verify(self, theory, goals):
        prover = self.prover(theory)
        answers = []
        for goal in goals:
            print(goal, file=prover.stdin, flush=True)
            answers.append(prover.stdout.readline().strip() == goal)
        if not driver.LEAK:
            prover.stdin.close()
            prover.stdout.close()
            prover.wait()
            del self.provers[theory]
        return answers


def main():
    rng = np.random.default_rng(0)
    verifier = Verifier()
    proofs = collections.deque(maxlen=20)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("conjecture"):
            proofs.append(rng.normal(size=100_000))
            driver.work(35)
        if generation % 3 == 1:
            with pp.profile_phase("verify"):
                for k in range(2):
                    verifier.verify(f"theory-{generation}-{k}", [f"goal {n}" for n in range(20)])
                driver.work(25)
        with pp.profile_phase("train"):
            driver.work(30)
    driver.finish()


main()
