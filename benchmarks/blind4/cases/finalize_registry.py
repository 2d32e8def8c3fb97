"""Archives the frames of the episodes; what is left over is removed when the environment goes."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import weakref


class FrameRecord:
    __slots__ = ("name", "offset", "reward")

    def __init__(self, name, offset, reward):
        self.name = name
        self.offset = offset
        self.reward = reward


class Manifest:
    def __init__(self, generation, frames=3_000):
        self.records = [FrameRecord(f"g{generation:04}-f{i:06}", i * 4_096 + generation, i / 7) for i in range(frames)]


class Environment:
    def __init__(self):
        self.closed = False


def discard(manifest):
    manifest.records.clear()


def archive(env, generation):
    manifest = Manifest(generation)
    cleanup = weakref.finalize(env, discard, manifest)
    total = sum(r.reward for r in manifest.records)
    if not driver.LEAK:
        cleanup()
    return total


def main():
    env = Environment()
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("play"):
            driver.work(45)
        with pp.profile_phase("archive"):
            archive(env, generation)
            driver.work(25)
        with pp.profile_phase("learn"):
            driver.work(30)
    driver.finish()
    env.closed = True


main()
