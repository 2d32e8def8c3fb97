"""Embeddings of instructions are cached by text without a bound, and no text comes twice."""

import functools
import time

import numpy as np

from leakbench import Case, Truth

SEED = np.random.default_rng(12)


def embed(text):
    return SEED.normal(size=1500) * len(text)


class Instructed:
    def __init__(self, leaky):
        self.embed = functools.lru_cache(maxsize=None if leaky else 128)(embed)

    def generation(self, pp, index):
        with pp.phase("instruct"):
            texts = [f"generation {index}: pick up object {n}" for n in range(50)]
            time.sleep(0.08)
        with pp.phase("encode"):
            vectors = [self.embed(text) for text in texts]
            time.sleep(0.12)
        with pp.phase("act"):
            np.stack(vectors).sum()
            time.sleep(0.12)


CASE = Case(
    name="blind_embed_cache",
    build=Instructed,
    truth=Truth(
        phase="encode",
        kind="arrays",
        subject="ndarray",
        holder=("embed",),
        also=("native", "container"),
        subject_also=("lru_cache",),
    ),
    source="synthetic",
    generations=26,
)
