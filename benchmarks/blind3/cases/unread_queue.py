"""An actor thread puts more transitions into the learner's queue than the learner takes."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import driver  # noqa: E402
import queue
import threading

import numpy as np

import phaseprof as pp


class Transition:
    __slots__ = ("observation", "action", "reward")

    def __init__(self, rng):
        self.observation = rng.random(2_000)
        self.action = int(rng.integers(4))
        self.reward = float(rng.random())


class Actor:
    def __init__(self):
        self.inbox = queue.Queue() if driver.LEAK else queue.Queue(maxsize=120)
        self.orders = queue.SimpleQueue()
        self.done = threading.Event()
        threading.Thread(target=self.act, daemon=True).start()

    def act(self):
        rng = np.random.default_rng(1)
        while True:
            for _ in range(self.orders.get()):
                transition = Transition(rng)
                if self.inbox.full():
                    self.inbox.get_nowait()  # the oldest makes room
                self.inbox.put(transition)
            self.done.set()


def main():
    actor = Actor()
    value = 0.0
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            actor.done.clear()
            actor.orders.put(28)
            actor.done.wait()
            driver.work(40)
        with pp.profile_phase("learn"):
            for _ in range(20):
                value += actor.inbox.get().reward
            driver.work(45)
        with pp.profile_phase("log"):
            driver.work(15)
    driver.finish()


main()
