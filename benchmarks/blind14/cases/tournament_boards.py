"""Every third generation there is a tournament; its scores are on a board to which games elsewhere could write."""

import sys
from collections import deque
from multiprocessing.managers import SyncManager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Tournaments:
    def __init__(self):
        self.boards = []

    def play(self, strengths, rng):
        manager = SyncManager()
        manager.start()
        board = manager.dict()
        for player, strength in enumerate(strengths):
            board[player] = float(strength + rng.normal())
        if driver.LEAK:
            self.boards.append(board)
        else:
            self.boards.append(dict(board))
            manager.shutdown()

    def winner(self):
        board = self.boards[-1].copy()
        return max(board, key=board.get)


def main():
    rng = np.random.default_rng(193)
    tournaments = Tournaments()
    strengths = np.zeros(8)
    winners = deque(maxlen=20)
    replay = deque(maxlen=35)
    for generation in pp.generations(range(driver.generations(105))):
        with pp.profile_phase("rollout"):
            replay.append(rng.random((60, 90)))
            driver.work(30)
            driver.wait(470)
        with pp.profile_phase("learn"):
            strengths += 0.1 * rng.normal(size=8)
            driver.work(60)
        with pp.profile_phase("tournament"):
            if generation % 3 == 0:
                tournaments.play(strengths, rng)
                winners.append(tournaments.winner())
    driver.finish()


main()
