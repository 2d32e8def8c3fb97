"""Fictitious play: each new policy is mixed into the average of those before."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import collections

import numpy as np

STATES, ACTIONS = 300, 128


class Policy:
    def __init__(self, rng):
        self.table = rng.random((STATES, ACTIONS))
        self.table /= self.table.sum(1, keepdims=True)

    def act(self, state, rng):
        return int((self.table[state].cumsum() > rng.random()).argmax())


class Mixture:
    """The older with probability 1 - rate, else the newest."""

    def __init__(self, older, newest, rate):
        self.older = older
        self.newest = newest
        self.rate = rate

    def act(self, state, rng):
        one = self
        while isinstance(one, Mixture):
            one = one.newest if rng.random() < one.rate else one.older
        return one.act(state, rng)


class Player:
    def __init__(self, rng):
        self.average = Policy(rng)
        self.rounds = 0

    def mix(self, best_response):
        self.rounds += 1
        rate = 1 / (self.rounds + 1)
        if driver.LEAK:
            self.average = Mixture(self.average, best_response, rate)
        else:
            self.average.table += rate * (best_response.table - self.average.table)


def main():
    rng = np.random.default_rng(18)
    player = Player(rng)
    opponents = collections.deque(maxlen=16)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("respond"):
            response = Policy(rng)
            driver.work(50)
        with pp.profile_phase("mix"):
            player.mix(response)
            driver.work(10)
        with pp.profile_phase("play"):
            opponents.append(response.table.astype(np.float32))
            [player.average.act(int(state), rng) for state in rng.integers(0, STATES, 500)]
            response = None
            driver.work(40)
    driver.finish()


main()
