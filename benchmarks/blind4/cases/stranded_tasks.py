"""Episodes are uploaded in the background; an upload ends when the store says that it is flushed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import asyncio
import zlib


class Uploader:
    def __init__(self):
        self._flushed = asyncio.Event()
        self.done = 0

    async def _upload(self, episode):
        payload = bytearray(b"".join(bytes([step % 251]) * 64 for step in episode))
        checksum = zlib.crc32(payload)
        await self._flushed.wait()
        self.done += 1
        return checksum, len(payload)

    async def start(self, episodes):
        started = [asyncio.ensure_future(self._upload(e)) for e in episodes]
        await asyncio.sleep(0)
        return started

    async def flush(self):
        self._flushed.set()
        await asyncio.sleep(0)
        self._flushed.clear()


async def train():
    uploader = Uploader()
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("play"):
            episodes = [range(i, i + 800) for i in range(10)]
            driver.work(35)
        with pp.profile_phase("upload"):
            await uploader.start(episodes)
            driver.work(20)
            if not driver.LEAK:
                await uploader.flush()
                await asyncio.sleep(0)
        with pp.profile_phase("optimize"):
            driver.work(45)
    driver.finish()
    await uploader.flush()
    await asyncio.sleep(0)


def main():
    asyncio.run(train())


main()
