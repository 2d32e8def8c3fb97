"""Frames of the simulation go through a memory stream to somebody who watches and looks at every sixth."""

import collections
import math
import sys
from pathlib import Path

import anyio

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Frame:
    def __init__(self, number, pixels):
        self.number = number
        self.pixels = pixels


class Publisher:
    def __init__(self, limit):
        self.sender, self.receiver = anyio.create_memory_object_stream(math.inf if driver.LEAK else limit)

    async def publish(self, frame):
        try:
            self.sender.send_nowait(frame)
        except anyio.WouldBlock:
            self.receiver.receive_nowait()
            self.sender.send_nowait(frame)


async def train():
    rng = np.random.default_rng(12)
    publisher = Publisher(90)
    seen = collections.deque(maxlen=10)
    number = 0
    for _ in pp.generations(range(driver.generations(60))):
        with pp.profile_phase("simulate"):
            frames = []
            for _ in range(6):
                number += 1
                frames.append(Frame(number, rng.bytes(40_000)))
            driver.work(60)
        with pp.profile_phase("publish"):
            for frame in frames:
                await publisher.publish(frame)
            del frames, frame
            driver.work(15)
        with pp.profile_phase("watch"):
            seen.append((await publisher.receiver.receive()).number)
            driver.work(35)
    driver.finish()
    publisher.sender.close()
    publisher.receiver.close()


anyio.run(train)
