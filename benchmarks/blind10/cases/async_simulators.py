"""Every third generation a fresh simulator is started as a child of an event loop, and asked for its levels."""

import asyncio
import collections
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

GENERATIONS = driver.generations(120)


async def ask_simulator(questions):
    simulator = await asyncio.create_subprocess_exec("cat", stdin=PIPE, stdout=PIPE)
    answers = []
    for question in questions:
        simulator.stdin.write(question + b"\n")
        await simulator.stdin.drain()
        answers.append(await simulator.stdout.readline())
    if not driver.LEAK:
        simulator.stdin.close()
        await simulator.wait()
    return answers


def main():
    rng = np.random.default_rng(14)
    loop = asyncio.new_event_loop()
    replay = collections.deque(maxlen=40)
    levels = []
    for generation in pp.generations(range(GENERATIONS)):
        with pp.profile_phase("levels"):
            if generation % 3 == 1:
                levels = loop.run_until_complete(ask_simulator([b"level %d" % k for k in range(5)]))
            driver.work(40)
        with pp.profile_phase("play"):
            replay.append(rng.normal(size=(300, 60 + len(levels))))
            driver.work(60)
        with pp.profile_phase("learn"):
            driver.work(40)
    driver.finish()


main()
