"""A vocabulary that grows lazily: with record numbers in the tokens it never ends, without them it saturates."""

import random
import time

from leakbench import Case, Truth


class Vocabulary:
    def __init__(self):
        self.token_to_id = {}

    def encode(self, tokens):
        return [self.token_to_id.setdefault(token, len(self.token_to_id)) for token in tokens]


class LanguageTask:
    def __init__(self, leaky):
        self.leaky = leaky
        self.random = random.Random(13)
        self.vocabulary = Vocabulary()

    def token(self, index, n):
        word = int(9000 * self.random.random() ** 2)
        return f"tok_{word:06d}_{index}_{n}" if self.leaky else f"tok_{word:06d}_of_words"

    def generation(self, pp, index):
        with pp.phase("read"):
            tokens = [self.token(index, n) for n in range(6000)]
            time.sleep(0.1)
        with pp.phase("tokenize"):
            ids = self.vocabulary.encode(tokens)
            time.sleep(0.1)
        with pp.phase("train"):
            sum(ids) / len(ids)
            del tokens, ids
            time.sleep(0.1)


CASE = Case(
    name="blind_open_vocabulary",
    build=LanguageTask,
    truth=Truth(
        phase="tokenize",
        kind="container",
        subject="dict",
        holder=("token_to_id",),
        also=("native",),
        subject_also=("str",),
    ),
    source="synthetic",
    generations=30,
)
