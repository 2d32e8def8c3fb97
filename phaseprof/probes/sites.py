"""Which line of the program made an object: what ``tracemalloc`` has seen while a phase was traced."""

from __future__ import annotations

import ast
import ctypes
import gc
import math
import sys
import sysconfig
import time
from _thread import _count as count_other_threads
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

import numpy as np

from phaseprof.interrupts import raise_the_programs
from phaseprof.native.extension import extension, tracing
from phaseprof.native.kinds import Kinds
from phaseprof.native.places import members
from phaseprof.probes import tensors
from phaseprof.probes.libraries import is_installed_file
from phaseprof.probes.node_lines import node_frames
from phaseprof.probes.uninterrupted import uninterrupted

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Made",
    "Tracer",
    "find_tracer",
    "functions_around",
    "is_ours",
    "is_programs",
    "made_and_there",
    "made_at",
    "pause_tracing",
    "spare_numbers",
    "start_tracing",
    "stop_tracing",
]

# Frames that are kept of each allocation: of a library's, between the program's own line and what it makes, there are
# fewer; a copy of a model is made eighteen calls deep.  No program asks for such a number, so that what it starts while
# we trace is told from ours.
FRAMES = 27
# Before these, to stop while another thread allocates without the lock may end the process.
_MENDED = {(3, 12): (3, 12, 9), (3, 13): (3, 13, 2)}
# A source that is searched for the function around a line, at most.
_MOST_SOURCE = 1 << 18
# What an import compiles and a debugger runs has no file; cells of a notebook are the program's own.
_CELL = "<ipython-input"
_OURS = str(Path(__file__).parent.parent) + "/"
_DEMO = f"{_OURS}demo/"


# Numbers with a fraction that the interpreter keeps for new ones.
_KEPT_FREE = 100
# CPython 3.11 looks for the trace of an instance with a dict in the wrong place: after the two pointers to that.
_MISPLACED = sys.version_info[:2] == (3, 11)
_HAS_DICT, _BEFORE = 1 << 4, 16 + 2 * 8

# What lies before an object that the collector tracks: its links, and from 3.11 on two pointers of some types.
_BEFORE_TRACKED = (16, 32)

# Objects of which it is asked what lies in them.
_MOST_BEHIND = 8192

# Of the objects at one place, so many are asked at a time, spread over all, until so many were traced; where there are
# several types, a part of that of each, but no fewer than the last.
_AT_ONCE, _ENOUGH, _LEAST = 1024, 512, 32
_MOST_TYPES = 16  # those that are met after so many others are asked together

_Frames = tuple[tuple[str, int], ...]
_Reader = Callable[["NDArray[np.int64]", bool], "tuple[list[_Frames | None], NDArray[np.uint64]]"]


class Tracer(Protocol):
    """The interpreter's own module behind ``tracemalloc``, which imports nothing."""

    def start(self, n_frames: int, /) -> None:
        """Trace all that Python's allocators hand out; nothing changes where that is done already."""

    def stop(self) -> None:
        """Trace no more, and forget what was traced."""

    def is_tracing(self) -> bool:
        """Whether allocations are traced."""

    def get_traceback_limit(self) -> int:
        """How many frames are kept."""

    def _get_object_traceback(self, obj: object, /) -> _Frames | None: ...


class Made(NamedTuple):
    """Objects of one type at one place that one line has made.

    Attributes:
        place: as in the table that was asked about.
        type_name: qualified.
        file, line: of the innermost frame of the program's own; empty and 0 where none of those kept is its own.
        n_objects: how many.
        n_bytes: what they take themselves, an array's buffer and a tensor's storage included.
    """

    place: int
    type_name: str
    file: str
    line: int
    n_objects: int
    n_bytes: int


def find_tracer(*, is_bounded: bool = False) -> tuple[Tracer | None, str]:
    """Return what traces allocations, or why nothing can here and now.

    ``is_bounded`` says that pauses are: without the extension, to forget the traces of all blocks takes 0.3 µs each.
    """
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None, "a free-threaded Python is not traced"
    try:
        import _tracemalloc
    except ImportError:
        return None, "this Python cannot trace allocations"
    if is_bounded and tracing() is None:
        return None, "within a budget, allocations are traced with the extension in C only"
    mended = _MENDED.get(sys.version_info[:2], (3, 12))
    if sys.version_info < mended and tracing() is None and count_other_threads():
        return None, "before Python 3.12.9 and 3.13.2 a program with threads is traced with the extension in C only"
    return cast(Tracer, _tracemalloc), ""


def start_tracing(tracer: Tracer) -> None:
    """Trace what Python's allocators hand out to whoever holds the interpreter's lock, with ``FRAMES`` frames.

    What is allocated without it is nothing that an object lies in; to stop while another thread waits for the lock in
    such a call ends the process before Python 3.12.9 and 3.13.2 (python/cpython#128679).  Of each size of blocks the
    first 512 are traced, and then ever fewer, chosen at random, so that a phase of many small steps takes three to ten
    times as long and not sixty; without the extension, all are.
    """
    native = tracing()
    if native is None:
        tracer.start(FRAMES)
    else:
        native.start(tracer.start, FRAMES)


def stop_tracing(tracer: Tracer) -> None:
    """Stop what ``start_tracing`` has begun, unless the program has begun to trace since."""
    if tracer.get_traceback_limit() == FRAMES:
        tracer.stop()
    native = tracing()
    if native is not None:
        native.end()


def spare_numbers() -> list[float]:
    """Return numbers in the place of those that the interpreter keeps for new ones, which would come without a trace.

    They are made before tracing begins and dropped when it has ended.  Lists and dicts are kept likewise, but to hold
    as many would bring the next collection nearer.  Cost: 3 µs.
    """
    return [n + 0.5 for n in range(_KEPT_FREE)]


@uninterrupted
def made_at(
    tracer: Tracer,
    places: Collection[int],
    roots: Mapping[str, object] | None = None,
    *,
    libraries: bool = True,
    most: int = 1 << 17,
    limit_s: float | None = None,
    done: Callable[[], object] = int,
) -> list[Made]:
    """Return which lines have made what lies at some places and below, of what was traced; the heaviest first.

    Of a tensor that was made before, the line at which its node was made, where torch's anomaly mode keeps that.

    Args:
        tracer: of ``find_tracer``.
        places: of a table that was read in this process.
        roots: from which the table was read.
        libraries: whether it was read with them.
        most: objects of one place that are looked at.
        limit_s: ask no more objects after this many seconds of the thread's processor time; at each place some are.
        done: called when all were asked.  What is made after that need not be traced any more.

    Cost: that of a look by place, 5 µs each for 1,024 objects of a place, fifteen without the extension, and 0.1 µs for
    each other one that is asked where few were traced.  Numbers of a place with more are estimates.
    """
    began = time.thread_time()
    found, homes, n_there = members(places, roots, libraries=libraries, most=most, limit_s=limit_s)
    try:
        until = math.inf if limit_s is None else began + limit_s
        read = partial(_traces, tracer, found)
        asked: list[_Asked] = []
        types = _type_addresses(found)
        for place in places:
            there = np.flatnonzero(homes == place)
            asked += _ask_each_type(read, types, there, place, n_there[place] / max(1, len(there)), until)
        done()
        return _sums(found, asked)
    finally:
        found.clear()


def pause_tracing() -> None:
    """Trace nothing more, with the extension: of what was traced it stays known whether it is there."""
    native = tracing()
    if native is not None:
        native.pause()


@uninterrupted
def made_and_there(tracer: Tracer, *, limit_s: float | None = None, done: Callable[[], object] = int) -> list[Made]:
    """Return which lines have made what was traced and is still there; the heaviest first.

    That is what the collector tracks, and what lies directly in that: arrays, numbers and texts.

    Args:
        tracer: of ``find_tracer``; the extension has begun and paused it.
        limit_s: ask no more objects after this many seconds of the thread's processor time; of each type some are.
        done: called when all were asked.

    Nothing is found without the extension.  Cost: 5 ns for each object that the collector tracks, 5 µs each for 512
    of those that are found.
    """
    native, heap = tracing(), extension()
    if native is None or heap is None:
        return []
    until = math.inf if limit_s is None else time.thread_time() + limit_s
    blocks = np.frombuffer(native.blocks(), np.uint64)
    found = heap.tracked_at(np.concatenate([blocks + np.uint64(before) for before in _BEFORE_TRACKED]).tobytes())
    try:
        found += _behind(found[:_MOST_BEHIND])
        read = partial(_traces, tracer, found)
        asked = _ask_each_type(read, _type_addresses(found), np.arange(len(found)), 0, 1.0, until)
        done()
        return _sums(found, asked)
    finally:
        found.clear()


def _behind(found: Sequence[object]) -> list[object]:
    """Return what the collector does not track of what lies directly in some objects, or in their dicts, each once."""
    behind = gc.get_referents(*found)
    behind += gc.get_referents(*[obj for obj in behind if type(obj) is dict])
    once = {id(obj): obj for obj in behind if not gc.is_tracked(obj)}
    return list(once.values())


class _Asked(NamedTuple):
    """Which objects of one type at one place were asked, by position, the trace of each, and how many it stands for."""

    place: int
    positions: NDArray[np.int64]
    traces: list[_Frames | None]
    stand_for: NDArray[np.float64]


def _type_addresses(found: Sequence[object]) -> NDArray[np.int64]:
    """Return the address of each object's type; no number of Python's is made, which would be traced."""
    types = np.fromiter(map(type, found), object, len(found))
    return np.frombuffer(ctypes.string_at(types.__array_interface__["data"][0], types.nbytes), np.int64)


def _by_type(types: NDArray[np.int64], there: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Part what lies at a place by type, the rarest first: among all that they hold, a sample would meet none of a few.

    Example: ten episodes of 3,000 numbers each.
    """
    if len(there) <= _AT_ONCE:
        return [there]
    groups: list[NDArray[np.int64]] = []
    left = there
    while len(left) and len(groups) < _MOST_TYPES:  # a sort would take ten times as long
        is_first = types[left] == types[left[0]]
        groups.append(left[is_first])
        left = left[~is_first]
    groups += [left] if len(left) else []
    return sorted(groups, key=len)


def _ask_each_type(
    read: _Reader, types: NDArray[np.int64], there: NDArray[np.int64], place: int, stands_for: float, until: float
) -> list[_Asked]:
    """Ask objects at one place for their traces, of each type a part."""
    groups = _by_type(types, there)
    enough = max(_LEAST, _ENOUGH // max(1, len(groups)))
    return [_ask(read, group, place, stands_for, enough, until) for group in groups]


def _ask(
    read: _Reader, there: NDArray[np.int64], place: int, stands_for: float, enough: int, until: float
) -> _Asked:
    """Ask objects at one place for their traces, until enough were traced, all are asked, or the time has come.

    Of those that were all made before, what they keep their items in is asked for, which is made anew to enlarge it.
    """
    order = there[_spread(len(there))]
    traces: list[_Frames | None] = []
    weights: list[NDArray[np.uint64]] = [np.ones(0, np.uint64)]
    n_traced = 0
    while len(traces) < len(order) and n_traced < enough and (not traces or time.thread_time() < until):
        new, of_new = read(order[len(traces) : len(traces) + _AT_ONCE * enough // _ENOUGH], False)
        n_traced += len(new) - new.count(None)
        traces += new
        weights.append(of_new)
    if not n_traced:
        new, of_new = read(order[:_AT_ONCE], True)
        if new.count(None) < len(new):
            traces, weights = new, [of_new]
    stand_for = stands_for * len(there) / max(1, len(traces)) * np.concatenate(weights).astype(np.float64)
    return _Asked(place, order[: len(traces)], traces, stand_for)


def _spread(n: int) -> NDArray[np.int64]:
    """Return the numbers below ``n`` in an order of which every part is spread over all of them.

    Steps of one Fibonacci number around a circle of the next meet no rhythm of what lies there; numpy would import its
    own for chance.
    """
    step, circle = 1, 1
    while circle < n:
        step, circle = circle, step + circle
    order = np.arange(circle) * step % circle
    return order[order < n]


def _traces(
    tracer: Tracer, found: list[object], positions: NDArray[np.int64], of_buffers: bool
) -> tuple[list[_Frames | None], NDArray[np.uint64]]:
    """Return the traces of some objects, or of their buffers, and for how many each stands.

    In C what is made for that is not traced; in Python nothing is known of buffers.
    """
    native = tracing()
    read = tracer._get_object_traceback
    if native is not None:
        traces, weights = native.traces(read, found, positions.tobytes(), of_buffers)
        return cast("list[_Frames | None]", traces), np.frombuffer(weights, np.uint64)
    objects = [] if of_buffers else [found[at] for at in positions.tolist()]
    return _traces_in_python(read, objects), np.ones(len(objects), np.uint64)


def _traces_in_python(
    read: Callable[[object], _Frames | None], objects: Sequence[object]
) -> list[_Frames | None]:
    flags_of = type.__dict__["__flags__"].__get__
    displaced = {cls for cls in set(map(type, objects)) if flags_of(cls) & _HAS_DICT} if _MISPLACED else set()
    if not displaced:
        return list(map(read, objects))
    at = ctypes.pythonapi._PyTraceMalloc_GetTraceback
    at.restype, at.argtypes = ctypes.py_object, (ctypes.c_uint, ctypes.c_size_t)
    return [at(0, id(obj) - _BEFORE) if type(obj) in displaced else read(obj) for obj in objects]


def _sums(found: Sequence[object], asked: Iterable[_Asked]) -> list[Made]:
    """Add up what each line has made, without what was made by us.

    A tensor's node counts whenever that was made, where the program has its frames written down.
    """
    objects: list[object] = []
    makers: list[tuple[int, float, str, int]] = []
    own_frame = cache(_own_frame)
    try:
        for one in asked:
            there = [found[at] for at in one.positions.tolist()]
            nodes = node_frames(there)
            for n, (obj, trace, stands_for) in enumerate(zip(there, one.traces, one.stand_for.tolist(), strict=True)):
                frames = nodes.get(n) if trace is None else trace
                if frames is not None and not (frames and is_ours(frames[0][0])):
                    objects.append(obj)
                    makers.append((one.place, stands_for, *own_frame(frames)))
            there.clear()
        kinds = Kinds(measured=tensors.measured_bases())
        names, sizes = [kinds.of(type(obj)).name for obj in objects], _own_bytes(objects, kinds)
    finally:
        objects.clear()
    sums: dict[tuple[int, str, str, int], list[float]] = {}
    for (place, stands_for, file, line), name, size in zip(makers, names, sizes, strict=True):
        total = sums.setdefault((place, name, file, line), [0, 0])
        total[0] += stands_for
        total[1] += stands_for * size
    rows = [Made(*key, round(n_objects), round(n_bytes)) for key, (n_objects, n_bytes) in sums.items()]
    return sorted(rows, key=lambda row: (-row.n_bytes, -row.n_objects, row))


def _own_bytes(objects: Sequence[object], kinds: Kinds) -> list[int]:
    """Return what each takes itself; of tensors, the storage where it was met first."""
    sizes = [kinds.of(type(obj)).own_bytes(obj) for obj in objects]
    measured = [at for at, obj in enumerate(objects) if kinds.of(type(obj)).is_measured]
    for at, (size, _) in zip(measured, tensors.measure_each(map(objects.__getitem__, measured)), strict=False):
        sizes[at] += size
    return sizes


def is_ours(file: str) -> bool:
    """Whether code of a file is our own: what it makes, such as records of what was traced, is nobody else's."""
    return file.startswith(_OURS) and not file.startswith(_DEMO)


def _own_frame(frames: Iterable[tuple[str, int]]) -> tuple[str, int]:
    """Return file and line of the innermost frame that is the program's own; empty and 0 where none is."""
    return next(((file, line) for file, line in frames if is_programs(file)), ("", 0))


@cache
def is_programs(file: str) -> bool:
    """Whether code of a file is the program's own: none of a library, of Python, or of ours."""
    if file.startswith("<"):
        return file.startswith(_CELL)
    if is_installed_file(file):
        return False
    return not is_ours(file) and (file.startswith(_DEMO) or not file.startswith(_stdlib()))


@cache
def _stdlib() -> tuple[str, ...]:
    paths = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))
    return tuple(dict.fromkeys(f"{path}/" for path in paths if path))


def functions_around(file: str, lines: Collection[int]) -> dict[int, str]:
    """Return the name of the innermost function around each line, ``<module>`` outside all; empty if not known.

    Read from the file: a trace has no names.  Cost: 5 ms for a thousand lines of a file; of 6,000 or more none is read.
    """
    try:
        path = Path(file)
        if not path.is_file() or path.stat().st_size > _MOST_SOURCE:
            return {}
        tree = ast.parse(path.read_bytes())
    except (OSError, ValueError, SyntaxError, RecursionError) as error:
        raise_the_programs(error)
        return {}
    return {line: _innermost(tree, line) for line in lines}


def _innermost(tree: ast.Module, line: int) -> str:
    name, node = "<module>", cast(ast.AST, tree)
    names: list[str] = []
    while True:
        inner = next((one for one in _blocks(node) if _first_line(one) <= line <= (one.end_lineno or one.lineno)), None)
        if inner is None:
            return name
        names.append(inner.name)
        if not isinstance(inner, ast.ClassDef):
            name = ".".join(names)
        node = inner


def _first_line(block: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    return min([block.lineno, *(one.lineno for one in block.decorator_list)])


def _blocks(node: ast.AST) -> Iterable[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Yield functions and classes directly within a node, however deep in its statements."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield child
        else:
            yield from _blocks(child)
