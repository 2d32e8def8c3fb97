"""A physics engine's contact buffers come from malloc through ctypes; those of episodes that end early are not freed."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import driver  # noqa: E402
import ctypes

import numpy as np

import phaseprof as pp

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]


def simulate(episode):
    size = 65_536 if episode % 2 else 98_304  # two sizes in turn
    address = libc.malloc(size)
    ctypes.memset(address, episode % 100, size)
    contacts = np.frombuffer((ctypes.c_char * size).from_address(address), dtype=np.uint8)
    energy = int(contacts[::64].sum())
    ended_early = episode % 4 < 2
    if ended_early and driver.LEAK:
        return energy
    libc.free(address)
    return energy


def main():
    energy = 0
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("plan"):
            driver.work(30)
        with pp.profile_phase("simulate"):
            energy += sum(simulate(12 * generation + k) for k in range(12))
            driver.work(30)
        with pp.profile_phase("learn"):
            driver.work(40)
    driver.finish()


main()
