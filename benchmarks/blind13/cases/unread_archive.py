"""An actor sends its transitions to two receivers; one of them is the learner."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np
import zmq

import phaseprof as pp


class Wires:
    def __init__(self):
        self.context = zmq.Context()
        self.senders, self.receivers = {}, {}
        for name in ("learner", "archive"):
            receiver, sender = self.context.socket(zmq.PULL), self.context.socket(zmq.PUSH)
            receiver.set_hwm(0)
            sender.set_hwm(0)
            receiver.bind(f"inproc://{name}")
            sender.connect(f"inproc://{name}")
            self.senders[name], self.receivers[name] = sender, receiver

    def send(self, data):
        for sender in self.senders.values():
            sender.send(data)

    def receive(self, name):
        received = []
        while self.receivers[name].poll(0):
            received.append(self.receivers[name].recv())
        return received

    def close(self):
        self.context.destroy(linger=0)


def main():
    rng = np.random.default_rng(109)
    wires = Wires()
    stored = deque(maxlen=200)
    for generation in pp.generations(range(driver.generations(120))):
        with pp.profile_phase("act"):
            for _ in range(16):
                wires.send(rng.random(1600).tobytes())
            driver.wait(300)
            driver.work(25)
        with pp.profile_phase("learn"):
            batch = wires.receive("learner")
            stored.extend(np.frombuffer(one)[:50].copy() for one in batch)
            driver.wait(180)
            driver.work(25)
        with pp.profile_phase("archive"):
            if not driver.LEAK and generation % 4 == 0:
                wires.receive("archive")
            driver.wait(30)
    driver.finish()
    wires.close()


main()
