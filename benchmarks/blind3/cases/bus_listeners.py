"""Reward shapers subscribe to the event bus of the trainer, and are not unsubscribed when they are replaced."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import driver  # noqa: E402
import numpy as np

import phaseprof as pp


class EventBus:
    def __init__(self):
        self.listeners = {"step": [], "episode": []}

    def subscribe(self, event, call):
        self.listeners[event].append(call)

    def unsubscribe(self, event, call):
        self.listeners[event].remove(call)

    def publish(self, event, value):
        for call in self.listeners[event]:
            call(value)


BUS = EventBus()


class RewardShaper:
    def __init__(self, seed):
        self.potential = np.random.default_rng(seed).random(24_000)
        self.seen = [float(k) for k in range(500)]
        BUS.subscribe("step", self.on_step)

    def on_step(self, value):
        self.seen[int(value) % 500] += self.potential[int(value) % 100]

    def close(self):
        if not driver.LEAK:
            BUS.unsubscribe("step", self.on_step)


class Trainer:
    def __init__(self):
        self.shaper = None
        self.recent = []

    @pp.profile_phase("setup")
    def setup(self, generation):
        if self.shaper is not None:
            self.shaper.close()
        self.shaper = RewardShaper(generation)
        driver.work(5)

    @pp.profile_phase("collect")
    def collect(self, generation):
        for step in range(40):
            BUS.publish("step", step)
        self.recent = [np.zeros(2_000) for _ in range(min(60, 8 + 4 * generation))]  # rollouts get longer
        driver.work(40)

    @pp.profile_phase("train")
    def train(self):
        driver.work(50)


def main():
    trainer = Trainer()
    for generation in pp.generations(range(driver.GENERATIONS)):
        trainer.setup(generation)
        trainer.collect(generation)
        trainer.train()
    driver.finish()


main()
