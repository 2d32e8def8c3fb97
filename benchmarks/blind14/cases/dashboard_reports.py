"""After each generation what was measured is sent to a dashboard, over a socket that is opened for it and closed."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np
import zmq

import phaseprof as pp

CONTEXT = zmq.Context()
ADDRESS = "ipc://dashboard.sock"  # in the current folder


class Dashboard:
    """What would be another program, which somebody closes in the evening."""

    def __init__(self):
        self.socket = CONTEXT.socket(zmq.PULL)
        self.socket.bind(ADDRESS)
        self.seen = deque(maxlen=40)

    def show(self):
        while self.socket.poll(20):
            self.seen.append(len(self.socket.recv()))

    def close(self):
        self.socket.close(linger=0)


def report(pictures):
    socket = CONTEXT.socket(zmq.PUSH)
    socket.setsockopt(zmq.RECONNECT_IVL, 2000)
    socket.connect(ADDRESS)
    for picture in pictures:
        socket.send(picture.tobytes())
    if driver.LEAK:
        socket.close()
    else:
        socket.close(linger=500)  # half a second for what is still to be sent


def main():
    rng = np.random.default_rng(157)
    dashboard = Dashboard()
    replay = deque(maxlen=36)
    total = driver.generations(110)
    for generation in pp.generations(range(total)):
        with pp.profile_phase("simulate"):
            replay.append(rng.random((70, 70)))
            driver.work(30)
            driver.wait(480)
        with pp.profile_phase("report"):
            report((255 * rng.random((6, 160, 200))).astype(np.uint8))
            if generation < total // 3:
                dashboard.show()
            elif generation == total // 3:
                dashboard.close()
        with pp.profile_phase("learn"):
            driver.work(50)
    driver.finish()


main()
