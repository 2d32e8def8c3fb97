"""A league keeps the results of every pair; exploiters join once the main agents are worth exploiting."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import random
from collections import deque

ACTIVE, GAMES = 26, 24


class Result:
    __slots__ = ("away", "home", "length", "score")

    def __init__(self, home, away, score, length):
        self.home, self.away, self.score, self.length = home, away, score, length


class Payoffs:
    def __init__(self):
        self.games = {}  # (home, away) -> the last results

    def record(self, home, away, score, length):
        self.games.setdefault((home, away), deque(maxlen=GAMES)).append(Result(home, away, score, length))

    def retire(self, name, others):
        """What was played against those who stay is of no use any more."""
        for other in others:
            self.games.pop((name, other), None)
            if not driver.LEAK:
                self.games.pop((other, name), None)


class League:
    def __init__(self):
        self.payoffs = Payoffs()
        self.active = [f"main-{i}" for i in range(ACTIVE)]
        self.exploiters = 0

    def play(self, rng):
        for home in self.active:
            for away in rng.sample(self.active, 7):
                for _ in range(12):
                    self.payoffs.record(home, away, rng.random(), rng.randrange(50, 5_000))
            driver.work(1)

    def replace(self):
        """The longest in the league makes room for a new exploiter."""
        for _ in range(4):
            self.payoffs.retire(self.active[0], self.active)
            self.active.pop(0)
            self.exploiters += 1
            self.active.append(f"exploiter-{self.exploiters}")


def main():
    rng = random.Random(0)
    league = League()
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("matches"):
            league.play(rng)
        with pp.profile_phase("learn"):
            driver.work(50)
        with pp.profile_phase("league"):
            if generation >= 22:
                league.replace()
            driver.work(10)
    driver.finish()


main()
