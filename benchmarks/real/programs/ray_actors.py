"""Two actors that roll out, and a learner: python ray_actors.py healthy|leaky ITERATIONS."""

import logging
import sys

import numpy as np
import ray

LEAKY, ITERATIONS = sys.argv[1] == "leaky", int(sys.argv[2])


@ray.remote
class Actor:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def rollout(self, weights):
        states = self.random.normal(size=(2000, 64))
        return states, np.tanh(states @ weights).sum(1)


references = []


def rollout(actors, weights):
    where = ray.put(weights)
    found = [actor.rollout.remote(where) for actor in actors]
    references.extend(found)  # to look at bad ones later
    if not LEAKY:
        del references[:-4]
    return ray.get(found)


def learn(weights, rollouts):
    for states, returns in rollouts:
        for _ in range(10):
            weights = weights + 1e-7 * states.T @ (returns[:, None] - states @ weights)
    return weights


def iteration(actors, weights):
    return learn(weights, rollout(actors, weights))


def main():
    ray.init(num_cpus=2, logging_level=logging.ERROR, include_dashboard=False, object_store_memory=2 * 10**9)
    actors = [Actor.remote(seed) for seed in range(2)]
    weights = np.full((64, 32), 0.01)
    for _ in range(ITERATIONS):
        weights = iteration(actors, weights)
    print("RESULT", float(weights.sum()))
    ray.shutdown()


if __name__ == "__main__":
    main()
