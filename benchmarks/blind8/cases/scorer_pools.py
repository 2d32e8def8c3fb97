"""Answers of a language model are scored in parallel by a judge, in a pool of threads for the size of the batch."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import collections
from multiprocessing.pool import ThreadPool

import driver
import numpy as np

import phaseprof as pp


def score(answer):
    return float(np.sqrt(np.abs(answer)).mean())


class Judge:
    def __init__(self):
        self.pools = {}

    def judge(self, answers):
        if not driver.LEAK:
            with ThreadPool(2) as pool:
                scores = pool.map(score, answers)
            pool.join()
            return scores
        if len(answers) not in self.pools:
            self.pools[len(answers)] = ThreadPool(2)
        return self.pools[len(answers)].map(score, answers)


def main():
    rng = np.random.default_rng(0)
    judge = Judge()
    best = collections.deque(maxlen=25)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("sample"):
            answers = list(rng.normal(size=(20 + 37 * generation % 61, 2_000)))
            driver.work(30)
        with pp.profile_phase("judge"):
            scores = judge.judge(answers)
            driver.work(10)
        with pp.profile_phase("update"):
            best.append(np.array([answers[i] for i in np.argsort(scores)[-16:]]))
            driver.work(25)
    driver.finish()


main()
