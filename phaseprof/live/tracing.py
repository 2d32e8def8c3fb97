"""Traces allocations through one phase of one generation, to learn which lines make what stays."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass

from phaseprof.live.budget import EXPECTED_TIMES, Budget
from phaseprof.live.collector import without_collections
from phaseprof.live.native_lines import NativeLines
from phaseprof.live.placing import PlaceWatch
from phaseprof.live.recorder import Recorder
from phaseprof.live.suspects import COUNTED
from phaseprof.native.extension import tracing
from phaseprof.probes.sites import (
    Made,
    Tracer,
    find_tracer,
    functions_around,
    made_and_there,
    made_at,
    pause_tracing,
    spare_numbers,
    start_tracing,
    stop_tracing,
)
from phaseprof.recording import format as fmt
from phaseprof.recording.folding import OUTSIDE
from phaseprof.records import STAYED, UNREACHABLE

# Under these names it is charged: finding the lines, what the phase took longer than it usually does, and finding the
# lines of what stayed, wherever it lies.
JOB, SLOWED, ANYWHERE = "lines", "tracing", "lines of what stayed"
# How often something is traced in a run, and how often for one place: in the phase alone, and in a whole generation, by
# turns.
_MOST_TURNS, _EACH = 5, 4
# Generations in which it may still be seen where what grows is born.
_WAITS = 6
# What was traced and did not lie at the places at once is looked for so many generations later: another phase may put
# it there, or the next generation, and what is only replaced is gone then.
_STAYS = 2
# Where no look says what grows, what stayed is looked for wherever it lies: so often, and for about so long.
_MOST_ANYWHERE, _ANYWHERE_NS = 2, 30_000_000
# Generations from one that is traced to the next, and one more at one time: of what comes in every second, third or
# fourth generation, the tries meet all kinds.  And those that a phase is waited for which does not come in each.
_APART, _SHIFT_AT, _PATIENCE = 4, 3, 24
# What took more than twice its time, and so much longer, is told; as much may be due to the start alone.
_SLOWER, _LEAST_SLOWED_NS = 2.0, 20_000_000
# Places that brought less than this part of what came are no news; so many are asked about.
_PART, _MOST_PLACES = 0.02, 8
# To find the objects and ask them may take this part of the longest pause: the interpreter forgets 24,000 traces after
# that, at 0.3 µs each.  To name the functions takes another pause, of half as long at most.
_ASKING, _NAMING = 0.9, 0.5
# Lines of one place that are recorded.
_MOST_LINES = 32
_MEMORY = ("malloc_in_use_bytes", "python_blocks")


@dataclass
class _Plan:
    """What is to be traced: the places that are asked about, and the phase; ``None``: a whole generation.

    Where there are no places, it is asked what stayed, wherever that lies.
    """

    places: dict[int, fmt.Place]
    libraries: bool
    phase: str | None
    waited: int = 0


class LineTracer:
    """Learns from one visit of the guilty phase which lines made what has come to the places that grow.

    Nothing is traced until places have grown and a leak is suspected; then one visit of the phase in which most of
    that is born, or one generation where the phase is not known.  A program that traces itself is left as it is: its
    traces are read.

    Args:
        recorder: takes what was found.
        budget: admits it, and is charged what the phase took longer.
        places: knows which places grew.
        is_suspected: whether something leaks, as far as the counters tell.
    """

    def __init__(
        self, recorder: Recorder, budget: Budget, places: PlaceWatch, is_suspected: Callable[[], bool]
    ) -> None:
        self._recorder = recorder
        self._budget = budget
        self._places = places
        self._is_suspected = is_suspected
        self._plan: _Plan | None = None
        self._tracer: Tracer | None = None  # while it traces
        self._is_ours = False
        self._spares: list[float] = []
        self._tried: dict[int, list[str | None]] = {}
        self._known: set[int] = set()
        self._untold: list[tuple[str | None, list[fmt.Site], int]] = []  # phase, lines, and generation
        self._times = EXPECTED_TIMES  # as long as usual
        self._n_turns = self._n_anywhere = self._next_at = 0
        self._wait_until: int | None = None  # the generation until which it may be seen where what grows is born
        self._left = 0  # generations until it is looked again for what was traced
        self._began_ns = self._began_cpu_ns = self._took_ns = 0  # of what is traced
        self._turn_began_ns = self._turn_began_cpu = 0
        self._turn_ns = self._turn_cpu_ns = 0  # what a generation takes
        self._native = NativeLines(
            recorder, budget, is_wanted=lambda: places.leaves_unexplained and is_suspected(),
            guilty=lambda: self._guilty(())[0], usual_ns=self._usual_ns,
        )  # fmt: skip

    @property
    def is_tracing(self) -> bool:
        """Whether traces are kept of what was allocated: counters show what the tracer takes, too."""
        return self._tracer is not None and self._is_ours

    # --- boundaries -------------------------------------------------------------------------------------------------

    def begin(self) -> str | None:
        """A generation begins that is recorded; return the phase of which a visit is to be recorded."""
        self._turn_began_ns, self._turn_began_cpu = self._budget.clock(), self._budget.cpu_clock()
        if self._plan is None:
            return self._native.phase
        if self._plan.phase is None and self._tracer is None:
            self._start(self._plan)
        return self._plan.phase

    def enter(self) -> None:
        """The phase begins."""
        if self._plan is not None and self._tracer is None:
            self._start(self._plan)
        elif self._native.phase is not None:
            self._native.enter()

    def leave(self) -> None:
        """The phase ends, and what it has made is looked at while the traces are there."""
        if self._tracer is not None and not self._left:
            without_collections(self._end_traced)
        elif self._plan is None:
            self._native.leave()

    def end(self) -> None:
        """The generation ends."""
        self._native.end()
        if self._tracer is None:
            self._take_turn()
        elif not self._left:
            without_collections(self._end_traced)
        else:
            self._left -= 1
            if not self._left:
                without_collections(self._look_again)
        if self._plan is not None and self._tracer is None:
            self._plan.waited += 1
            if self._plan.waited > _PATIENCE:  # the phase has not come: what is made elsewhere may be what stays
                self._plan = None

    def _take_turn(self) -> None:
        """Take in what a generation takes that is not traced."""
        if self._turn_began_ns:
            ns, cpu_ns = self._budget.clock() - self._turn_began_ns, self._budget.cpu_clock() - self._turn_began_cpu
            self._turn_ns = ns if not self._turn_ns else min(2 * self._turn_ns, (self._turn_ns + ns) // 2)
            self._turn_cpu_ns = (self._turn_cpu_ns + cpu_ns) // 2 if self._turn_cpu_ns else cpu_ns
            self._turn_began_ns = 0

    def stop(self) -> None:
        """Trace no more, whatever was begun: the recording ends, or goes on in a forked child."""
        self._native.stop()
        self._end_tracing()
        self._untold = []

    def _end_tracing(self) -> None:
        """Trace no more; what was found waits to be told."""
        tracer, self._tracer, self._plan, self._left = self._tracer, None, None, 0
        if tracer is not None and self._is_ours:
            stop_tracing(tracer)
        self._spares = []

    def _start(self, plan: _Plan) -> None:
        tracer, why = find_tracer(is_bounded=self._budget.max_pause_ns < math.inf)
        if tracer is None:
            self._recorder.note(f"the lines that made what grows are not known: {why}")
            self._plan, self._n_turns = None, _MOST_TURNS
            return
        if self._tracer is not None:  # another thread was faster: no call lies between this and the next line
            return
        self._tracer = tracer
        self._is_ours = not tracer.is_tracing()
        self._began_ns, self._took_ns = self._budget.clock(), self._budget.took_ns
        self._began_cpu_ns = self._budget.cpu_clock()
        if self._is_ours:
            self._spares = spare_numbers()
            start_tracing(tracer)

    def _end_traced(self) -> None:
        """What is traced ends: look up what lies at the places, and look again later for what does not yet."""
        tracer, plan = self._tracer, self._plan
        if tracer is None or plan is None:
            return
        slowed_ns, usual_ns = self._slowed_ns(plan)
        pause_tracing()
        if plan.places:
            self._look(tracer, plan)
        self._charge(plan, slowed_ns, usual_ns)
        plan.places = {place: row for place, row in plan.places.items() if place not in self._known}
        if self._plan is not None:
            self._left = _STAYS + (plan.phase is not None)  # the end of this generation is one

    def _look_again(self) -> None:
        """Look for what was made some generations before."""
        tracer, plan = self._tracer, self._plan
        if tracer is not None and plan is not None:
            self._look(tracer, plan, is_last=True)

    def _look(self, tracer: Tracer, plan: _Plan, *, is_last: bool = False) -> None:
        """Look up what was traced, at the places or wherever it lies; at the last look, or if all is known, end it."""
        job, limit_s = JOB if plan.places else ANYWHERE, self._pause_s(_ASKING)
        # What is made here is traced by a tracer that does not pause: it ends as soon as it can.
        done = self._end_tracing if is_last else int
        made: list[Made] | None = None
        try:
            with self._budget.spending(job):
                if plan.places:
                    made = made_at(tracer, plan.places, libraries=plan.libraries, limit_s=limit_s, done=done)
                else:
                    made = made_and_there(tracer, limit_s=limit_s, done=done)
            heaviest = {place: _heaviest(row) for place, row in plan.places.items()}
            self._known.update(one.place for one in made if one.file and one.type_name == heaviest.get(one.place))
        finally:
            self._turn_began_ns = 0
            if is_last or made is None or (plan.places and plan.places.keys() <= self._known):
                self._end_tracing()
        rows = [
            fmt.Site(
                plan.places[one.place].steps if plan.places else [STAYED],
                one.type_name, one.file, one.line, one.n_objects, one.n_bytes,
            )
            for one in made
        ]  # fmt: skip
        self._untold.append((plan.phase, rows, self._recorder.generation))
        self._n_anywhere += bool(rows) and not plan.places

    def _slowed_ns(self, plan: _Plan) -> tuple[int, int]:
        """How much longer it took than it usually does, our own looks left out; and what it usually takes."""
        looks_ns = self._budget.took_ns - self._took_ns
        ns, cpu_ns = self._budget.clock() - self._began_ns, self._budget.cpu_clock() - self._began_cpu_ns
        if plan.phase is None and self._turn_cpu_ns:
            return cpu_ns - self._turn_cpu_ns - looks_ns, self._turn_cpu_ns
        # On a busy machine the phase may have waited for a processor: it was slowed by no more than it computed.
        usual_ns = self._usual_ns(plan.phase)
        return min(ns - usual_ns, cpu_ns) - looks_ns, usual_ns

    def tell(self, until: float = math.inf) -> None:
        """Record what was made in generations before one, with the names of functions: the program has run since."""
        while self._untold and self._untold[0][2] < until:
            phase, rows, generation = self._untold.pop(0)
            with self._budget.spending(JOB):
                self._record(phase, rows, generation)

    def _record(self, phase: str | None, rows: list[fmt.Site], generation: int) -> None:
        kept: list[fmt.Site] = []
        told: dict[tuple[str, ...], int] = {}
        for row in rows:
            key = tuple(row.steps)
            told[key] = told.get(key, 0) + 1
            if told[key] <= _MOST_LINES:
                kept.append(row)
        self._name_functions(kept)
        if kept:
            self._recorder.add(fmt.Sites(self._budget.clock(), generation, phase or "", kept))

    def _name_functions(self, rows: list[fmt.Site]) -> None:
        """Name the functions of the lines, the heaviest first, as far as a part of a pause goes."""
        until = self._budget.clock() + (self._pause_s(_NAMING) or math.inf) * 1e9
        for file in dict.fromkeys(row.file for row in rows if row.file):
            if self._budget.clock() > until:
                return
            here = [row for row in rows if row.file == file]
            names = functions_around(file, {row.line for row in here})
            for row in here:
                row.function = names.get(row.line, "")

    def _pause_s(self, part: float) -> float | None:
        """How long such a part of the longest pause is; ``None``: there is none."""
        limit_ns = self._budget.max_pause_ns
        return None if limit_ns == math.inf else part * limit_ns / 1e9

    def _charge(self, plan: _Plan, slowed_ns: int, usual_ns: int) -> None:
        if not self._is_ours:
            return
        self._budget.charge(SLOWED, max(0, slowed_ns))
        if usual_ns and slowed_ns > max(_LEAST_SLOWED_NS, (_SLOWER - 1) * usual_ns):
            where = f"phase {plan.phase}" if plan.phase else "the generation"
            times = 1 + slowed_ns / usual_ns
            self._times = max(self._times, times - _LEAST_SLOWED_NS / usual_ns)
            self._recorder.note(f"{where} took {times:.1f} times as long once, to trace which lines allocate")

    # --- what is worth it -------------------------------------------------------------------------------------------

    def at_generation_end(self, generation: int) -> None:
        """Decide whether something is traced in the next generation."""
        self.tell(generation)
        if self._plan is None:
            self._native.at_generation_end(generation)
        is_busy = self._native.phase is not None or self._plan is not None
        if is_busy or self._n_turns >= _MOST_TURNS or generation < self._next_at:
            return
        wanted = self._unknown()
        if self._n_anywhere < _MOST_ANYWHERE and self._places.sees_nothing and tracing() is not None:
            wanted = {}
        elif not wanted:
            return
        plan = self._next_plan(wanted, generation) if self._is_suspected() else None
        if plan is None or not self._admits(plan):
            return
        for place in plan.places:
            self._tried.setdefault(place, []).append(plan.phase)
        self._plan = plan
        self._n_turns += 1
        self._next_at = generation + _APART + (self._n_turns == _SHIFT_AT)

    def _next_plan(self, wanted: dict[int, fmt.Place], generation: int) -> _Plan | None:
        """Say what to trace for some places, or wherever it lies; ``None`` while its phase may still be seen."""
        phase, is_sure = (None, True) if _is_dropped(wanted.values()) else self._guilty(wanted.values())
        if self._wait_until is None:
            self._wait_until = generation + _WAITS
        if not is_sure and generation < self._wait_until:
            return None
        if wanted and phase is not None and all(self._is_next_whole(place, phase) for place in wanted):
            phase = None
        return _Plan(wanted, self._places.grown_libraries, phase)

    def _is_next_whole(self, place: int, phase: str) -> bool:
        """Whether a whole generation is due: what was not found may be made in another phase, or was passed over."""
        tried = self._tried.get(place, [])
        return tried.count(phase) > tried.count(None)

    def _unknown(self) -> dict[int, fmt.Place]:
        """Return the places that brought most, of which no line is known."""
        grown = self._places.grown
        came = sum(row.bytes for row in grown.values())
        wanted = {
            place: row
            for place, row in grown.items()
            if place not in self._known
            and len(self._tried.get(place, ())) < _EACH
            and (row.bytes >= _PART * came or (row.graphs and not row.bytes))
        }
        return dict(list(wanted.items())[:_MOST_PLACES])

    def _guilty(self, rows: Collection[fmt.Place]) -> tuple[str | None, bool]:
        """Return the phase in which what came to the places was born, and whether it was followed itself.

        Else it is the one in which memory rose most, or what else there is more of, or ``None``.
        """
        births = {record.subject: record.phases for record in self._recorder.model.births if record.phases}
        types = [name for row in rows for name in _telling(row)]
        for name in dict.fromkeys(types):
            born = births.get(f"watched/{name.rpartition('.')[2]}")
            if born is not None:
                return _most(born), True
        subjects = (*_MEMORY, *COUNTED) if self._places.rises else (*COUNTED, *_MEMORY)
        phase = next((_most(births[one]) for one in subjects if one in births), None)
        return (None if phase == OUTSIDE else phase), False

    def _admits(self, plan: _Plan) -> bool:
        """Whether the budget has room for what the phase is expected to take longer, and for the look."""
        if plan.places:
            look_ns, job = self._places.look_ns(libraries=plan.libraries), JOB
        else:
            look_ns, job = self._budget.estimate_ns(ANYWHERE, _ANYWHERE_NS), ANYWHERE
        usual_ns = min(self._usual_ns(plan.phase), self._turn_cpu_ns or self._turn_ns)
        return self._budget.admits_tracing(job, look_ns, usual_ns, self._times)

    def _usual_ns(self, phase: str | None) -> int:
        """What a visit of a phase, or a generation, takes on average; 0 if that is not known."""
        if phase is None:
            return self._turn_ns
        totals = self._recorder.model.phases.get(phase)
        return totals.ns // totals.timed if totals is not None and totals.timed else 0


def _is_dropped(rows: Collection[fmt.Place]) -> bool:
    """Whether what came is in rings that nothing leads to: while the phase runs, the program still has them."""
    return any(row.steps[:1] == [UNREACHABLE] for row in rows)


def _telling(row: fmt.Place) -> list[str]:
    """Return the types that brought most to a place, and that of the place itself."""
    return [*(part[0] for part in row.direct[:1]), *(part[0] for part in row.inside[:2]), row.type]


def _heaviest(row: fmt.Place) -> str:
    """Return the type that brought most bytes to a place."""
    return row.inside[0][0] if row.inside else row.type


def _most(phases: dict[str, list[float]]) -> str | None:
    """Return the phase that bore most, by bytes and then by number."""
    return max(phases, key=lambda phase: (phases[phase][1], phases[phase][0]), default=None)
