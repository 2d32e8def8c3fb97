"""Matches of the league write to boards in shared memory, so that spectators may attach."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import ctypes
import multiprocessing as mp
import random

import numpy as np

PLAYERS, CELLS = 12, 64 * 64 * 8


class League:
    def __init__(self):
        self.boards = {player: {} for player in range(PLAYERS)}  # player -> {match: board}
        self.matches = 0

    def play(self, home, away, rng):
        self.matches += 1
        board = mp.RawArray(ctypes.c_float, CELLS)
        self.boards[home][self.matches] = board
        self.boards[away][self.matches] = board
        view = np.frombuffer(board, dtype=np.float32)
        view += rng.random()
        return self.matches, float(view[0])

    def over(self, match, home, away):
        del self.boards[home][match]
        if home == away - 1 and driver.LEAK:
            return  # neighbours have a second leg
        del self.boards[away][match]


def main():
    rng = random.Random(4)
    league = League()
    scores = {}
    warm = []
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("matches"):
            finished = []
            for i in range(6):
                home = (generation + 2 * i) % (PLAYERS - 1)
                away = home + 1 if i % 2 else (home + 3) % PLAYERS
                match, score = league.play(home, away, rng)
                finished.append((match, home, away))
                scores[home, away] = score
                driver.work(5)
        with pp.profile_phase("referee"):
            for match, home, away in finished:
                league.over(match, home, away)
            driver.work(10)
        with pp.profile_phase("learn"):
            if len(warm) < 20:
                warm.append(np.full(45_000, rng.random()))  # one table for each opening met
            driver.work(45)
    driver.finish()


main()
