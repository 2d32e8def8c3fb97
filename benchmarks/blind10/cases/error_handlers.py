"""Texts are encoded for a small model; what its vocabulary lacks is spelled by a handler of its own."""

import codecs
import collections
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Tokenizer:
    def __init__(self):
        self.version = 0
        self.errors = "strict"

    def rebuild(self, rng):
        vocabulary = {chr(0x4E00 + k): f"<{token:x}>" for k, token in enumerate(rng.integers(0, 1 << 60, 2500))}

        def spell(problem):
            return vocabulary.get(problem.object[problem.start], "?"), problem.start + 1

        self.version += 1
        self.errors = f"spell-{self.version}" if driver.LEAK else "spell"
        codecs.register_error(self.errors, spell)

    def encode(self, text):
        return text.encode("ascii", self.errors)


def main():
    rng = np.random.default_rng(5)
    tokenizer = Tokenizer()
    corpus = collections.deque(maxlen=20)
    loss = 0.0
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("read"):
            texts = ["".join(map(chr, 0x4E00 + rng.integers(0, 3000, 400))) for _ in range(20)]
            driver.work(20)
        with pp.profile_phase("vocabulary"):
            tokenizer.rebuild(rng)
            driver.work(20)
        with pp.profile_phase("encode"):
            corpus.append([tokenizer.encode(text) for text in texts])
            driver.work(20)
        with pp.profile_phase("train"):
            loss += sum(map(len, corpus[-1])) / 1e6
            driver.work(30)
    driver.finish()


main()
