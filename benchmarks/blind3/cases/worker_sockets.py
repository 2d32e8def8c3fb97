"""The clients of remote environments reconnect each generation; the broken ones stay in the list, with socket and buffer."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import driver  # noqa: E402
import random
import socket

import phaseprof as pp


class EnvClient:
    def __init__(self, address):
        self.address = address
        self.near, self.far = socket.socketpair()
        self.received = bytearray(96 * 1024)
        self.received[:] = bytes([address % 256]) * len(self.received)

    def ask(self, message):
        self.far.sendall(message)
        return self.near.recv_into(memoryview(self.received)[: len(message)])

    def close(self):
        self.near.close()
        self.far.close()


class Pool:
    def __init__(self):
        self.clients = []
        self.replies = {}
        self.random = random.Random(0)

    @pp.profile_phase("connect")
    def connect(self, generation):
        if not driver.LEAK:
            for client in self.clients:
                client.close()
            self.clients.clear()
        self.clients += [EnvClient(10 * generation + k) for k in range(3)]
        driver.work(10)

    @pp.profile_phase("collect")
    def collect(self):
        for client in self.clients[-3:]:
            for _ in range(20):
                client.ask(b"step" * 16)
        for _ in range(600):  # the latest reply of each of 1,500 states, of many sizes
            self.replies[self.random.randrange(1_500)] = bytes(self.random.randrange(200, 6_000))
        driver.work(40)

    @pp.profile_phase("learn")
    def learn(self):
        driver.work(60)


def main():
    pool = Pool()
    for generation in pp.generations(range(driver.GENERATIONS)):
        pool.connect(generation)
        pool.collect()
        pool.learn()
    driver.finish()


main()
