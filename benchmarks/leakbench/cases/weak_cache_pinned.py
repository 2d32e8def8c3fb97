"""A cache of embeddings is weak, as it should be; a preloader elsewhere keeps every entry alive.

The holder to name is the preloader and not the cache.  The healthy preloader keeps the last few.
"""

import weakref
from collections import deque

import numpy as np

from leakbench import Case, Truth


class Embedding:
    def __init__(self, rng):
        self.vectors = rng.random((64, 128))


class EmbeddingCache:
    def __init__(self):
        self.by_key = weakref.WeakValueDictionary()


class Preloader:
    def __init__(self, keep):
        self.pinned = deque(maxlen=keep)


class Trainer:
    def __init__(self, leaky):
        self.rng = np.random.default_rng(0)
        self.cache = EmbeddingCache()
        self.preloader = Preloader(None if leaky else 8)
        self.norm = 0.0

    def generation(self, pp, index):
        with pp.phase("preload"):
            for i in range(8):
                embedding = Embedding(self.rng)
                self.cache.by_key[8 * index + i] = embedding
                self.preloader.pinned.append(embedding)
        with pp.phase("train_step"):
            for i in range(8):
                self.norm += 0.1 * (self.cache.by_key[8 * index + i].vectors.mean() - self.norm)


CASE = Case(
    name="weak_cache_pinned",
    build=Trainer,
    truth=Truth(
        phase="preload",
        kind="objects",
        subject="Embedding",
        holder=("Preloader", "pinned"),
        also=("arrays", "container"),
        subject_also=("ndarray", "deque"),
        site=("Trainer.generation", "Embedding.__init__"),
    ),
    source="synthetic",
)
