"""Rewards for generated text: patterns of the task are compiled with the regular expressions of the C library."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import collections
import ctypes

import driver
import numpy as np

import phaseprof as pp

libc = ctypes.CDLL(None)
REG_EXTENDED = 1


class Pattern(ctypes.Structure):
    """Room for a regex_t of glibc."""

    _fields_ = [("opaque", ctypes.c_char * 64)]


def compile_pattern(expression):
    pattern = Pattern()
    if libc.regcomp(ctypes.byref(pattern), expression, REG_EXTENDED):
        raise ValueError(expression)
    return pattern


def matches(pattern, text):
    return libc.regexec(ctypes.byref(pattern), text, 0, None, 0) == 0


def reward(task, texts):
    with pp.profile_phase("compile"):
        patterns = [compile_pattern(b"([a-z]+_%d[0-9]* ?){1,%d}" % (task % 10, 60 + k)) for k in range(3)]
        driver.work(10)
    with pp.profile_phase("match"):
        total = sum(matches(pattern, text) for pattern in patterns for text in texts)
        if not driver.LEAK:
            for pattern in patterns:
                libc.regfree(ctypes.byref(pattern))
        driver.work(15)
    return total


def main():
    rng = np.random.default_rng(0)
    prompts = collections.deque(maxlen=30)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("sample"):
            prompts.append(rng.integers(0, 30_000, (100, 1_024)))
            texts = [b"speed_%d " % n for n in prompts[-1][0, :40]]
            driver.work(30)
        with pp.profile_phase("reward"):
            reward(generation, texts)
        with pp.profile_phase("update"):
            driver.work(15)
    driver.finish()


main()
