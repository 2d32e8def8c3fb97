"""An actor thread never leaves its loop, and a local list of that loop keeps every trajectory it has sent.

No attribute leads there: the frame of a running function is the root.  The healthy loop keeps the last.
"""

import queue
import threading

import numpy as np

from leakbench import Case, Truth


class Trajectory:
    def __init__(self, rng):
        self.rewards = rng.random(16_000)


def actor_loop(orders, results, keep_all):
    rng = np.random.default_rng(0)
    history = []
    while (count := orders.get()) is not None:
        if not keep_all:
            history.clear()
        history.extend(Trajectory(rng) for _ in range(count))
        results.put(sum(t.rewards.mean() for t in history[-count:]))


class Trainer:
    def __init__(self, leaky):
        self.orders, self.results = queue.Queue(), queue.Queue()
        arguments = (self.orders, self.results, leaky)
        threading.Thread(target=actor_loop, args=arguments, daemon=True).start()
        self.value = 0.0

    def generation(self, pp, index):
        with pp.phase("collect"):
            self.orders.put(6)
            reward = self.results.get()
        with pp.phase("train_step"):
            self.value += 0.1 * (reward - self.value)


CASE = Case(
    name="actor_loop_locals",
    build=Trainer,
    truth=Truth(
        phase="collect",
        kind="objects",
        subject="Trajectory",
        holder=("actor_loop", "history"),
        also=("arrays", "container"),
        subject_also=("ndarray", "list"),
        site=("actor_loop", "Trajectory.__init__"),
    ),
    source="synthetic",
)
