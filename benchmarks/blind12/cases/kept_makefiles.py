"""The simulator sends its telemetry, a line for each episode, over a socket of its own."""

import json
import socket
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Telemetry:
    def __init__(self):
        self.readers = {}
        self.rewards = {}

    def receive(self, episode, connection):
        reader = connection.makefile("r")
        self.readers[episode] = reader
        message = json.loads(reader.readline())
        self.rewards[episode % 64] = message["reward"]
        connection.close()

    def end(self, episode):
        reader = self.readers[episode]
        if not driver.LEAK:
            reader.close()
            del self.readers[episode]


def simulate(reward):
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.sendall((json.dumps({"reward": reward, "trace": [reward] * 40}) + "\n").encode())
    return ours


def main():
    rng = np.random.default_rng(24)
    telemetry = Telemetry()
    window = np.zeros((40, 300, 64))
    for generation in pp.generations(range(driver.generations(130))):
        with pp.profile_phase("simulate"):
            connection = simulate(float(rng.normal()))
            driver.work(50)
        with pp.profile_phase("receive"):
            telemetry.receive(generation, connection)
            driver.work(40)
            telemetry.end(generation)
        with pp.profile_phase("train"):
            window[generation % 40] = rng.normal(size=(300, 64)) + np.mean(list(telemetry.rewards.values()))
            driver.work(50)
    driver.finish()


main()
