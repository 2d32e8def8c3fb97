"""Each run of the evaluation has a log of its own, kept in memory and written when something fails."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import logging
import logging.handlers
import random


class Evaluation:
    def __init__(self, run, episodes=550):
        self.log = logging.getLogger(f"evaluation.run-{run}")
        self.log.setLevel(logging.DEBUG)
        self.log.propagate = False
        self.handler = logging.handlers.MemoryHandler(50_000, flushLevel=logging.ERROR)
        self.log.addHandler(self.handler)
        self.episodes = episodes

    def run(self):
        total = 0.0
        for episode in range(self.episodes):
            reward = random.random()
            self.log.debug("episode %d ended with reward %.3f after %d steps", episode, reward, random.randrange(200))
            total += reward
        return total / self.episodes

    def close(self):
        self.log.removeHandler(self.handler)
        self.handler.close()
        self.handler.buffer = []


class Trainer:
    def __init__(self):
        self.best = 0.0

    @pp.profile_phase("train")
    def train(self):
        driver.work(60)

    @pp.profile_phase("evaluate")
    def evaluate(self, generation):
        evaluation = Evaluation(generation if driver.LEAK else generation % 4)
        self.best = max(self.best, evaluation.run())
        if not driver.LEAK:
            evaluation.close()
        driver.work(30)


def main():
    trainer = Trainer()
    for generation in range(driver.GENERATIONS):
        with pp.generation(generation):
            trainer.train()
            trainer.evaluate(generation)
    driver.finish()


main()
