"""Each connection to a remote environment starts a heartbeat task; at the end of the episode it is not cancelled."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import driver  # noqa: E402
import asyncio

import phaseprof as pp


class RemoteEnv:
    def __init__(self, number):
        self.number = number
        self.screen = bytearray([number % 250 + 1]) * 70_000
        self.lost = asyncio.Event()

    async def heartbeat(self):
        await self.lost.wait()
        return self.number

    async def step(self):
        await asyncio.sleep(0)
        return self.screen[self.number % 100]


class Fleet:
    def __init__(self):
        self.heartbeats = set()
        self.started = 0

    async def episode(self):
        self.started += 1
        env = RemoteEnv(self.started)
        task = asyncio.create_task(env.heartbeat())
        self.heartbeats.add(task)
        task.add_done_callback(self.heartbeats.discard)
        reward = 0
        for _ in range(20):
            reward += await env.step()
        if not driver.LEAK:
            task.cancel()
        return reward


async def main():
    fleet = Fleet()
    best = 0
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("rollout"):
            best = max(await asyncio.gather(*(fleet.episode() for _ in range(3 + 2 * (generation % 2)))))
            driver.work(40)
        with pp.profile_phase("update"):
            driver.work(45)
        with pp.profile_phase("log"):
            driver.work(15)
    driver.finish()
    return best


asyncio.run(main())
