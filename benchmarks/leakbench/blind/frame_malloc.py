"""A renderer gets its frame buffers from the C library and gives only the last one back."""

import ctypes
import time

import numpy as np

from leakbench import Case, Truth

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
FRAME_BYTES = 400_000


class Renderer:
    def __init__(self, leaky):
        self.leaky = leaky
        self.brightness = 0.0

    def render(self, frames):
        pointer = None
        for n in range(frames):
            if pointer and not self.leaky:
                libc.free(pointer)
            pointer = libc.malloc(FRAME_BYTES)
            ctypes.memset(pointer, n + 1, FRAME_BYTES)
        pixels = np.ctypeslib.as_array(ctypes.cast(pointer, ctypes.POINTER(ctypes.c_ubyte)), (FRAME_BYTES,))
        self.brightness = float(pixels.mean())
        del pixels
        libc.free(pointer)

    def generation(self, pp, index):
        with pp.phase("simulate"):
            np.random.default_rng(index).random((100, 100)).sum()
            time.sleep(0.1)
        with pp.phase("render"):
            self.render(4)
            time.sleep(0.15)
        with pp.phase("learn"):
            round(self.brightness)
            time.sleep(0.1)


CASE = Case(
    name="blind_frame_malloc",
    build=Renderer,
    truth=Truth(phase="render", kind="native"),
    source="synthetic",
    generations=24,
)
