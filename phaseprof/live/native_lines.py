"""Traces native allocations through one phase of one generation, where the program has imported memray."""

from __future__ import annotations

from collections.abc import Callable

from phaseprof.interrupts import raise_the_programs
from phaseprof.live.budget import Budget
from phaseprof.live.recorder import Recorder
from phaseprof.probes.native_lines import NativeMade, NativeTrace, loaded_memray
from phaseprof.recording import format as fmt
from phaseprof.records import NATIVE_MEMORY

# Under these names it is charged: to begin and to end a trace, and what the phase took longer than it usually does.
JOB, SLOWED = "native lines", "native tracing"
# What a trace takes to begin and end, and with the stacks of native functions, whose names are looked up.
_TAKES_NS, _WITH_STACKS_NS = 50_000_000, 1_000_000_000
# Generations in which memory must have risen that places do not explain; so many times it is traced.
_LEAST_GENERATION, _MOST_TURNS, _BETWEEN = 6, 2, 6
_MOST_LINES, _LEAST_PART = 8, 0.01


class NativeLines:
    """Learns from one visit of the guilty phase which lines allocated native memory that stays.

    Args:
        recorder: takes what was found.
        budget: admits it, and is charged what the phase took longer.
        is_wanted: whether memory rises that no place explains.
        guilty: the phase in which memory rises most, ``None`` where that is not known.
        usual_ns: what a visit of a phase takes on average; 0 if that is not known.
    """

    def __init__(
        self,
        recorder: Recorder,
        budget: Budget,
        *,
        is_wanted: Callable[[], bool],
        guilty: Callable[[], str | None],
        usual_ns: Callable[[str], int],
    ) -> None:
        self._recorder, self._budget = recorder, budget
        self._is_wanted, self._guilty, self._usual_ns = is_wanted, guilty, usual_ns
        self._trace: NativeTrace | None = None
        self._began_ns = self._n_turns = self._next_at = 0
        self.phase: str | None = None

    def at_generation_end(self, generation: int) -> None:
        """Decide whether a visit is traced in the next generation."""
        if self.phase is not None or self._n_turns >= _MOST_TURNS or generation < max(_LEAST_GENERATION, self._next_at):
            return
        if loaded_memray() is None or not self._is_wanted():
            return
        phase = self._guilty()
        if phase is not None and self._budget.admits_tracing(JOB, _TAKES_NS, self._usual_ns(phase)):
            self.phase, self._next_at = phase, generation + _BETWEEN
            self._n_turns += 1

    def enter(self) -> None:
        """The phase begins."""
        memray = loaded_memray()
        if memray is None or self._trace is not None:
            return
        stacks = self._budget.share is None or self._budget.max_pause_ns >= _WITH_STACKS_NS
        try:
            with self._budget.spending(JOB):
                self._trace = NativeTrace(memray, stacks=stacks)
        except (OSError, RuntimeError) as error:  # the disk is full, or the program traces itself
            raise_the_programs(error)
            self._give_up(error)
        self._began_ns = self._budget.clock()

    def leave(self) -> None:
        """The phase ends."""
        trace, phase, self._trace, self.phase = self._trace, self.phase, None, None
        if trace is None or phase is None:
            return
        took_ns = self._budget.clock() - self._began_ns
        self._budget.charge(SLOWED, max(0, took_ns - self._usual_ns(phase)))
        try:
            with self._budget.spending(JOB):
                rows = _rows(trace.stop())
        except (OSError, RuntimeError) as error:
            raise_the_programs(error)
            self._give_up(error)
        else:
            self._n_turns = _MOST_TURNS if rows else self._n_turns
            self._recorder.add(fmt.Sites(self._budget.clock(), self._recorder.generation, phase, rows))

    def end(self) -> None:
        """The generation ends; a visit that was left without a word ends with it."""
        if self._trace is not None:
            self.leave()

    def _give_up(self, error: Exception) -> None:
        self._recorder.note(f"the lines that allocate native memory are not known ({type(error).__name__})")
        self.phase, self._n_turns = None, _MOST_TURNS

    def stop(self) -> None:
        """Trace no more, whatever was begun."""
        trace, self._trace, self.phase = self._trace, None, None
        if trace is not None:
            trace.end()


def _rows(made: list[NativeMade]) -> list[fmt.Site]:
    least = _LEAST_PART * sum(one.n_bytes for one in made)
    return [
        fmt.Site([NATIVE_MEMORY], one.name, one.file, one.line, one.n_blocks, one.n_bytes, one.function)
        for one in made[:_MOST_LINES] if one.n_bytes >= least
    ]  # fmt: skip
