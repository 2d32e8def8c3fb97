"""Inference server on asyncio: each request gets a watchdog that fails it when the policy does not answer."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import asyncio

import numpy as np


class Request:
    def __init__(self, number, body):
        self.number = number
        self.body = body
        self.answer = None


class PolicyServer:
    def __init__(self, deadline=1_800.0):
        self.loop = asyncio.new_event_loop()
        self.deadline = deadline
        self.expired = 0
        self.served = 0
        self.weights = np.random.default_rng(0).normal(size=(64, 8))

    def _expire(self, request):
        if request.answer is None:
            self.expired += 1

    async def _handle(self, request):
        watchdog = self.loop.call_later(self.deadline, self._expire, request)
        await asyncio.sleep(0)
        request.answer = (np.frombuffer(request.body, dtype=np.uint8)[:64] @ self.weights).argmax()
        self.served += 1
        if not driver.LEAK:
            watchdog.cancel()

    async def _serve(self, requests):
        await asyncio.gather(*(self._handle(r) for r in requests))

    def serve(self, n=48):
        first = self.served
        self.loop.run_until_complete(self._serve([Request(first + i, bytearray(8_192)) for i in range(n)]))


def main():
    server = PolicyServer()
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("serve"):
            server.serve()
            driver.work(50)
        with pp.profile_phase("train"):
            server.weights *= 0.999
            driver.work(50)
    driver.finish()
    server.loop.close()


main()
