"""What each opponent played is written into one number, from which its next move is guessed."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

MASK = (1 << 200_000) - 1


class Opponent:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.code = 1

    def play(self, rounds):
        moves = self.rng.integers(256, size=rounds, dtype=np.uint8)
        code = (self.code << (8 * rounds)) | int.from_bytes(moves.tobytes(), "big")
        self.code = code if driver.LEAK else code & MASK
        return moves

    def guess(self):
        return self.code & 255


def main():
    opponents = [Opponent(seed) for seed in range(20)]
    guesses = np.zeros((25, 20))
    recent = deque(maxlen=120)
    for generation in pp.generations(range(driver.generations(72))):
        with pp.profile_phase("guess"):
            guesses[generation % 25] = [opponent.guess() for opponent in opponents]
            driver.work(35)
        with pp.profile_phase("play"):
            for opponent in opponents:
                recent.append(opponent.play(9000))
            driver.work(50)
        with pp.profile_phase("learn"):
            driver.work(30)
    driver.finish()


main()
