"""Actors ask a policy server over TCP, and connect anew for each rollout."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import socket

import numpy as np


class PolicyServer:
    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = self.listener.getsockname()
        self.sessions = {}
        self.served = 0
        self.policy = np.random.default_rng(2).random((64, 4))

    def welcome(self):
        connection, address = self.listener.accept()
        self.sessions[address] = connection
        return address

    def answer(self, address):
        observation = np.frombuffer(self.sessions[address].recv(1024), dtype=np.float64)
        self.sessions[address].sendall((observation @ self.policy).tobytes())
        self.served += 1

    def goodbye(self, address):
        if not self.sessions[address].recv(1) and not driver.LEAK:
            self.sessions.pop(address).close()


class Actor:
    def __init__(self, server):
        self.link = socket.create_connection(server.address)
        self.address = server.welcome()

    def act(self, server, observation):
        self.link.sendall(observation.tobytes())
        server.answer(self.address)
        return int(np.argmax(np.frombuffer(self.link.recv(1024))))

    def leave(self, server):
        self.link.close()
        server.goodbye(self.address)


def rollout(server, rng):
    with pp.profile_phase("connect"):
        actors = [Actor(server) for _ in range(2)]
    with pp.profile_phase("act"):
        actions = [actor.act(server, rng.random(64)) for actor in actors for _ in range(25)]
        driver.work(35)
    with pp.profile_phase("disconnect"):
        for actor in actors:
            actor.leave(server)
    return actions


def main():
    server = PolicyServer()
    rng = np.random.default_rng(4)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("rollout"):
            actions = rollout(server, rng)
        with pp.profile_phase("learn"):
            server.policy[:, actions[0]] += 0.01
            driver.work(50)
    driver.finish()


main()
