"""What is measured at the end of a generation, in order of worth, as far as the budget reaches."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from phaseprof.errors import ProbeUnavailable
from phaseprof.live import families, suspicion
from phaseprof.live.budget import RECORDING, Budget
from phaseprof.live.closing import ClosingLook, is_torn_down
from phaseprof.live.collector import without_collections
from phaseprof.live.devices import Devices
from phaseprof.live.escalation import SEARCHED_NS, Escalation, heap_ns
from phaseprof.live.investigation import Investigation
from phaseprof.live.own_memory import OwnMemory
from phaseprof.live.placing import PlaceWatch
from phaseprof.live.recorder import Recorder
from phaseprof.live.references import References
from phaseprof.live.settings import Settings
from phaseprof.live.sizing import TrackedSizes
from phaseprof.live.spare import room
from phaseprof.live.suspects import AT, Suspects
from phaseprof.live.tracing import LineTracer
from phaseprof.live.tracking import TrackList
from phaseprof.live.trial_trim import try_trim
from phaseprof.live.visits import SHORTEST_NS
from phaseprof.live.watching import Watched, WatchList, counts_of
from phaseprof.native.extension import extension, missing_because
from phaseprof.probes import census
from phaseprof.probes.categories import tensor_categories
from phaseprof.probes.gc_watch import GcWatch
from phaseprof.probes.libraries import is_installed
from phaseprof.probes.protocol import Probe
from phaseprof.probes.registry import PROBES, available_probes
from phaseprof.probes.skipped import skipped
from phaseprof.probes.tensors import loaded_torch
from phaseprof.probes.typeinfo import with_subclasses
from phaseprof.recording import format as fmt

COUNTERS = ("limits", "children", "child growth", "descriptors", "threads", "shared memory", "shared pages", "malloc")
# Jobs of a generation's end, cheapest first, with what each is taken to cost before it was measured: nanoseconds for
# each object that the collector tracks, by the passes in Python and in C, and how many those are where nothing tells.
FIRST_COST = {"tracked": 10, "watched": 30, "types": 120}
FIRST_COST_IN_C = {"tracked": 10, "watched": 30, "types": 45}
USUAL_HEAP = 200_000
# A census of all types is made at distances that grow with the run, so that their number is small.
TYPES_NEXT = 2.0
# Probes that take milliseconds: each has a part of the budget of its own, and what it counts.
SLOW: Mapping[str, tuple[str, ...]] = {
    "children": ("zombie_children",), "shared memory": ("shm_segments", "shm_user_segments", "shm_bytes"),
}  # fmt: skip
# Of the budget, the parts that all of these together may take, each slow probe, looks through series, and folding.
CONSTANT_PART, SLOW_PART, SUSPICION_PART, FOLDING_PART = 0.25, 0.05, 0.1, 0.05
# So many times as large is the part of a slow probe for its first readings, which a verdict needs, and while what it
# counts is seen to rise, which nothing else shows.
FEW, OF_FEW, OF_RISING = 8, 2, 6
# The limits of devices are read once in so many generations.
LIMITS_EVERY = 4
# As though so much time had passed before the first generation: each is read then, and what it costs is known.
SLOW_CREDIT_NS = 20_000_000_000
# The jobs whose cost says how often a generation's end is read: all that are done whatever is under suspicion.
CONSTANT = RECORDING - {"points", "sampling", "births: counters"}
# What readings may take before any wall time has passed: the first fourteen or so are read one by one, at 1.5 ms, since
# a rise that changes its slope half-way needs seven readings on either side.
CONSTANT_CREDIT_NS = 20_000_000
# So many readings come sooner after each other than others, as many as a verdict on so short a run needs.
FIRST_READINGS, FIRST_READINGS_NS = 14, 10_000_000
# Watched classes are counted once in so many generations and so much time, whichever is longer, whatever it costs.
COUNT_EVERY, COUNT_EVERY_NS = 10, 10_000_000_000
# A part of a sizing ends a little after its limit; a shorter one would mostly look for the place where it goes on.
SIZED_OF_A_PAUSE, LEAST_PART_S = 0.5, 0.005
# Looks that took so long have allocated something that counters would show.
LOOKED_NS = 1_000_000
# Points are taken into the model when they are many, or twice a second; what profiling costs is written now and then.
FOLD_AT, FOLD_EVERY_NS, FIRST_COST_NS, COST_EVERY_NS = 2048, 500_000_000, 1_000_000_000, 5_000_000_000
# Where labels are many: so many points of each, at most so many in all; and what the first batch takes for each label.
FOLD_AT_A_LABEL, MOST_WAITING, FOLDED_LABEL_NS = 4, 4000, 12_000
# What a look at what tensors are for takes, for each object of the heap.
CATEGORY_NS = 100


def first_cost() -> dict[str, int]:
    """Return what each job is taken to cost before it was measured, as the passes run here."""
    return FIRST_COST if extension() is None else FIRST_COST_IN_C


class Inspector:
    """Reads counters, counts, sizes and the heap between generations, and decides what deserves a closer look."""

    def __init__(
        self,
        settings: Settings,
        recorder: Recorder,
        budget: Budget,
        *,
        watches: WatchList,
        tracked: TrackList,
        devices: Devices,
    ) -> None:
        self._settings = settings
        self._recorder = recorder
        self._budget = budget
        self._watches = watches
        self._tracked = tracked
        self._devices = devices
        self._clock = budget.clock
        self.escalation = Escalation(budget, recorder.add, budget.clock)
        self._probes, missing = available_probes({name: PROBES[name] for name in COUNTERS})
        for name, why in missing:
            recorder.note(f"{name}: not measured: {why}")
        self._sources: dict[str, Probe] = {}
        self.suspects = Suspects(recorder, self.escalation, self._sources, budget)
        self._own_memory = OwnMemory(self.suspects.reader_of)
        self.places = PlaceWatch(recorder, budget, self.suspects)
        self.lines = LineTracer(recorder, budget, self.places, lambda: watches.has_broken or self.suspects.is_any())
        self._gc = GcWatch()
        self._counts: dict[str, int] = {}
        self._packages: set[str] = set()
        self._last_done: dict[str, int] = {}
        self._done_at: dict[str, int] = {}
        self._sizes = TrackedSizes(tracked, recorder.note)
        self._references = References()
        self._n_skipped = len(skipped())
        self._last_read = dict.fromkeys(SLOW, self._clock() - SLOW_CREDIT_NS)
        self._n_slow = dict.fromkeys(SLOW, 0)
        self._next_at = self._suspect_at = self._folding_ns = 0
        self._folded_at = self._clock()
        self._cost_at = self._clock() + FIRST_COST_NS
        self._each_ns, self._constant_ns, self._spent_ns, self._has_read = 0.0, 0, -1, False
        self._n_waits = 0
        self._first_cost = FIRST_COST
        if settings.enabled:
            with budget.spending("native pass"):  # a job that loaded it would be thought to cost as much each time
                self._first_cost = first_cost()
        self.looks_at_boundaries = False

    # --- boundaries -------------------------------------------------------------------------------------------------

    def at_boundary(self, owner: str | None, *, is_outermost: bool = True) -> None:
        """Read births for what is under suspicion."""
        self.escalation.at_boundary(owner, self._recorder.generation, is_outermost=is_outermost)

    def phase_of(self, name: str) -> str | None:
        """The phase in which the survivors of a watched class were born, as far as known."""
        found = self.escalation.phase_of(name)
        if found:
            return found
        for births in reversed(self._recorder.model.births):
            if births.subject == f"watched/{name}" and births.phases:
                return max(births.phases, key=lambda phase: births.phases[phase][0])
        return None

    # --- the end of a generation ------------------------------------------------------------------------------------

    def at_generation_end(self, generation: int) -> list[Watched]:
        """Measure, if it is time to; return the watched classes whose expectation broke."""
        return without_collections(lambda: self._measure(generation))

    def _measure(self, generation: int) -> list[Watched]:
        began = self._clock()
        if began < self._next_at:
            self.escalation.pass_over(generation)
            return []
        self._see_constant_cost()
        broken: list[Watched] = []
        self._fold(began)
        if not self.lines.is_tracing:
            self.read_counters(generation)
        looks_ns = self._budget.looks_ns
        self.places.at_generation_end(generation)
        self._read_references(generation)
        for job in self._due(generation):
            with self._budget.spending(job):
                broken += self.run_job(job, generation)
            self._last_done[job] = generation
            self._done_at[job] = self._clock()
        self.escalation.at_generation_end(generation)
        self.lines.at_generation_end(generation)
        self._note_skipped()
        self._look_for_suspects(generation, began)
        if self._budget.looks_ns - looks_ns >= LOOKED_NS:
            with self._budget.spending("counters"):
                self._own_memory.looked()
            self.escalation.has_looked = self._budget.share is not None  # without a bound counters were read after
        self.looks_at_boundaries = self.escalation.looks_at_boundaries
        self._record_cost(generation, began)
        self._wait(began)
        return broken

    def _fold(self, now: int) -> None:
        """Let the model take in what was recorded, now and then: a batch takes nearly as long if it is small.

        Each label has a handful of series, so where labels are many, a batch takes as long as there are labels.
        """
        share, n_labels = self._budget.share, len(self._recorder.model.labels)
        if share is not None:
            likely_ns = max(self._folding_ns, n_labels * FOLDED_LABEL_NS)
            is_due = now >= self._folded_at + max(FOLD_EVERY_NS, likely_ns / (FOLDING_PART * share))
            if not is_due and self._recorder.n_waiting < min(MOST_WAITING, max(FOLD_AT, FOLD_AT_A_LABEL * n_labels)):
                return
        before = self._budget.spent_ns["recording"]
        with self._budget.spending("recording"):
            self._own_memory.begin()
            self._recorder.fold()
            self._own_memory.looked()
        self._folded_at, self._folding_ns = now, self._budget.spent_ns["recording"] - before

    def _look_for_suspects(self, generation: int, now: int) -> None:
        """Look through the series for what deserves a closer look, as often as its part of the budget allows."""
        if now < self._suspect_at or self.places.comes_first:
            return
        before = self._budget.spent_ns["suspicion"]
        with self._budget.spending("suspicion"):
            self._budget.is_urgent = (
                self._budget.share is not None and self.suspects.is_urgent() and not self.places.is_explained
            )
            self.suspects.look(generation)
        if self._budget.share is not None:
            took = self._budget.spent_ns["suspicion"] - before
            self._suspect_at = now + int(took / (SUSPICION_PART * self._budget.share))

    def _note_skipped(self) -> None:
        """Say once of each kind of object that a look had to leave it out."""
        for what in skipped()[self._n_skipped :]:
            self._n_skipped += 1
            self._recorder.note(what)

    def _record_cost(self, generation: int, now: int) -> None:
        if now >= self._cost_at:
            self._cost_at = now + COST_EVERY_NS
            with self._budget.spending("recording"):
                self._recorder.add(self.cost(generation))

    def _see_constant_cost(self) -> None:
        """Take in what the last end that was read took, but of the first, which imports modules, not."""
        now_ns = self._budget.spent_on(CONSTANT)
        if self._spent_ns >= 0:
            took_ns = now_ns - self._spent_ns
            self._each_ns += (0.2 if self._each_ns else 1.0) * (took_ns - self._each_ns)
            self._constant_ns += took_ns
        self._spent_ns = now_ns if self._has_read else -1
        self._has_read = True

    def _wait(self, began: int) -> None:
        """Let what a reading takes be earned before the next: a counter need not be read more often than that."""
        share = self._budget.share
        if share is None:
            return
        has_room = self._constant_ns < CONSTANT_CREDIT_NS + CONSTANT_PART * share * self._budget.wall_ns
        self._n_waits += 1
        least_ns = FIRST_READINGS_NS if self._n_waits < FIRST_READINGS else SHORTEST_NS
        self._next_at = began + max(least_ns, 0 if has_room else int(self._each_ns / (share * CONSTANT_PART)))

    def _due(self, generation: int) -> Iterator[str]:
        """Yield the jobs that there is room for, what waited longest first.

        While one waits for room, each other may spend a quarter of what was earned since it was last done: else cheap
        jobs would spend what a dear one saves up, or a dear one keep cheap ones waiting for as long as it takes.
        """
        n_objects = self.suspects.n_objects() or USUAL_HEAP
        one_waits = False
        if self._must_count(generation, self._first_cost["watched"] * n_objects):
            yield "watched"
        for job in sorted(self._first_cost, key=lambda j: (self._last_done.get(j, -1), self._first_cost[j])):
            if not self._is_due(job, generation):
                continue
            cost_ns = self._first_cost[job] * n_objects
            is_modest = self._budget.estimate_ns(job, cost_ns) <= 0.25 * self._budget.earned_ns(self._done_at.get(job))
            if (one_waits and not is_modest) or self._saves_up():
                self._budget.skipped[job] += 1
            elif self._budget.admits(job, cost_ns):
                yield job
            else:
                one_waits = True

    def _read_references(self, generation: int) -> None:
        if self._watches.entries:
            classes = self._watches.classes()
            try:
                self._references.read(self._clock(), generation, classes)
            finally:
                classes.clear()

    def _must_count(self, generation: int, cost_ns: int) -> bool:
        """Whether watched classes come before all else.

        They do where they were not counted for ten seconds and ten generations, and where references tell of an
        expectation that is broken since the last count.
        """
        if not self._watches.entries or self._budget.share is None:
            return False
        waited = generation - max(self._last_done.get(job, -COUNT_EVERY) for job in ("watched", "types"))
        since = max(self._done_at.get(job, 0) for job in ("watched", "types"))
        if waited >= COUNT_EVERY and self._clock() - since >= COUNT_EVERY_NS:
            return self._budget.is_short(cost_ns, "watched")
        seems_broken = self._references.tell_of_a_break(self._watches.entries.values())
        return seems_broken and self._budget.admits("watched", cost_ns, debt_ns=cost_ns)

    def _has_time_for(self, job: str) -> bool:
        """Whether a slow probe fits into the budget of the time since it was last read, whatever else was spent."""
        share = self._budget.share
        if share is None:
            return True
        now = self._clock()
        times = OF_FEW if self._n_slow[job] < FEW else 1
        rises = any(map(self.suspects.rises, SLOW[job])) or (job == "children" and self.suspects.children_rise())
        part = SLOW_PART * (OF_RISING if rises else times)
        if self._budget.estimate_ns(job, 500_000) > part * share * (now - self._last_read[job]):
            self._budget.skipped[job] += 1
            return False
        self._last_read[job] = now
        self._n_slow[job] += 1
        return True

    def _is_due(self, job: str, generation: int) -> bool:
        if job == "watched":  # a census of types counts them too
            is_counted = self._budget.share is not None and self._last_done.get("types") == generation
            return bool(self._watches.entries) and not is_counted and self._last_done.get("watched") != generation
        if job == "tracked":
            is_time = generation % self._settings.track_every == 0 or self._sizes.is_open
            return bool(self._tracked.getters) and is_time
        since = max(0, self._last_done.get(job, 0))
        is_time = generation >= max(suspicion.WARM_UP, TYPES_NEXT * since + 1)
        return is_time and not self.places.is_waited_for

    def _saves_up(self) -> bool:
        """Whether what is left is needed for a closer look that has begun."""
        needed = 2 * self._budget.estimate_ns("holders", heap_ns(SEARCHED_NS))
        return bool(self.escalation.open) and self._budget.room_ns() < needed

    def run_job(self, job: str, generation: int) -> list[Watched]:
        """Do one job of a generation's end; return the watched classes whose expectation broke."""
        if job == "watched":
            return self._count_watched(generation)
        if job == "types":
            return self._count_types(generation)
        self._size_tracked(generation)
        return []

    def _count_types(self, generation: int) -> list[Watched]:
        """Count every tracked object by type, and on the way the watched classes, storages and graph nodes."""
        figures, counts = families.census_figures()
        try:
            names = census.by_name(counts.items())
            watched = counts_of(self._watches.classes(), counts)
        finally:
            counts.clear()
        figures["n_objects"] = float(sum(names.values()))
        self._record(generation, {**figures, **self._changed_counts(names)})
        return self._take_watched(watched, generation)

    def _record(self, generation: int, figures: Mapping[str, float]) -> None:
        self._recorder.add(fmt.Metrics(self._clock(), generation, dict(figures), AT))

    def read_counters(self, generation: int, *, collected: bool | None = None) -> None:
        """Read and record the counters of every probe, those that take milliseconds now and then.

        Args:
            generation: that they are filed under.
            collected: whether a full collection has come since the last reading; ``None``: since this was last called.
        """
        figures: dict[str, float] = {}
        with self._budget.spending("counters"):
            for probe in [probe for probe in self._probes if probe.name not in SLOW]:
                figures.update(self._figures_of(probe))
        for probe in [probe for probe in self._probes if probe.name in SLOW]:
            if self._has_time_for(probe.name):
                figures.update(self._figures_of(probe))
        figures.update({f"gc/{name}": value for name, value in self._gc.read().items()})
        for name in ("limit_available_bytes", "host_available_bytes"):
            if name in figures:
                figures.setdefault("available_bytes", figures[name])
        with self._budget.spending("counters"):
            if generation % LIMITS_EVERY == 0:
                figures.update(self._devices.limits())
            is_new = self._gc.full_since_last()
            figures["after_full_collection"] = float(is_new if collected is None else collected)
            figures["waited_s"] = self._budget.waited_ns / 1e9
            self._own_memory.take_off(figures)
            self._record(generation, figures)

    def _figures_of(self, probe: Probe) -> Mapping[str, float]:
        try:
            with self._budget.spending(probe.name):
                found = probe.read()
        except ProbeUnavailable as error:
            self._probes.remove(probe)
            self._recorder.note(f"{probe.name} is no longer measured: {error}")
            for metric in [metric for metric, source in self._sources.items() if source is probe]:
                del self._sources[metric]
            return {}
        self._sources.update(dict.fromkeys(found, probe))
        return found

    def _count_watched(self, generation: int) -> list[Watched]:
        return self._take_watched(census.watched_counts(self._watches.classes()), generation)

    def _take_watched(self, found: Mapping[str, int], generation: int) -> list[Watched]:
        """Record counts of watched classes; a broken expectation is looked at closer at once."""
        classes = self._watches.classes()
        try:
            for now, earlier, known in self._references.take(found, generation):
                self._watches.take_earlier(known, earlier)
                self._recorder.add(fmt.Metrics(now, earlier, _watched_figures(known), AT))
            self._record(generation, _watched_figures(found))
            broken = self._watches.update(found, generation)
            names = {entry.name for entry in broken}
            for name, cls in classes.items():
                key = f"watched/{name}"
                rises = name in names or suspicion.rise(self.suspects.series(key)) > 0
                if rises and self.escalation.wants(key, generation):
                    family = families.TypeFamily(key, with_subclasses([cls]))
                    self.escalation.start(Investigation(key, name, generation, family=family))
            return broken
        finally:
            classes.clear()

    def _size_tracked(self, generation: int) -> None:
        """Size tracked names: all of them without a budget, else as far as a pause and the room there is allow."""
        limit_s = float("inf")
        if self._budget.share is not None:
            limit_s = min(SIZED_OF_A_PAUSE * self._settings.max_pause, max(LEAST_PART_S, self._budget.room_ns() / 1e9))
        figures = self._sizes.step(limit_s)
        if figures:
            self._record(generation, figures)

    def size_for_report(self, generation: int) -> None:
        """Size the tracked names for a report that names this generation; it was asked for, so no budget is charged."""
        if self._tracked.getters and self._last_done.get("tracked") != generation:
            limit_s = float("inf") if self._budget.share is None else self._settings.max_look
            with self._budget.spending("tracked", asked=True):
                self._record(generation, self._sizes.all_at_once(limit_s))
            self._last_done["tracked"] = generation
            self._done_at["tracked"] = self._clock()

    def _changed_counts(self, counts: Mapping[str, int]) -> dict[str, float]:
        """Only what differs from the last census is written; a reader carries the rest forward."""
        changed = {n: c for n, c in counts.items() if self._counts.get(n) != c}
        changed.update({n: 0 for n in self._counts if n not in counts})
        self._tell_packages(counts.keys() - self._counts.keys())
        self._counts = dict(counts)
        return {f"count/{name}": float(count) for name, count in changed.items()}

    def _tell_packages(self, new_types: Collection[str]) -> None:
        """Record which packages of types that were not counted before are the program's own."""
        packages = {name.partition(".")[0]: name for name in new_types}
        fresh = packages.keys() - self._packages
        self._packages |= fresh
        own = sorted(package for package in fresh if not is_installed(packages[package]))
        if own:
            self._recorder.add(fmt.Program(own))

    # --- the end ----------------------------------------------------------------------------------------------------

    @room
    def finish(self, look: ClosingLook, *, is_asked: bool) -> None:
        """Complete what waits, because findings are asked for, or a recording is closed, and no phase is running.

        Args:
            look: says what there is time for, and keeps what there was not.
            is_asked: findings are asked for by the program: what memory fell by since is no reason to look away.
        """
        without_collections(lambda: self._finish(look, is_asked=is_asked))  # what waits is to be seen waiting

    def _finish(self, look: ClosingLook, *, is_asked: bool) -> None:
        self.lines.tell()
        self.escalation.record_counters()
        if not is_asked and is_torn_down(self.suspects):
            if self._gc.has_run_fully:  # what went may have waited for the collector: the counters tell
                self._recorder.fold()
                self.read_counters(self._recorder.generation)
            return
        self._recorder.fold()
        generation = self._recorder.generation
        n_objects = self.suspects.n_objects() or USUAL_HEAP
        with self._budget.spending("final look", asked=True):
            counts = bool(self._watches.entries) and self._budget.share is not None and generation >= 0
            if counts and look.admits("watched classes", self._first_cost["watched"] * n_objects):
                self._read_references(generation)
                self._count_watched(generation)
            if generation >= 0:
                self.places.finish(generation, look)
            if self._watches.entries and look.admits("holders", 0):
                self._ask_for_holders(look.left_s)
            figures = {**self._tensor_figures(look, n_objects), **self._children_at_the_end(generation)}
            free = self.suspects.series("malloc_free_bytes")
            figures |= {} if is_asked else try_trim(self._probes, free, look)
        if figures:
            self._record(generation, figures)
        self._note_skipped()
        if generation >= 0 and self._tracked.getters and look.admits("sizes of tracked names", 0):
            self.size_for_report(generation)

    def _tensor_figures(self, look: ClosingLook, n_objects: float) -> dict[str, float]:
        """What the tensors of each device are for, at the end; where there is no torch, nothing is left out."""
        if loaded_torch() is None or not look.admits("tensors by device", CATEGORY_NS * n_objects):
            return {}
        found = tensor_categories()
        return {f"tensors/{on}/{kind}_bytes": float(n) for on, kinds in found.items() for kind, n in kinds.items()}

    def _children_at_the_end(self, generation: int) -> Mapping[str, float]:
        """The memory of children once more, if it is some generations since and as many of them live."""
        before, weighed = self.suspects.series("children"), self.suspects.series("children_private_bytes")
        if before is None or not before.last or weighed is None or weighed.generations[-1] >= generation:
            return {}
        figures = next((self._figures_of(probe) for probe in list(self._probes) if probe.name == "children"), {})
        return figures if figures.get("children") == before.last else {}

    def _ask_for_holders(self, limit_s: float) -> None:
        """Ask who holds the watched classes that are too many, or grow."""
        self.escalation.allow_retries()
        if self._budget.share is not None:
            self.escalation.hurry()
        self.escalation.finish(limit_s=limit_s)

    def cost(self, generation: int) -> fmt.Cost:
        """What measuring cost so far."""
        budget = self._budget
        spent = {job: ns / 1e9 for job, ns in budget.spent_ns.items()}
        spent.update({f"{job} (asked for)": ns / 1e9 for job, ns in budget.asked_ns.items()})
        left = {job: ns / 1e9 for job, ns in budget.left_ns.items()}
        pause_ns, pause_by = budget.longest_pause
        wall_s, pause_s = budget.wall_ns / 1e9, pause_ns / 1e9
        skipped, in_python = dict(budget.skipped), missing_because()
        return fmt.Cost(self._clock(), generation, wall_s, spent, skipped, left, pause_s, pause_by, in_python)

    def abandon(self) -> None:
        """In a forked child: forget the parent's state without touching its files."""
        self.lines.stop()
        self.places.abandon()
        self._gc.close()
        for probe in self._probes:
            probe.close()

    def close(self) -> None:
        """Give back hooks and descriptors."""
        self.looks_at_boundaries = False
        self.abandon()


def _watched_figures(counts: Mapping[str, int]) -> dict[str, float]:
    return {f"watched/{name}": float(count) for name, count in counts.items()}
