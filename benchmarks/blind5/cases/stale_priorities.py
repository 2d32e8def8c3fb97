"""DQN with prioritised replay on a heap with lazy deletion."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import heapq

import numpy as np

CAPACITY = 2400


class Transition:
    __slots__ = ("key", "state", "next_state", "action", "reward")

    def __init__(self, key, state, next_state, action, reward):
        self.key = key
        self.state = state
        self.next_state = next_state
        self.action = action
        self.reward = reward


class PrioritisedReplay:
    def __init__(self):
        self.ring = {}
        self.heap = []
        self.count = 0

    def add(self, state, next_state, action, reward):
        self.count += 1
        transition = Transition(self.count, state, next_state, action, reward)
        self.ring[self.count] = transition
        self.ring.pop(self.count - CAPACITY, None)
        self.push(1.0, transition)

    def push(self, priority, transition):
        heapq.heappush(self.heap, (-priority, -transition.key, id(transition), transition))
        if not driver.LEAK and len(self.heap) > 2 * CAPACITY:
            self.heap = [entry for entry in self.heap if entry[3].key in self.ring][-CAPACITY:]
            heapq.heapify(self.heap)

    def sample(self, n):
        batch = []
        while self.heap and len(batch) < n:
            transition = heapq.heappop(self.heap)[3]
            if transition.key in self.ring:
                batch.append(transition)
        return batch


def main():
    rng = np.random.default_rng(1)
    replay = PrioritisedReplay()
    weights = np.zeros(400)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            state = rng.random(400, dtype=np.float32)
            for _ in range(180):
                following = rng.random(400, dtype=np.float32) + state * 0.1
                replay.add(state.copy(), following, int(rng.integers(4)), float(rng.random()))
                state = following
            driver.work(40)
        with pp.profile_phase("learn"):
            for transition in replay.sample(64):
                error = transition.reward - float(weights @ transition.state)
                weights += 1e-4 * error * transition.state
                replay.push(min(0.9, abs(error)), transition)
            driver.work(50)
    driver.finish()


main()
