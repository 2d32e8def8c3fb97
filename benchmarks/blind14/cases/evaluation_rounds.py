"""Every third generation there is a round of evaluation: the program asks players, with messages, for their moves."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np
import zmq

import phaseprof as pp


class Rounds:
    def __init__(self):
        self.contexts = {}

    def play(self, name, boards, weights):
        context = self.contexts[name if driver.LEAK else "all"] = self.context(name)
        asks, answers = context.socket(zmq.PAIR), context.socket(zmq.PAIR)
        answers.bind(f"inproc://{name}")
        asks.connect(f"inproc://{name}")
        total = 0.0
        for board in boards:
            asks.send(board.tobytes())
            board = np.frombuffer(answers.recv(), np.float64)
            answers.send_pyobj(float(board @ weights))
            total += asks.recv_pyobj()
        asks.close()
        answers.close()
        return total

    def context(self, name):
        if driver.LEAK or "all" not in self.contexts:
            return zmq.Context()
        return self.contexts["all"]


def main():
    rng = np.random.default_rng(163)
    rounds = Rounds()
    weights = rng.normal(size=64)
    results = deque(maxlen=20)
    replay = deque(maxlen=41)
    for generation in pp.generations(range(driver.generations(124))):
        with pp.profile_phase("rollout"):
            replay.append(rng.random((90, 64)))
            driver.work(70)
        with pp.profile_phase("learn"):
            weights += 0.01 * rng.normal(size=64)
            driver.work(70)
        with pp.profile_phase("evaluate"):
            if generation % 3 == 0:
                results.append(rounds.play(f"round-{generation}", rng.random((40, 64)), weights))
                driver.work(30)
    driver.finish()


main()
