"""Anonymous memory maps for scratch frames stay in a class attribute instead of being closed."""

import mmap
import time

from leakbench import Case, Truth


class FrameSource:
    open_maps = []

    @classmethod
    def grab(cls, value):
        page = mmap.mmap(-1, 300_000, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        page.write(bytes([value % 256]) * 300_000)
        cls.open_maps.append(page)
        return page


class Vision:
    def __init__(self, leaky):
        self.leaky = leaky
        self.source = FrameSource()

    def generation(self, pp, index):
        with pp.phase("grab"):
            frames = [self.source.grab(index + n) for n in range(4)]
            time.sleep(0.1)
        with pp.phase("classify"):
            sum(frame[100] for frame in frames)
            time.sleep(0.1)
        with pp.phase("release"):
            del frames
            if not self.leaky:
                while FrameSource.open_maps:
                    FrameSource.open_maps.pop().close()
            time.sleep(0.1)


CASE = Case(
    name="blind_scratch_pages",
    build=Vision,
    truth=Truth(
        phase="grab",
        kind="native",
        subject="mmap",
        holder=("FrameSource", "open_maps"),
        also=("objects", "container"),
        subject_also=("list",),
    ),
    source="synthetic",
    generations=24,
)
