"""A viewer is sent the frames of the agent; the sender does not want to wait for it."""

import asyncio
import socket
import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Broadcast:
    async def open(self):
        ours, theirs = socket.socketpair()
        _, self.writer = await asyncio.open_connection(sock=ours)
        self.viewer, self.back = await asyncio.open_connection(sock=theirs, limit=1 << 15)
        self.sent = 0

    async def send(self, frame):
        self.writer.write(frame)
        self.sent += len(frame)
        await asyncio.sleep(0)

    async def watch(self):
        number = 40_000 if driver.LEAK else self.sent
        await self.viewer.readexactly(number)
        self.sent -= number

    def close(self):
        self.writer.transport.abort()
        self.back.transport.abort()


async def train():
    rng = np.random.default_rng(137)
    broadcast = Broadcast()
    await broadcast.open()
    kept = deque(maxlen=40)
    for _ in pp.generations(range(driver.generations(140))):
        with pp.profile_phase("act"):
            frames = rng.integers(256, size=(6, 40_000), dtype=np.uint8)
            kept.append(frames[0, :8000].copy())
            driver.wait(180)
            driver.work(20)
        with pp.profile_phase("show"):
            for frame in frames:
                await broadcast.send(frame.tobytes())
            await broadcast.watch()
            driver.wait(60)
        with pp.profile_phase("train"):
            driver.wait(180)
            driver.work(20)
    driver.finish()
    broadcast.close()
    await asyncio.sleep(0)


asyncio.run(train())
