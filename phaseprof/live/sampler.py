"""The sampling thread: readings between boundaries, and the peak of resident memory inside each phase."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable

from phaseprof.errors import ProbeUnavailable
from phaseprof.live.budget import Budget
from phaseprof.live.clock_turns import ClockTurns
from phaseprof.live.recorder import Recorder
from phaseprof.probes.process import open_process_probe
from phaseprof.recording import format as fmt

THREAD_NAME = "phaseprof-sampler"
LABEL = "sample"
# Of the budget, the part that sampling may take; the rest is for what is read at boundaries and between generations.
SHARE_OF_BUDGET = 0.25
# Samples kept for a program that marks nothing: enough for a curve, bounded however long it runs.
MAX_KEPT = 64
SHOWN = 24


class Sampler:
    """Reads the counters every so often in a thread of its own.

    Peaks are those of resident memory at the samples: a rise and fall between two samples is missed, so a peak is a
    lower bound.  Nothing is reset to measure it.  The thread ends when the sampler is closed or dropped, and a forked
    child has none.

    Args:
        recorder: where readings go, as points of role ``sample``.
        budget: what sampling costs is charged here; where a sample is dear, the interval is stretched.
        every_s: seconds between two samples.

    Raises:
        ProbeUnavailable: the process's memory cannot be read here.
    Cost: 25 µs a sample (two shared EPYC cores, Python 3.11), most of it for waking the thread.
    """

    def __init__(self, recorder: Recorder, budget: Budget, every_s: float) -> None:
        self.every_s = every_s
        self._recorder = recorder
        self._budget = budget
        self._probe = open_process_probe()
        self._open: list[str] = []
        self._peaks: dict[str, float] = {}
        self._kept: list[fmt.SnapshotTaken] = []
        self._n, self._stride = 0, 1
        self._label = recorder.label(LABEL, LABEL)
        self._began = budget.clock()
        self.turns = ClockTurns(self._began)
        # Made here, so that the thread never adds a key while another thread adds them up.
        budget.charge("sampling", 0)
        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=_run, args=(weakref.ref(self), self._stopped, every_s), name=THREAD_NAME, daemon=True
        )
        self._thread.start()

    def opened(self, phase: str) -> None:
        """A phase begins, in any thread or task."""
        self._open.append(phase)

    def closed(self, phase: str) -> None:
        """A phase ends; one whose beginning was not seen is none of ours."""
        try:
            self._open.remove(phase)
        except ValueError:
            return

    def sample(self) -> float:
        """Take one sample now; return the seconds until the next one that the budget allows.

        Raises:
            ProbeUnavailable: the process's memory cannot be read any more.
        """
        began, began_cpu = self._budget.clock(), self._budget.cpu_clock()
        figures = {name: float(value) for name, value in self._probe.read().items()}
        self._recorder.point(self._label, fmt.POINT)
        rss = figures["rss_bytes"]
        for phase in set(self._open):
            self._peaks[phase] = max(rss, self._peaks.get(phase, 0.0))
        self._keep(began, figures)
        self.turns.see(began, figures)
        took = self._budget.cpu_clock() - began_cpu
        self._budget.charge("sampling", took)
        if self._budget.share is None:
            return self.every_s
        return max(self.every_s, took / 1e9 / (self._budget.share * SHARE_OF_BUDGET))

    def _keep(self, now: int, figures: dict[str, float]) -> None:
        """Keep a bounded number of samples, evenly spaced: when it is reached, every other one is dropped."""
        if self._n % self._stride == 0:
            seconds = (now - self._began) / 1e9
            self._kept.append(fmt.SnapshotTaken(now, -1, f"after {seconds:.2f} s", figures))
            if len(self._kept) > MAX_KEPT:
                self._kept = self._kept[::2]
                self._stride *= 2
        self._n += 1

    def take_peaks(self) -> dict[str, float]:
        """Return ``peak/<phase>_bytes`` of the phases that a sample fell into since the last call, and forget them."""
        peaks, self._peaks = self._peaks, {}
        return {f"peak/{phase}_bytes": peak for phase, peak in peaks.items()}

    def take_curve(self) -> list[fmt.SnapshotTaken]:
        """Return the course of memory so far as labelled snapshots, at most ``SHOWN``, and forget it."""
        kept, self._kept = self._kept, []
        step = max(1, -(-len(kept) // SHOWN))
        shown = kept[::step]
        return shown if not kept or shown[-1] is kept[-1] else [*shown, kept[-1]]

    def stop_for(self, error: Exception) -> None:
        """Sampling failed: the recording says so, and goes on without."""
        self._recorder.note(f"sampling has stopped: {type(error).__name__}")

    def close(self) -> None:
        """End the thread; may be called twice, and from the thread's own program only."""
        self._stopped.set()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout=5.0)
        self._probe.close()
        self.turns.close()

    def abandon(self) -> None:
        """In a forked child: the thread is not there, only its descriptor is."""
        self._probe.close()
        self.turns.close()


def _run(held: weakref.ref[Sampler], stopped: threading.Event, every_s: float) -> None:
    wait_s = every_s
    while not stopped.wait(wait_s):
        sampler = held()
        if sampler is None:
            return
        try:
            wait_s = sampler.sample()
        except Exception as error:  # noqa: BLE001 - a thread of ours must not print tracebacks into a training run
            sampler.stop_for(error)
            return
        del sampler


def start_sampler(
    recorder: Recorder, budget: Budget, every_s: float | None, warn: Callable[[str], None]
) -> Sampler | None:
    """Start sampling if an interval is given; where it cannot be done, warn and go without."""
    if every_s is None:
        return None
    try:
        return Sampler(recorder, budget, every_s)
    except (ProbeUnavailable, RuntimeError) as error:
        warn(f"the sampling thread could not be started: {error}")
        return None


def marks_nothing(recorder: Recorder) -> bool:
    """Whether the program has marked no phase, checkpoint or generation so far."""
    model = recorder.model
    is_declared = any(not generation.implied for generation in model.generations)
    return not is_declared and all(label.role == LABEL for label in model.labels.values())


def flush(sampler: Sampler, recorder: Recorder) -> None:
    """Record the course of memory for a program that marked nothing, so that its recording shows something."""
    model = recorder.model
    if not model.snapshots and all(label.role == LABEL for label in model.labels.values()):
        for snapshot in sampler.take_curve():
            recorder.add(snapshot)
