"""Matches of a league go through their stages by a state machine, which serves all matches."""

import gc
import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np
from transitions import Machine

import phaseprof as pp

STAGES = ["waiting", "playing", "rated"]


class Match:
    def __init__(self, rng):
        self.boards = rng.integers(3, size=(50, 9, 9), dtype=np.int8)
        self.result = None


class League:
    def __init__(self):
        self.rng = np.random.default_rng(61)
        self.machine = Machine(model=None, states=STAGES, initial="waiting", auto_transitions=False)
        self.machine.add_transition("begin", "waiting", "playing")
        self.machine.add_transition("rate", "playing", "rated")
        self.results = deque(maxlen=300)

    def pair(self, number):
        matches = [Match(self.rng) for _ in range(number)]
        self.machine.add_model(matches)
        return matches

    def close(self, matches):
        for match in matches:
            match.rate()
            self.results.append(match.result)
        if not driver.LEAK:
            self.machine.remove_model(matches)


def main():
    league = League()
    for generation in pp.generations(range(driver.generations(120))):
        with pp.profile_phase("pair"):
            matches = league.pair(30)
            driver.work(30)
        with pp.profile_phase("play"):
            for match in matches:
                match.begin()
                match.result = int(match.boards[-1].sum()) % 3
            driver.work(70)
        with pp.profile_phase("rate"):
            league.close(matches)
            if generation % 6 == 0:
                gc.collect()
            driver.work(50)
    driver.finish()


main()
