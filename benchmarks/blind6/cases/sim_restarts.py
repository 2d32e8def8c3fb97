"""Simulators run as child processes, spoken to through pipes; one which hangs is put aside and another is started."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import subprocess

import numpy as np


class SimServer:
    def __init__(self, number):
        self.number = number
        self.process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.log = bytearray()

    def step(self, action):
        self.process.stdin.write(b"%d\n" % action)
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        self.log += line
        return int(line)

    def stop(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class SimFleet:
    def __init__(self, count, seed):
        self.rng = np.random.default_rng(seed)
        self.servers = [SimServer(i) for i in range(count)]
        self.quarantine = []

    def restart(self, slot):
        old = self.servers[slot]
        if driver.LEAK:
            self.quarantine.append(old)  # for a look at what went wrong
        else:
            old.stop()
            self.quarantine.append(bytes(old.log))
        self.servers[slot] = SimServer(slot)

    def rollout(self, steps):
        return [[server.step(int(action)) for action in self.rng.integers(0, 9, steps)] for server in self.servers]

    def check(self, generation):
        if generation % 3 == 2:
            for slot in self.rng.choice(len(self.servers), 3, replace=False):
                self.restart(int(slot))

    def stop(self):
        for one in self.servers + self.quarantine:
            if isinstance(one, SimServer):
                one.stop()


def main():
    fleet = SimFleet(5, 23)
    replay = np.zeros((24, 50_000), np.float32)
    try:
        for generation in pp.generations(range(driver.GENERATIONS)):
            with pp.profile_phase("rollout"):
                fleet.rollout(40)
                driver.work(30)
            with pp.profile_phase("check"):
                fleet.check(generation)
                driver.work(10)
            with pp.profile_phase("learn"):
                replay[generation % 24] = generation
                driver.work(50)
        driver.finish()
    finally:
        fleet.stop()


main()
