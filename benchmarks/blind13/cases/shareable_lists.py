"""The scores of a generation are put into a list in shared memory, from which other programs take them."""

import sys
from collections import deque
from multiprocessing.shared_memory import ShareableList
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Board:
    def __init__(self):
        self.lists = deque()

    def post(self, rows):
        self.lists.append(ShareableList(rows))
        if len(self.lists) > 8:
            old = self.lists.popleft()
            old.shm.close()
            if not driver.LEAK:
                old.shm.unlink()

    def clear(self):
        while self.lists:
            old = self.lists.popleft()
            old.shm.close()
            old.shm.unlink()


def main():
    rng = np.random.default_rng(127)
    board = Board()
    recent = deque(maxlen=30)
    for _ in pp.generations(range(driver.generations(100))):
        with pp.profile_phase("evaluate"):
            scores = rng.random((60, 500))
            recent.append(scores.mean(axis=0))
            driver.wait(300)
            driver.work(25)
        with pp.profile_phase("post"):
            board.post([row.tobytes() for row in scores])
            driver.wait(120)
            driver.work(20)
        with pp.profile_phase("vary"):
            driver.wait(150)
            driver.work(20)
    driver.finish()
    board.clear()


main()
