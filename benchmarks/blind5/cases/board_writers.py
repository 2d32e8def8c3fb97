"""Every trial of a search logs to TensorBoard through a writer of its own."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter


class Trials:
    def __init__(self):
        self.writers = {}
        self.scores = []

    def begin(self, number):
        writer = self.writers[number] = EventFileWriter(f"runs/trial{number}", flush_secs=30)
        return writer

    def end(self, number, score):
        self.scores.append(score)
        if driver.LEAK:
            self.writers[number].flush()
        else:
            self.writers.pop(number).close()


def scalar(tag, value, step):
    return Event(step=step, summary=Summary(value=[Summary.Value(tag=tag, simple_value=value)]))


def main():
    trials = Trials()
    rng = np.random.default_rng(3)
    for generation in pp.generations(range(driver.GENERATIONS)):
        weights = rng.standard_normal(64)
        with pp.profile_phase("start_trial"):
            writer = trials.begin(generation)
            driver.work(10)
        with pp.profile_phase("train"):
            for step in range(20):
                batch = rng.random((32, 64))
                error = batch @ weights - batch.sum(1)
                weights -= 1e-3 * batch.T @ error
                writer.add_event(scalar("loss", float((error ** 2).mean()), step))
            driver.work(45)
        with pp.profile_phase("end_trial"):
            trials.end(generation, float((error ** 2).mean()))
            del writer
            driver.work(10)
    driver.finish()


main()
