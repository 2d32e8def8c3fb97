"""An agent of words acts in a text world; what was said so far is given to the model again."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

KEPT = 1_500_000
WORDS = ["go", "north", "south", "open", "door", "take", "lamp", "see", "dark", "room", "key", "wait"]


class Agent:
    def __init__(self):
        self.rng = np.random.default_rng(30)
        self.transcript = ""

    def say(self, count):
        words = [WORDS[n] for n in self.rng.integers(len(WORDS), size=count)]
        self.transcript += "\n" + " ".join(words)
        if not driver.LEAK and len(self.transcript) > KEPT:
            self.transcript = self.transcript[-KEPT:]

    def prompt(self):
        return self.transcript[-4_000:]


def main():
    agent = Agent()
    rng = np.random.default_rng(301)
    prompts = deque(maxlen=30)
    window = np.zeros((30, 300, 64))
    for generation in pp.generations(range(driver.generations(100))):
        with pp.profile_phase("generate"):
            driver.wait(300)
            prompts.append(agent.prompt())
            driver.work(20)
        with pp.profile_phase("act"):
            for _ in range(4):
                agent.say(9_000)
            driver.work(30)
        with pp.profile_phase("update"):
            window[generation % 30] = rng.normal(size=(300, 64))
            driver.wait(270)
    driver.finish()


main()
