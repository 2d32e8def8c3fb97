"""A learner reads the reports of its actors from sockets, watched by one selector."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import selectors
import socket
from collections import deque

import driver
import numpy as np

import phaseprof as pp


class Hub:
    def __init__(self):
        self.selector = selectors.DefaultSelector()

    def connect(self):
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self.selector.register(ours, selectors.EVENT_READ, data=bytearray(b"\1" * 96_000))
        return theirs

    def pump(self):
        got = 0
        for key, _ in self.selector.select(0):
            count = key.fileobj.recv_into(key.data)
            got += count
            if not count and not driver.LEAK:
                self.selector.unregister(key.fileobj)
                key.fileobj.close()
        return got


def main():
    hub, rng = Hub(), np.random.default_rng(1)
    recent = deque(maxlen=20)
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("dispatch"):
            actors = [hub.connect() for _ in range(3)]
            driver.work(15)
        with pp.profile_phase("collect"):
            for actor in actors:
                actor.sendall(rng.bytes(4_000))
            hub.pump()
            for actor in actors:
                actor.close()
            hub.pump()
            recent.append(rng.normal(size=(300, 100)))
            driver.work(25)
        with pp.profile_phase("learn"):
            driver.work(25)
    driver.finish()


main()
