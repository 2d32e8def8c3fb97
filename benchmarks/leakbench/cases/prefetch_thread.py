"""A thread prefetches while the main thread trains; it is the thread's phase that keeps its windows.

The healthy build hands a window over and forgets it.
"""

import threading

import numpy as np

from leakbench import Case, Truth


class Window:
    def __init__(self, rng):
        self.prices = rng.random(16_000)


class Prefetcher:
    def __init__(self):
        self.rng = np.random.default_rng(0)
        self.ready = []

    def fill(self, pp, start):
        start.wait()
        with pp.phase("prefetch"):
            for _ in range(6):
                self.ready.append(Window(self.rng))


class Trainer:
    def __init__(self, leaky):
        self.leaky = leaky
        self.prefetcher = Prefetcher()
        self.level = 0.0

    def generation(self, pp, index):
        start = threading.Event()
        thread = threading.Thread(target=self.prefetcher.fill, args=(pp, start))
        thread.start()
        with pp.phase("train_step"):
            start.set()
            for _ in range(20):
                self.level += float(np.ones(10_000).mean())
            thread.join()
        with pp.phase("consume"):
            self.level -= sum(window.prices.mean() for window in self.prefetcher.ready[-6:])
            if not self.leaky:
                self.prefetcher.ready.clear()


CASE = Case(
    name="prefetch_thread",
    build=Trainer,
    truth=Truth(
        phase="prefetch",
        kind="objects",
        subject="Window",
        holder=("Prefetcher", "ready"),
        also=("arrays", "container"),
        subject_also=("ndarray", "list"),
        site=("Prefetcher.fill", "Window.__init__"),
    ),
    source="synthetic",
)
