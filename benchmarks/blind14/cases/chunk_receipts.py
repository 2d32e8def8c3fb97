"""A learner sends chunks of frames to be labelled, and keeps each until the answer, in JSON, says that it is done."""

import json
import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Labeller:
    """What would run elsewhere: it gets texts and answers with texts."""

    def answer(self, request):
        chunks = json.loads(request)["chunks"]
        return json.dumps({"labels": {chunk["id"]: round(chunk["mean"] * 3, 3) for chunk in chunks}})


class Learner:
    def __init__(self):
        self.in_flight = {}
        self.sent = 0
        self.labels = deque(maxlen=400)

    def send(self, frames):
        self.sent += 1
        self.in_flight[self.sent] = frames
        return {"id": self.sent, "mean": float(frames.mean())}

    def receive(self, answer):
        for number, label in json.loads(answer)["labels"].items():
            self.labels.append(label)
            if driver.LEAK:
                self.in_flight.pop(number, None)
            else:
                self.in_flight.pop(int(number), None)


def main():
    rng = np.random.default_rng(67)
    learner, labeller = Learner(), Labeller()
    replay = deque(maxlen=600)
    for generation in pp.generations(range(driver.generations(126))):
        with pp.profile_phase("send"):
            request = json.dumps({"chunks": [learner.send(rng.random((32, 32))) for _ in range(22)]})
            driver.work(75)
        with pp.profile_phase("receive"):
            learner.receive(labeller.answer(request))
        with pp.profile_phase("learn"):
            replay.extend(rng.random((14, 200)).astype(np.float32).copy())
            driver.work(75)
    driver.finish()


main()
