"""The module-level functions: one default profiler, made at first use."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, overload

from phaseprof.errors import ExpectationError, UsageError
from phaseprof.live.arguments import check_function, check_label, check_path, refuse
from phaseprof.live.loops import Generations
from phaseprof.live.names import find_class
from phaseprof.live.scopes import CheckpointScope, CountedScope, DisabledScope, GenerationScope, Items, PhaseScope
from phaseprof.live.watching import Expected, check_expected
from phaseprof.probes.typeinfo import all_classes, bare_name, is_a, type_name
from phaseprof.profiler import Profiler

if TYPE_CHECKING:
    from phaseprof.recording.reader import Run
    from phaseprof.report.text import Report

F = TypeVar("F", bound=Callable[..., object])
T = TypeVar("T")

_lock = threading.Lock()
_default: Profiler | None = None


def get_profiler() -> Profiler:
    """Return the default profiler, which the functions of this module use."""
    global _default
    if _default is None:
        with _lock:
            if _default is None:
                _default = Profiler()
    return _default


def configure(**settings: object) -> Profiler:
    """Set up the default profiler: the arguments of :class:`Profiler`.  Phases decorated before follow.

    Raises:
        UsageError: a setting is unknown (the nearest is named) or breaks its rule.
    """
    profiler = get_profiler()
    profiler.reconfigure(**settings)
    return profiler


@overload
def profile_phase(name: F) -> F: ...
@overload
def profile_phase(name: str | None = None, *, items: Items = None) -> PhaseScope: ...
def profile_phase(name: str | F | None = None, *, items: Items = None) -> PhaseScope | F:
    """Name a phase, as a decorator (also bare) or a ``with`` block; see :meth:`Profiler.phase`."""
    if name is None or is_a(name, str):
        return get_profiler().phase(name, items=items)
    if not callable(name) and not hasattr(type(name), "__get__"):  # nothing that could be decorated: meant as a name
        check_label("phase name", name, "@profile_phase('train')")
    return get_profiler().phase(None, items=items)(name)


def checkpoint(label: str) -> CheckpointScope | CountedScope | DisabledScope:
    """Record a point, or with ``with`` a block; see :meth:`Profiler.checkpoint`."""
    profiler = _default
    return (get_profiler() if profiler is None else profiler).checkpoint(label)


def generation(index: int | str | None = None, *, items: Items = None) -> GenerationScope | DisabledScope:
    """Mark one turn of the outer loop; see :meth:`Profiler.generation`."""
    return get_profiler().generation(index, items=items)


def generations(iterable: Iterable[T], *, items: Items = None) -> Generations[T]:
    """Make each item of an iterable one generation; see :meth:`Profiler.generations`."""
    return get_profiler().generations(iterable, items=items)


def next_generation(index: int | str | None = None, *, items: Items = None) -> None:
    """End one generation and begin the next, without a block; see :meth:`Profiler.next_generation`."""
    get_profiler().next_generation(index, items=items)


def watch(cls: type | str, expected: Expected = None) -> None:
    """Count the instances of a class; see :meth:`Profiler.watch`."""
    get_profiler().watch(cls, expected)


def track(name: str, target: object) -> None:
    """Follow the deep size of an object by name; see :meth:`Profiler.track`."""
    get_profiler().track(name, target)


def log_memory(label: str, show_objects: bool = False) -> Report:
    """Take a labelled snapshot, print it, and return it; see :meth:`Profiler.log_memory`."""
    return get_profiler().log_memory(label, show_objects=show_objects)


def load(run: str | Path) -> Run:
    """Read a recorded run; see :func:`phaseprof.recording.reader.load_run`."""
    from phaseprof.recording.reader import load_run

    check_path("run", run)
    return load_run(run)


def assert_counts(classes: dict[str | type, Expected] | None = None, /, **expected: Expected) -> None:
    """Assert how many instances of classes are alive now.

    Args:
        classes: class, or dotted name, to a count or a range (lo, hi).
        expected: the same by the class's bare name, which must be the name of exactly one live class.

    Raises:
        ExpectationError: a count is outside its bound; all that are broken are named.
        UsageError: a name fits no class, or several.
    Cost: a full collection (so that unreachable cycles do not count), and a pass over the heap.
    """
    from phaseprof.probes import census

    if classes is not None and not is_a(classes, dict):
        raise refuse("classes", "be a dict of classes and their bounds", classes, "write assert_counts({Env: 2})")
    gc.collect()
    given = [*(classes or {}).items(), *expected.items()]
    wanted, bounds = [_class_of(name) for name, _ in given], [check_expected(bound) for _, bound in given]
    counts = census.counts_in_order(wanted)
    broken = [
        f"{bare_name(cls)}: expected {low if low == high else f'{low} to {high}'}, found {count}"
        for cls, (low, high), count in zip(wanted, bounds, counts, strict=True)
        if low >= 0 and not low <= count <= high
    ]
    if broken:
        raise ExpectationError("; ".join(broken))


def _class_of(name: str | type) -> type:
    if is_a(name, type):
        return name
    if not is_a(name, str):
        raise refuse("class", "be a class or its name", name, "write assert_counts({Env: 2})")
    bare = name.replace(":", ".")
    if "." in bare:
        found = find_class(bare, lazily=True)
        if found is None:
            raise UsageError(f"{name!r} must be a class of an imported module; import it first, or give the class")
        return found
    fitting = [cls for cls in all_classes() if bare_name(cls) == bare]
    if len(fitting) != 1:
        names = sorted(map(type_name, fitting))
        what = f"fits {len(fitting)} classes: {', '.join(names[:5])}" if fitting else "fits no class that exists"
        raise UsageError(f"{bare!r} must name exactly one class (it {what}); give the class or its dotted name")
    return fitting[0]


def assert_no_growth(
    function: Callable[[], object], *, repeat: int = 10, warm_up: int = 3, max_objects: float = 0.0
) -> None:
    """Assert that calling a function again and again leaves no more objects, tensors or arrays behind.

    Args:
        function: called ``warm_up`` + ``repeat`` times, and ``repeat`` times more for as long as something grew.
        repeat: calls in a stretch; at least 5.
        warm_up: calls before the first reading.
        max_objects: objects of one type a call that are tolerated.

    Raises:
        ExpectationError: something grows; the message names type, rate and holder.
        UsageError: an argument breaks its rule.
    """
    from phaseprof.live.repetition import Repetition
    from phaseprof.live.repetition import repeat as call_again_and_again

    check_function("function", function)
    outcome = call_again_and_again(function, Repetition(repeat, warm_up, max_objects))
    if outcome.grown:
        raise ExpectationError(f"{outcome} (over {outcome.calls} calls)")
