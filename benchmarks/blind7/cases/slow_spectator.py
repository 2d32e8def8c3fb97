"""Matches are streamed to whoever watches; one of them reads slowly."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import asyncio
import contextlib
import os
import socket
import zlib

import numpy as np

LIMIT = 4 << 20


class Broadcast:
    def __init__(self, path):
        self.path = path
        self.watchers = []
        self.skipped = 0

    async def start(self):
        self.server = await asyncio.start_unix_server(self.joined, self.path)

    async def joined(self, reader, writer):
        self.watchers.append(writer)

    def send(self, packet):
        for writer in self.watchers:
            if not driver.LEAK and writer.transport.get_write_buffer_size() > LIMIT:
                self.skipped += 1
                continue
            writer.write(packet)


class Viewer:
    """A browser far away: it takes a little at a time."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.socket.setblocking(False)

    def look(self, n):
        with contextlib.suppress(BlockingIOError):
            return len(self.socket.recv(n))
        return 0


async def play(broadcast, viewer, rng):
    for _ in range(20):
        board = rng.integers(0, 255, size=26_000, dtype=np.uint8)
        broadcast.send(zlib.compress(board.tobytes(), 1))
        driver.work(2)
        viewer.look(2_000)
        await asyncio.sleep(0)


def main():
    rng = np.random.default_rng(0)
    loop = asyncio.new_event_loop()
    path = os.path.join(os.getcwd(), "stream")
    broadcast = Broadcast(path)
    loop.run_until_complete(broadcast.start())
    viewer = Viewer(path)
    loop.run_until_complete(asyncio.sleep(0.01))
    ratings = {}
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("matchmaking"):
            for i in range(50):
                ratings[generation * 50 % 1000 + i] = rng.normal(size=300)
            driver.work(10)
        with pp.profile_phase("stream"):
            loop.run_until_complete(play(broadcast, viewer, rng))
        with pp.profile_phase("update"):
            driver.work(25)
    driver.finish()
    for writer in broadcast.watchers:
        writer.transport.abort()
    broadcast.server.close()
    loop.run_until_complete(asyncio.sleep(0.01))
    loop.close()


main()
