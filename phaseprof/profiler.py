"""The object users hold: joins the live side, the analysis and the reports, and knows no more than each one's name."""

from __future__ import annotations

import atexit
import os
import sys
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TextIO, TypeVar

from phaseprof.errors import UsageError
from phaseprof.live import looks
from phaseprof.live.arguments import check_flag, check_label, check_number, check_stream, refuse
from phaseprof.live.loops import Generations
from phaseprof.live.marks import Marks
from phaseprof.live.recorder import clean_text
from phaseprof.live.scopes import (
    DISABLED,
    CheckpointScope,
    CountedScope,
    DisabledScope,
    GenerationScope,
    Items,
    PhaseScope,
)
from phaseprof.live.session import Session, close_all
from phaseprof.live.settings import OnViolation, Settings, from_config, resolve
from phaseprof.live.spare import room
from phaseprof.live.warn import warn_user
from phaseprof.live.watching import Expected
from phaseprof.probes.typeinfo import is_a
from phaseprof.records import Finding
from phaseprof.units import MB, for_terminal

if TYPE_CHECKING:
    from phaseprof.recording.model import ProcessRun
    from phaseprof.report.findings import FindingsReport
    from phaseprof.report.text import Report


T = TypeVar("T")
# What a size can be compared with in C.
MOST_BYTES = 2**62


class Unset:
    """The type of an argument that was not given, so that environment and file can speak."""

    def __repr__(self) -> str:
        return "(from the environment, [tool.phaseprof] or the default)"


UNSET = Unset()


class Findings(tuple[Finding, ...]):
    """Findings in the order of their rank; ``str()`` is the printed text, ``to_dict()`` the JSON data."""

    _report: FindingsReport | None = None

    @property
    def conclusion(self) -> str:
        """One sentence without its full stop: what was found, or why nothing can be said."""
        return self._report.conclusion if self._report is not None else ""

    @classmethod
    def of(cls, report: FindingsReport) -> Findings:
        """Make findings of their report."""
        found = cls(entry.finding for entry in report.entries)
        found._report = report
        return found

    def to_dict(self) -> dict[str, object]:
        """Return the versioned JSON data."""
        return {"format": 1, "findings": [finding.to_dict() for finding in self]}

    def __str__(self) -> str:
        return str(self._as_report())

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self._as_report()._repr_html_()

    def __rich__(self) -> object:
        return self._as_report().__rich__()

    def _as_report(self) -> FindingsReport:
        from phaseprof.report.findings import build_findings

        return self._report or build_findings(self)


class Profiler:
    """Records phases, checkpoints and generations of one program, and says what leaks.

    Args:
        run: folder of the recording; ``None`` keeps it in memory only.
        enabled: ``False`` makes every call return at once (0.1 µs).
        budget: share of wall time that measuring may take; ``None``: unbounded.
        report_every: print a memory report every N generations.
        leak_threshold_mb: tracked names that grow faster, in MB a generation, are reported.
        on_violation: ``"report"``, ``"warn"``, ``"raise"`` or a callable given the text of a broken expectation.
        track_every: size tracked names every N generations.
        sample_every_s: interval of a sampling thread; ``None``: no thread.
        max_file_mb: a recording file that grows beyond it is continued in another.
        max_pause: seconds for which a job inside the loop may keep the program waiting.
        max_look: seconds for which the looks at the end, and those asked for, may go on.
        signals: look at once when the process is told to end (SIGTERM) or asked to look (SIGUSR1).
        min_generation_s: without declared generations, rounds of phases are gathered to this length.

    An argument that is not given comes from the environment (``PHASEPROF_BUDGET`` ...), then from ``[tool.phaseprof]``
    in ``pyproject.toml`` of the working folder or its repository, then from the default.  What is wrong in one of those
    two is warned of and passed over.

    Raises:
        UsageError: an argument breaks its rule, or ``run`` cannot be written.
    """

    def __init__(
        self,
        run: str | os.PathLike[str] | Unset | None = UNSET,
        *,
        enabled: bool | Unset = UNSET,
        budget: float | Unset | None = UNSET,
        report_every: int | Unset | None = UNSET,
        leak_threshold_mb: float | Unset = UNSET,
        on_violation: OnViolation | Unset = UNSET,
        track_every: int | Unset = UNSET,
        sample_every_s: float | Unset | None = UNSET,
        max_file_mb: float | Unset | None = UNSET,
        max_pause: float | Unset = UNSET,
        max_look: float | Unset = UNSET,
        signals: bool | Unset = UNSET,
        min_generation_s: float | Unset = UNSET,
    ) -> None:
        given = {
            "run": run, "enabled": enabled, "budget": budget, "report_every": report_every,
            "leak_threshold_mb": leak_threshold_mb, "on_violation": on_violation, "track_every": track_every,
            "sample_every_s": sample_every_s, "max_file_mb": max_file_mb, "max_pause": max_pause, "max_look": max_look,
            "signals": signals, "min_generation_s": min_generation_s,
        }  # fmt: skip
        self._given: dict[str, object] = {name: value for name, value in given.items() if not isinstance(value, Unset)}
        self._open(resolve(self._given))

    @classmethod
    def from_config(cls, config: Mapping[str, object]) -> Profiler:
        """Make a profiler from a trainer's config.

        Args:
            config: ``memory_tracking_enabled``, ``memory_report_interval``, ``memory_leak_threshold_mb``, and any
                setting of phaseprof's own.

        Raises:
            UsageError: a key is unknown; the nearest is named.
        """
        return cls(**from_config(config))  # type: ignore[arg-type]  # values are checked where they are resolved

    def _open(self, settings: Settings) -> None:
        try:
            self._session = Session(settings)
        except UsageError as error:
            self._session = Session(_in_memory(settings, error, self._given))
        self._session.on_report = _Printer(weakref.ref(self))
        if settings.enabled:
            room.keep()

    def reconfigure(self, **given: object) -> None:
        """Apply settings from now on: phases, watched classes and tracked names stay, a new recording begins.

        Settings that were given before, here or at the start, stay unless they are given again.

        Raises:
            UsageError: a setting is unknown or breaks its rule.
        """
        merged = {**self._given, **given}
        settings = resolve(merged)
        try:
            self._session.restart(settings)
        except UsageError as error:
            self._session.restart(_in_memory(settings, error, merged))
        self._given = merged

    # --- what users write around their code -----------------------------------------------------------------------

    @property
    def enabled(self) -> bool:
        """Whether calls record anything; may be set."""
        return self._session.enabled

    @enabled.setter
    def enabled(self, value: bool) -> None:
        check_flag("enabled", value)
        self._session.enabled = value

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._session.settings

    def phase(self, name: str | None = None, *, items: Items = None) -> PhaseScope:
        """Name a phase: a decorator for functions, methods, coroutines and generators, or a ``with`` block.

        Args:
            name: the phase's label; a decorator without one takes the function's qualified name.
            items: units of work a visit does, or a function that counts them from the return value.

        Cost: 8 µs a visit, entry and exit, written to a file (two shared EPYC cores, Python 3.11).
        """
        return PhaseScope(self._session, name, items)

    def checkpoint(self, label: str) -> CheckpointScope | CountedScope | DisabledScope:
        """Record a point now; used with ``with``, record the block too.

        Cost: 3.5 µs written to a file, 0.1 µs when disabled (two shared EPYC cores, Python 3.11).
        """
        session = self._session
        if not session.enabled:
            return DISABLED
        return session.point(label)

    def generation(self, index: int | str | None = None, *, items: Items = None) -> GenerationScope | DisabledScope:
        """Mark one turn of the outer loop, at whose end counts and sizes are read.

        Args:
            index: the turn's number or name; the ordinal if not given.
            items: units of work done in it, for throughput; may be set inside the block (``as g: g.items = n``).
        """
        session = self._session
        return session.make_generation(index, items) if session.enabled else DISABLED

    def generations(self, iterable: Iterable[T], *, items: Items = None) -> Generations[T]:
        """Make each item of an iterable one generation, so that nothing is indented.

        Args:
            iterable: what is gone through; an item that is a number or a text is the generation's index.
            items: units of work done in each generation, for throughput.

        Raises:
            UsageError: ``iterable`` is none.
        """
        return Generations(self.generation, iterable, items)

    def next_generation(self, index: int | str | None = None, *, items: Items = None) -> None:
        """End the generation that the last such call began, and begin another, without a block.

        The last one ends when findings are asked for, and at the end of the recording.

        Args:
            index: the number or name of the one that begins; the ordinal if not given.
            items: units of work done in the one that begins.
        """
        if self._session.enabled:
            self._session.open_end.next(index, items)

    def marks(self, within: str = "") -> Marks:
        """Return an object that marks generations and phases by calls that stand apart, for a framework's hooks.

        Args:
            within: the framework's package, by which a training that an exception ended is known to run no more.
        """
        if not is_a(within, str):
            raise refuse("within", "be the name of a package", within)
        return Marks(self._session, within)

    def watch(self, cls: type | str, expected: Expected = None) -> None:
        """Count the instances of a class, subclasses included, at the end of each generation.

        Args:
            cls: the class, or its dotted name if its module is not imported yet.
            expected: how many there must be: a count, a range (lo, hi), or ``None``.

        Raises:
            UsageError: neither a class nor a name, or not a bound.
        """
        self._session.watch(cls, expected)

    def track(self, name: str, target: object) -> None:
        """Follow the deep size of an object by name.

        Args:
            name: how reports call it.
            target: the object (held weakly), or a function without arguments that returns it.

        Raises:
            UsageError: the object cannot be held weakly; give a getter.
        """
        self._session.tracked.add(name, target)

    # --- what was found ----------------------------------------------------------------------------------------------

    @room
    def snapshot(self, label: str) -> Report:
        """Take a labelled snapshot: process and device figures and counts of objects.  Costs one census."""
        return self._snapshot(label, count_objects=True)

    @room
    def log_memory(self, label: str, show_objects: bool = False) -> Report:
        """Take a snapshot, print it, and return it; ``show_objects`` adds counts of common types."""
        check_flag("show_objects", show_objects)
        report = self._snapshot(label, count_objects=show_objects)
        if self._session.enabled:
            _print(report)
        return report

    def _snapshot(self, label: str, *, count_objects: bool) -> Report:
        check_label("label", label, "log_memory('after warm-up')")
        label = clean_text(label)
        if not self._session.enabled:
            from phaseprof.report.disabled import DisabledReport

            return DisabledReport(label)
        from phaseprof.report.snapshot import build_snapshot

        looks.take_snapshot(self._session, label, count_objects=count_objects)
        return build_snapshot(self._session.recorder.model, label)

    @room
    def trend(self) -> Report:
        """Memory at each recorded moment, and its change."""
        from phaseprof.report.trend import build_trend

        return build_trend(self._model())

    @room
    def growth(self, baseline: str | None = None) -> Report:
        """Growth since a snapshot, by default the first; counts the watched classes once more, whatever the budget.

        Raises:
            UsageError: no moment has that label; the nearest is named.
        """
        from phaseprof.report.growth import build_growth

        if baseline is not None and not is_a(baseline, str):
            raise refuse("baseline", "be the label of a snapshot, or None", baseline)
        if self._session.enabled:
            looks.count_now(self._session)
        return build_growth(self._model(), baseline)

    @room
    def large_objects(self, min_mb: float = 10.0) -> Report:
        """Objects whose own bytes are at least ``min_mb`` MB (10**6 bytes).  Costs a walk over the heap.

        Raises:
            UsageError: ``min_mb`` is no number, or negative.
        """
        check_number("min_mb", min_mb)
        if not self._session.enabled:
            from phaseprof.report.disabled import DisabledReport

            return DisabledReport("large objects")
        looks.look_for_large(self._session, min(round(min_mb * MB), MOST_BYTES))
        from phaseprof.report.large import build_large_objects

        return build_large_objects(self._session.recorder.model, min_mb)

    @room
    def draw_holders(self, cls: type, file: str | os.PathLike[str], *, depth: int = 5) -> int:
        """Draw what refers to the newest instances of a class, with objgraph, as a ``.dot`` file or a picture.

        It is for looking closer by hand: other than all else here it holds objects of the program while it works.

        Returns:
            How many instances were drawn, three at most.

        Raises:
            MissingExtra: objgraph is not installed, or Graphviz, which pictures need.
            UsageError: ``cls`` is no class or has no instance, or the file cannot be written.
        """
        from phaseprof.probes.drawing import draw_holders

        return draw_holders(cls, file, depth=depth)

    @room
    def counts(self) -> Report:
        """Live instances of the watched classes, counted now, beside what was expected."""
        from phaseprof.report.counts import build_counts

        looks.count_now(self._session)
        return build_counts(self._session.recorder.model)

    @room
    def findings(self, *, least_bytes: float | None = None) -> Findings:
        """What leaks, ranked by what ends the run first; completes looks that waited for the budget.

        Args:
            least_bytes: growth below it, in bytes a generation, is negligible; ``None``: what nobody on this machine
                would feel, by the hour or so far, is.
        """
        if least_bytes is not None:
            check_number("least_bytes", least_bytes)
        self._session.finish()  # before anything is imported: our own modules are no growth of the program's
        from phaseprof.analysis.findings import find_leaks
        from phaseprof.report.findings import DISABLED as UNMEASURED
        from phaseprof.report.findings import build_findings

        model = self._session.recorder.model
        threshold = self._session.settings.leak_threshold_mb
        found = find_leaks(model, leak_threshold_mb=threshold, least_bytes=least_bytes)
        is_disabled = not self._session.enabled and model.n_records <= 1  # the header
        return Findings.of(build_findings(found, process=model, unmeasured=UNMEASURED if is_disabled else ""))

    @room
    def report(self) -> Report:
        """The final summary as data; of a profiler that was never enabled, that nothing was measured."""
        if not self._session.enabled and self._model().n_records <= 1:  # the header
            from phaseprof.report.disabled import DisabledReport

            return DisabledReport("final summary")
        findings = self.findings()  # before the import: our own modules are no growth of the program's
        from phaseprof.report.summary import build_summary

        return build_summary(self._model(), findings)

    @room
    def scalars(self) -> dict[str, float]:
        """The newest figures by the keys that trainers log: sizes of tracked names, memory, throughput.

        MB are 10**6 bytes; what was not measured is not there.
        """
        from phaseprof.report.scalars import build_scalars

        return build_scalars(self._model())

    def on_generation(self, call: Callable[[], object], *, every: int = 1) -> None:
        """Call a function at the end of every ``every``-th generation; what it raises becomes one warning."""
        self._session.hooks.add(call, every)

    def on_close(self, call: Callable[[], object]) -> None:
        """Call a function before the recording ends, when findings can be asked for; what it raises is one warning."""
        self._session.hooks.add_at_end(call)

    @room
    def print_memory_trend(self, file: TextIO | None = None) -> None:
        """Print ``trend()``."""
        _print(self.trend(), file)

    @room
    def print_memory_growth(self, baseline_label: str | None = None, file: TextIO | None = None) -> None:
        """Print ``growth(baseline_label)``."""
        _print(self.growth(baseline_label), file)

    @room
    def print_large_objects(self, min_mb: float = 10.0, file: TextIO | None = None) -> None:
        """Print ``large_objects(min_mb)``."""
        _print(self.large_objects(min_mb), file)

    @room
    def print_summary(self, file: TextIO | None = None, *, full: bool = False) -> None:
        """Print what was found, one line a phase, and the cost; with ``full``, every table of the final summary."""
        from phaseprof.report.text import style_for

        check_flag("full", full)
        check_stream(file)
        if self._session.enabled:
            looks.look_for_large(self._session, 10 * MB)
        style = replace(style_for(sys.stdout if file is None else file, os.environ), full=full)
        _print(self.report().render(style), file)

    @room
    def close(self) -> None:
        """End the recording; nothing is recorded afterwards."""
        self._session.close()

    def _model(self) -> ProcessRun:
        self._session.recorder.fold()
        return self._session.recorder.model

    def _print_report(self) -> None:
        from phaseprof.report.periodic import build_periodic

        self._session.write_counts(self._session.clock())  # what was only counted belongs to it
        _print(build_periodic(self._model(), self._session.settings.leak_threshold_mb))


def _in_memory(settings: Settings, error: UsageError, given: Mapping[str, object]) -> Settings:
    """Say what to do where no file can be written: a slip in the environment or the project's file ends no run."""
    if settings.run is None or "run" in given:
        raise error
    warn_user(f"{error}; this recording is kept in memory")
    return replace(settings, run=None)


class _Printer:
    """Prints the periodic report of a profiler, without keeping it alive."""

    def __init__(self, held: weakref.ref[Profiler]) -> None:
        self._held = held

    def __call__(self) -> None:
        profiler = self._held()
        if profiler is not None:
            profiler._print_report()


def _print(report: object, file: TextIO | None = None) -> None:
    """Print a report where the user's own prints go; a closed or broken stream loses the text, not the run."""
    check_stream(file)
    stream = sys.stdout if file is None else file
    try:
        stream.write(f"{for_terminal(str(report))}\n")
    except (OSError, ValueError, AttributeError):
        return


atexit.register(close_all, "the interpreter ended")
