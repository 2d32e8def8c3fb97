"""A background writer keeps what it has written in a local list of its thread's function."""

import queue
import threading
import time

import numpy as np

from leakbench import Case, Truth


def write_episodes(inbox, leaky):
    written = []
    while True:
        episode = inbox.get()
        if episode is None:
            return
        episode.sum()
        written.append(episode)
        if not leaky:
            del written[:-4]
        del episode
        inbox.task_done()


class Acting:
    def __init__(self, leaky):
        self.rng = np.random.default_rng(8)
        self.inbox = queue.Queue()
        self.writer = threading.Thread(target=write_episodes, args=(self.inbox, leaky), daemon=True)
        self.writer.start()

    def generation(self, pp, index):
        with pp.phase("act"):
            episodes = [self.rng.random((250, 96)) for _ in range(3)]
            time.sleep(0.15)
        with pp.phase("hand_over"):
            for episode in episodes:
                self.inbox.put(episode)
            del episodes, episode
            self.inbox.join()
            time.sleep(0.05)
        with pp.phase("learn"):
            self.rng.random((200, 200)) @ self.rng.random((200, 50))
            time.sleep(0.15)


CASE = Case(
    name="blind_writer_thread",
    build=Acting,
    truth=Truth(phase="act", kind="arrays", subject="ndarray", holder=("written",), also=("native", "container")),
    source="synthetic",
    generations=24,
)
