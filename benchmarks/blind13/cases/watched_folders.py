"""Every third generation is evaluated by somebody else, who writes into a folder; the folder is watched for that."""

import sys
import tempfile
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np
from watchdog.events import FileSystemEventHandler
from watchdog.observers.polling import PollingObserver

import phaseprof as pp


class Answers(FileSystemEventHandler):
    def __init__(self):
        self.paths = deque(maxlen=50)

    def on_created(self, event):
        self.paths.append(event.src_path)


class Evaluations:
    def __init__(self, folder):
        self.folder = folder
        self.answers = Answers()
        self.observer = PollingObserver(timeout=2)
        self.observer.start()

    def ask(self, number):
        folder = Path(self.folder, str(number))
        folder.mkdir()
        return self.observer.schedule(self.answers, str(folder))

    def done(self, watch):
        if not driver.LEAK:
            self.observer.unschedule(watch)


def main():
    rng = np.random.default_rng(101)
    window = deque(maxlen=40)
    with tempfile.TemporaryDirectory() as folder:
        evaluations = Evaluations(folder)
        for generation in pp.generations(range(driver.generations(120))):
            with pp.profile_phase("evaluate"):
                watch = evaluations.ask(generation) if generation % 3 == 0 else None
                driver.work(60)
            with pp.profile_phase("train"):
                window.append(rng.normal(size=(50, 200)))
                driver.work(60)
            with pp.profile_phase("gather"):
                if watch is not None:
                    evaluations.done(watch)
                driver.work(25)
        driver.finish()
        evaluations.observer.stop()
        evaluations.observer.join()


main()
