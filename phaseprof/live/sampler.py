"""The sampling thread: readings between boundaries, and the peak of resident memory inside each phase."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Sequence

from phaseprof.errors import ProbeUnavailable
from phaseprof.live.budget import Budget
from phaseprof.live.clock_turns import ClockTurns
from phaseprof.live.recorder import Recorder
from phaseprof.native.extension import Samples, make_samples
from phaseprof.probes.process import StatmProbe, open_process_probe, parse_statm
from phaseprof.recording import format as fmt

THREAD_NAME = "phaseprof-sampler"
LABEL = "sample"
# Of the budget, the part that sampling may take; the rest is for what is read at boundaries and between generations.
SHARE_OF_BUDGET = 0.25
# Samples are handed over as often where no boundary comes before: so much of them a killed process loses at most.
HOLD_S = 0.5
# Samples kept for a program that marks nothing: enough for a curve, bounded however long it runs.
MAX_KEPT = 64
SHOWN = 24


class Sampler:
    """Reads the counters every so often in a thread of its own.

    Where the extension is there, the thread reads without the interpreter's lock, and takes the lock only to hand over
    what came together in ``HOLD_S``: each time that a thread asks for the lock, a loop in Python is interrupted and
    finds cold caches afterwards.  Boundaries of the program take over what was sampled before them.

    Peaks are those of resident memory at the samples: a rise and fall between two samples is missed, so a peak is a
    lower bound.  Nothing is reset to measure it.  The thread ends when the sampler is closed or dropped, and a forked
    child has none.

    Args:
        recorder: where readings go, as points of role ``sample``.
        budget: what sampling costs is charged here; where a sample is dear, the interval is stretched.
        every_s: seconds between two samples.

    Attributes:
        every_s: seconds between two samples.
        turns: generations by the clock, of a program that marks nothing.

    Raises:
        ProbeUnavailable: the process's memory cannot be read here.
    Cost: see ``docs/benchmarks.md``; where there is no extension, 0.5 ms a sample beside a loop in Python.
    """

    def __init__(self, recorder: Recorder, budget: Budget, every_s: float) -> None:
        self.every_s = every_s
        self._recorder = recorder
        self._budget = budget
        self._probe = open_process_probe()
        self._samples: Samples | None = None
        self._least = 2
        if type(self._probe) is StatmProbe:
            self._least = 3
            # Samples bear the system's clock, which must be that of all records.
            self._samples = make_samples(self._probe.fd) if budget.clock is time.perf_counter_ns else None
        self._open: list[str] = []
        self._peaks: dict[str, float] = {}
        self._kept: list[fmt.SnapshotTaken] = []
        self._n, self._stride = 0, 1
        self._took_ns = self._n_paid = 0
        self._label = recorder.label(LABEL, LABEL)
        self._began = budget.clock()
        self.turns = ClockTurns(self._began)
        # Made here, so that the thread never adds a key while another thread adds them up.
        budget.charge("sampling", 0)
        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=_run, args=(weakref.ref(self), self._stopped, self._samples), name=THREAD_NAME, daemon=True
        )
        self._thread.start()

    def opened(self, phase: str) -> None:
        """A phase begins, in any thread or task."""
        self.turns.drop()
        self.catch_up()
        self._open.append(phase)

    def closed(self, phase: str) -> None:
        """A phase ends; one whose beginning was not seen is none of ours."""
        self.catch_up()
        try:
            self._open.remove(phase)
        except ValueError:
            return

    def catch_up(self) -> None:
        """Take in what was sampled until now, before something changes that samples are told by.

        Cost: 0.1 µs where nothing was, 30 µs otherwise, which is ten times a second at most.
        """
        samples = self._samples
        if samples is not None and samples.is_waiting:
            try:
                self._take_in(samples.take())
            except ProbeUnavailable as error:
                self.stop_for(error)

    def sample(self) -> float:
        """Take one sample now; return the seconds until the next one that the budget allows.

        Raises:
            ProbeUnavailable: the process's memory cannot be read any more.
        """
        began_cpu = self._budget.cpu_clock()
        self._take_in([(self._budget.clock(), self._probe.read_raw())], began_cpu)
        return self._wait_s()

    def hold_ns(self) -> int:
        """How long samples may wait until they are handed over; not at all where devices are read with each."""
        return 0 if self._recorder.read_devices is not None else int(HOLD_S * 1e9)

    def hand_over(self, samples: Samples, took_ns: int) -> float:
        """Take in what the thread has sampled, which took it some processor time; return as ``sample`` does.

        Raises:
            ProbeUnavailable: what was read is not this process's memory.
        """
        self._charge(took_ns)
        self._take_in(samples.take())
        return self._wait_s()

    def _charge(self, took_ns: int) -> None:
        self._took_ns += took_ns
        self._budget.charge("sampling", took_ns)

    def _wait_s(self) -> float:
        """How long to wait after a sample, from what each has taken since this was last asked."""
        each_ns = self._took_ns / max(1, self._n - self._n_paid)
        self._took_ns, self._n_paid = 0, self._n
        if self._budget.share is None:
            return self.every_s
        return max(self.every_s, self._budget.after_effects * each_ns / 1e9 / (self._budget.share * SHARE_OF_BUDGET))

    def _take_in(self, readings: Sequence[tuple[int, bytes]], began_cpu: int | None = None) -> None:
        """Record readings, each with its time."""
        if not readings:
            return
        began_cpu = self._budget.cpu_clock() if began_cpu is None else began_cpu
        for now, raw in readings:
            figures = {name: float(value) for name, value in parse_statm(raw, least=self._least).items()}
            for phase in set(self._open):
                self._peaks[phase] = max(figures["rss_bytes"], self._peaks.get(phase, 0.0))
            self._keep(now, figures)
        self._recorder.samples(self._label, readings)
        self.turns.see(now, figures)
        self._charge(self._budget.cpu_clock() - began_cpu)

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
        self.turns.drop()
        self.catch_up()
        peaks, self._peaks = self._peaks, {}
        return {f"peak/{phase}_bytes": peak for phase, peak in peaks.items()}

    def take_curve(self) -> list[fmt.SnapshotTaken]:
        """Return the course of memory so far as labelled snapshots, at most ``SHOWN``, and forget it."""
        self.catch_up()
        kept, self._kept = self._kept, []
        step = max(1, -(-len(kept) // SHOWN))
        shown = kept[::step]
        return shown if not kept or shown[-1] is kept[-1] else [*shown, kept[-1]]

    def take_turns(self, *, at: str, first: int) -> int:
        """Record the generations by the clock, and take no more; see ``ClockTurns.write``."""
        self.catch_up()
        return self.turns.write(self._recorder.add, at=at, first=first)

    def stop_for(self, error: Exception) -> None:
        """Sampling failed: the recording says so, and goes on without."""
        if not self._stopped.is_set():
            self._end()
            self._recorder.note(f"sampling has stopped: {type(error).__name__}")

    def _end(self) -> None:
        self._stopped.set()
        if self._samples is not None:
            self._samples.stop()

    def close(self) -> None:
        """End the thread; may be called twice, and from the thread's own program only."""
        self._end()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout=5.0)
        self.catch_up()
        self._probe.close()
        self.turns.close()

    def abandon(self) -> None:
        """In a forked child: the thread is not there, only its descriptor is."""
        self._probe.close()
        self.turns.close()


def _run(held: weakref.ref[Sampler], stopped: threading.Event, samples: Samples | None) -> None:
    sampler = held()
    wait_s, hold_ns = (0.0, 0) if sampler is None else (sampler.every_s, sampler.hold_ns())
    del sampler
    began = time.thread_time_ns()
    try:
        while not stopped.wait(wait_s) if samples is None else samples.gather(int(wait_s * 1e9), hold_ns):
            sampler = held()
            if sampler is None:
                return
            if samples is None:
                wait_s = sampler.sample()
            else:
                wait_s = sampler.hand_over(samples, time.thread_time_ns() - began)
                began = time.thread_time_ns()
            hold_ns = sampler.hold_ns()
            del sampler
    except Exception as error:  # noqa: BLE001 - a thread of ours must not print tracebacks into a training run
        sampler = held()
        if sampler is not None:
            sampler.stop_for(error)


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
