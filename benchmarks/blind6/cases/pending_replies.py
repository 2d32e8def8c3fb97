"""Actors ask an inference server over a connection; some requests run out of time under load."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import asyncio
import collections
import dataclasses
import itertools

import numpy as np


@dataclasses.dataclass(eq=False)
class Request:
    number: int
    observation: np.ndarray
    reply: asyncio.Future


@dataclasses.dataclass
class Latency:
    number: int
    seconds: float
    action: np.ndarray


class Server:
    """Answers what it can; what comes when it is full is lost."""

    def __init__(self):
        self.inbox = asyncio.Queue()
        self.rng = np.random.default_rng(4)

    async def serve(self, client):
        while True:
            number, observation = await self.inbox.get()
            if self.rng.random() < 0.25:
                continue
            client.answer(number, np.tanh(observation[:64]))


class Client:
    def __init__(self, server):
        self.server = server
        self.numbers = itertools.count()
        self.pending = {}
        self.latencies = collections.deque(maxlen=1_800)
        self.lost = 0

    def answer(self, number, action):
        request = self.pending.pop(number, None)
        if request is not None and not request.reply.done():
            request.reply.set_result(action)

    async def ask(self, observation):
        loop = asyncio.get_running_loop()
        request = Request(next(self.numbers), observation, loop.create_future())
        self.pending[request.number] = request
        began = loop.time()
        await self.server.inbox.put((request.number, observation))
        try:
            action = await asyncio.wait_for(request.reply, 0.02)
        except TimeoutError:
            self.lost += 1
            if not driver.LEAK:
                self.pending.pop(request.number, None)
            return None
        self.latencies.append(Latency(request.number, loop.time() - began, action))
        return action


async def infer(client, observations):
    return await asyncio.gather(*(client.ask(one) for one in observations))


def main():
    loop = asyncio.new_event_loop()
    server = Server()
    client = Client(server)
    serving = loop.create_task(server.serve(client))
    rng = np.random.default_rng(2)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("observe"):
            observations = [rng.normal(size=2_400).astype(np.float32) for _ in range(100)]
            driver.work(15)
        with pp.profile_phase("infer"):
            actions = loop.run_until_complete(infer(client, observations))
            driver.work(15)
        with pp.profile_phase("train"):
            sum(float(action.sum()) for action in actions if action is not None)
            observations = actions = None
            driver.work(45)
    driver.finish()
    serving.cancel()
    loop.run_until_complete(asyncio.gather(serving, return_exceptions=True))
    loop.close()


main()
