"""Rounds of evaluation by threads; the queues are those of multiprocessing, as the evaluators may be processes too."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import collections
import multiprocessing
import threading

import numpy as np


def evaluator(tasks, results):
    while True:
        seed = tasks.get()
        if seed is None:
            return
        results.put((seed, float(np.random.default_rng(seed).normal(size=2_000).mean())))


class Round:
    def __init__(self, number):
        self.number = number
        self.tasks = multiprocessing.Queue()
        self.results = multiprocessing.Queue()
        self.scores = {}

    def run(self, seeds):
        threads = [threading.Thread(target=evaluator, args=(self.tasks, self.results)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for seed in seeds:
            self.tasks.put(seed)
        for _ in seeds:
            seed, score = self.results.get()
            self.scores[seed] = score
        for _ in threads:
            self.tasks.put(None)
        for thread in threads:
            thread.join()

    def close(self):
        for one in (self.tasks, self.results):
            one.close()
            one.join_thread()


class Tournament:
    def __init__(self):
        self.rounds = []
        self.best = collections.deque(maxlen=20)

    def play(self, number, seeds):
        one = Round(number)
        one.run(seeds)
        if driver.LEAK:
            self.rounds.append(one)  # with its scores, for the table at the end
        else:
            one.close()
        self.best.append(max(one.scores.values()))


def main():
    rng = np.random.default_rng(22)
    tournament = Tournament()
    history = np.zeros((20, 40_000))
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("train"):
            history[generation % 20] = generation
            driver.work(65)
        with pp.profile_phase("evaluate"):
            tournament.play(generation, [int(seed) for seed in rng.integers(0, 10_000, 12)])
            driver.work(25)
    driver.finish()
    for one in tournament.rounds:
        one.close()


main()
