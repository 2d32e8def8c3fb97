"""The driver of the third set, for sixty generations or as many as a program asks for, and with waits."""

import os
import pathlib
import runpy
import time

_asked = os.environ.get("BLIND_GENERATIONS")
os.environ.setdefault("BLIND_GENERATIONS", "60")
globals().update(runpy.run_path(str(pathlib.Path(__file__).resolve().parents[1] / "blind3" / "driver.py")))
_scale = float(os.environ.get("BLIND_SCALE", "1"))


def generations(number: int) -> int:
    """How many generations a longer program has: its own number, unless the environment says otherwise."""
    return int(_asked or number)


def wait(milliseconds: float) -> None:
    """Do nothing for so long, as if a device were at work."""
    time.sleep(milliseconds * _scale / 1_000)
