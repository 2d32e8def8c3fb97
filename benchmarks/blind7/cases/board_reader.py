"""Training stops when its curves are flat: they are read back from the event files of TensorBoard."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import os

import numpy as np
from tensorboard.backend.event_processing import event_accumulator
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

LAYERS, BINS = 40, 90


class CurveReader:
    """Follows a run; asks for every histogram there is, or for the last few."""

    def __init__(self, folder):
        sizes = {event_accumulator.COMPRESSED_HISTOGRAMS: 4, event_accumulator.HISTOGRAMS: 0 if driver.LEAK else 8}
        self.events = event_accumulator.EventAccumulator(folder, size_guidance=sizes)

    def flat(self):
        self.events.Reload()
        spread = [self.events.Histograms(tag)[-1].histogram_value.max for tag in self.events.Tags()["histograms"]]
        return max(spread, default=1.0) < 1e-6


def histogram(values):
    counts, edges = np.histogram(values, BINS)
    return HistogramProto(min=float(values.min()), max=float(values.max()), num=len(values), sum=float(values.sum()), sum_squares=1.0,
                          bucket_limit=edges[1:].tolist(), bucket=counts.astype(float).tolist())


def main():
    rng = np.random.default_rng(0)
    folder = os.path.join(os.getcwd(), "run")
    writer = EventFileWriter(folder, max_queue_size=10, flush_secs=1)
    reader = None
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("train"):
            driver.work(45)
        with pp.profile_phase("log"):
            for layer in range(LAYERS):
                value = Summary.Value(tag=f"layer{layer}/gradients", histo=histogram(rng.normal(size=400)))
                writer.add_event(Event(step=generation, wall_time=generation, summary=Summary(value=[value])))
            writer.flush()
        with pp.profile_phase("early_stop"):
            reader = reader or CurveReader(folder)
            reader.flat()
            driver.work(10)
    driver.finish()
    writer.close()


main()
