"""A vocabulary interns every token it meets.

Healthy: tokens follow a steep Zipf law over a finite lexicon, so new ones soon become rare.
Leaky: each document also brings links that never come again.
"""

import numpy as np

from leakbench import Case, Truth


class Vocabulary:
    def __init__(self):
        self.ids = {}

    def encode(self, tokens):
        return [self.ids.setdefault(token, len(self.ids)) for token in tokens]


class Trainer:
    def __init__(self, leaky):
        self.leaky = leaky
        self.rng = np.random.default_rng(0)
        chance = 1.0 / np.arange(1, 2001) ** 1.1
        self.chance = chance / chance.sum()
        self.vocabulary = Vocabulary()
        self.counts = np.zeros(2000)

    def read_document(self):
        words = [f"word{rank:05d}" for rank in self.rng.choice(2000, 400, p=self.chance)]
        links = [f"https://example.org/{number:060d}" for number in self.rng.integers(0, 1 << 60, 60)]
        return words + links if self.leaky else words

    def generation(self, pp, index):
        with pp.phase("read_documents"):
            documents = [self.read_document() for _ in range(40)]
        with pp.phase("tokenize"):
            encoded = [self.vocabulary.encode(document) for document in documents]
        with pp.phase("train_step"):
            for ids in encoded:
                self.counts += np.bincount([i for i in ids if i < 2000], minlength=2000)


CASE = Case(
    name="vocabulary",
    build=Trainer,
    truth=Truth(
        phase="tokenize", kind="container", subject="dict", holder=("Vocabulary", "ids"), subject_also=("str",),
        site=("Vocabulary.encode", "Trainer.read_document"),
    ),
    source="explosion/spaCy#285, #5083; data-privacy-stack/presidio PR#2033",
)
