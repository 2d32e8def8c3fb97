"""A curriculum of longer episodes until a third of the run; each is cut down in place to a summary once learnt from."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import collections

import driver
import numpy as np

import phaseprof as pp

EPISODES, SUMMARY = 20, 180


class Curriculum:
    def __init__(self):
        self.summaries = collections.deque(maxlen=None if driver.LEAK else 5 * EPISODES)

    def collect(self, generation):
        length = 3_000 + 60 * min(generation, 20)
        return [np.full(length, k + 0.5) for k in range(EPISODES)]

    def summarise(self, episodes):
        for episode in episodes:
            episode.resize(SUMMARY, refcheck=False)
            self.summaries.append(episode)


def main():
    curriculum = Curriculum()
    ring = np.zeros((20, 100_000))
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            episodes = curriculum.collect(generation)
            driver.work(30)
        with pp.profile_phase("learn"):
            flat = np.concatenate([episode[:2_000] for episode in episodes])
            ring[generation % 20, :len(flat)] = flat
            driver.work(30)
        with pp.profile_phase("summarise"):
            curriculum.summarise(episodes)
            del episodes, flat
            driver.work(10)
    driver.finish()


main()
