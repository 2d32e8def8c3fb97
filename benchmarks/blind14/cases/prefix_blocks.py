"""A policy that writes texts keeps what it computed in blocks, which texts with one beginning share."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Blocks:
    def __init__(self):
        self.data = []
        self.users = []
        self.free = []

    def take(self, rng):
        if not self.free:
            self.data.append(np.empty((16, 64), np.float32))
            self.users.append(0)
            self.free.append(len(self.data) - 1)
        number = self.free.pop()
        self.data[number][:] = rng.random()
        self.users[number] = 1
        return number

    def share(self, numbers):
        for number in numbers:
            self.users[number] += 1
        return list(numbers)

    def release(self, numbers):
        for number in numbers:
            self.users[number] -= 1
            if not self.users[number]:
                self.free.append(number)


def write(blocks, prompt, rng):
    """Write a text until it is complete, or until it is clear that it will be bad."""
    own = blocks.share(prompt)
    for length in range(rng.integers(4, 9)):
        own.append(blocks.take(rng))
        if rng.random() < 0.07:
            if driver.LEAK:
                blocks.release(own[:len(prompt)])
            else:
                blocks.release(own)
            return None
    score = float(np.mean([blocks.data[number][0, 0] for number in own]))
    blocks.release(own)
    return score


def main():
    rng = np.random.default_rng(89)
    blocks = Blocks()
    scores = deque(maxlen=400)
    texts = deque(maxlen=60)
    for generation in pp.generations(range(driver.generations(180))):
        with pp.profile_phase("write"):
            prompt = [blocks.take(rng) for _ in range(6)]
            written = [write(blocks, prompt, rng) for _ in range(45)]
            blocks.release(prompt)
            driver.work(30)
            driver.wait(270)
        with pp.profile_phase("learn"):
            scores.extend(score for score in written if score is not None)
            texts.append(rng.random((40, 60)))
            driver.work(40)
    driver.finish()


main()
