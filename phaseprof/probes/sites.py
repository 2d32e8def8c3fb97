"""Which line of the program made an object: what ``tracemalloc`` has seen while a phase was traced."""

from __future__ import annotations

import ast
import sys
import sysconfig
from _thread import _count as count_other_threads
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

import numpy as np

from phaseprof.interrupts import raise_the_programs
from phaseprof.native.extension import extension
from phaseprof.native.kinds import Kinds
from phaseprof.native.places import members
from phaseprof.probes import tensors
from phaseprof.probes.libraries import is_installed_file
from phaseprof.probes.node_lines import node_frames
from phaseprof.probes.typeinfo import type_name
from phaseprof.probes.uninterrupted import uninterrupted

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FRAMES", "Made", "Tracer", "find_tracer", "function_around", "made_at", "spare_numbers", "start_tracing"]

# Frames that are kept of each allocation: of a library's, between the program's own line and what it makes, there are
# fewer; a copy of a model is made eighteen calls deep.  No program asks for such a number, so that what it starts while
# we trace is told from ours.
FRAMES = 27
# Before these, to stop while another thread allocates without the lock may end the process.
_MENDED = {(3, 12): (3, 12, 9), (3, 13): (3, 13, 2)}
# A source that is searched for the function around a line, at most.
_MOST_SOURCE = 1 << 20
# What an import compiles and a debugger runs has no file; cells of a notebook are the program's own.
_CELL = "<ipython-input"
_OURS = str(Path(__file__).parent.parent) + "/"
_DEMO = f"{_OURS}demo/"


# Numbers with a fraction that the interpreter keeps for new ones.
_KEPT_FREE = 100
# CPython 3.11 looks for the trace of an instance with a dict in the wrong place: after the two pointers to that.
_MISPLACED = sys.version_info[:2] == (3, 11)
_HAS_DICT, _BEFORE = 1 << 4, 16 + 2 * 8

# Of the objects at one place, so many are asked, spread over all; fewer that were traced are too few to go by.
_SAMPLED, _ENOUGH = 4096, 64
_GOLDEN = 2_654_435_761  # a prime, so that steps of it come to each object of a place once

_Frames = tuple[tuple[str, int], ...]
_Reader = Callable[[object], "_Frames | None"]


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


def find_tracer() -> tuple[Tracer | None, str]:
    """Return what traces allocations, or why nothing can here and now."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None, "a free-threaded Python is not traced"
    try:
        import _tracemalloc
    except ImportError:
        return None, "this Python cannot trace allocations"
    mended = _MENDED.get(sys.version_info[:2], (3, 12))
    if sys.version_info < mended and extension() is None and count_other_threads():
        return None, "before Python 3.12.9 and 3.13.2 a program with threads is traced with the extension in C only"
    return cast(Tracer, _tracemalloc), ""


def start_tracing(tracer: Tracer) -> None:
    """Trace what Python's allocators hand out to whoever holds the interpreter's lock, with ``FRAMES`` frames.

    What is allocated without it is nothing that an object lies in; to stop while another thread waits for the lock in
    such a call ends the process before Python 3.12.9 and 3.13.2 (python/cpython#128679).
    """
    native = extension()
    if native is None:
        tracer.start(FRAMES)
    else:
        native.trace(tracer.start, FRAMES)


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
    most: int = 1 << 20,
) -> list[Made]:
    """Return which lines have made what lies at some places and below, of what was traced; the heaviest first.

    Of a tensor that was made before, the line at which its node was made, where torch's anomaly mode keeps that.

    Args:
        tracer: of ``find_tracer``.
        places: of a table that was read in this process.
        roots: from which the table was read.
        libraries: whether it was read with them.
        most: objects that are looked at.

    Cost: that of a look by place, 2 µs each for 4,096 objects of a place and for those that were traced where these are
    few, and 0.1 µs for each other one that is asked then.  Numbers of a place with more are estimates.
    """
    found, homes = members(places, roots, libraries=libraries, most=most)
    traced: list[Any] = []
    try:
        kept, traces = _traced(_reader(tracer, found), found, homes)
        traced += map(found.__getitem__, kept)
        found.clear()
        sizes = _own_bytes(traced)
        names = [type_name(type(obj)) for obj in traced]
    finally:
        found.clear()
        traced.clear()
    sums: dict[tuple[int, str, str, int], list[float]] = {}
    for (at, stands_for), trace, name, size in zip(kept.items(), traces, names, sizes, strict=True):
        one = sums.setdefault((homes[at], name, *_own_frame(trace)), [0, 0])
        one[0] += stands_for
        one[1] += stands_for * size
    rows = [Made(*key, round(n_objects), round(n_bytes)) for key, (n_objects, n_bytes) in sums.items()]
    return sorted(rows, key=lambda row: (-row.n_bytes, -row.n_objects, row))


def _traced(read: _Reader, found: Sequence[object], homes: Sequence[int]) -> tuple[dict[int, float], list[_Frames]]:
    """Return which objects the program has made while it was traced, and by which frames.

    Of the many that lie at one place, a sample is asked; all, where the sample holds few that were traced.

    Returns:
        Position of an object in ``found`` to how many it stands for, and the frames of each.
    """
    at_home = np.array(homes, np.uint64)
    kept: dict[int, float] = {}
    traces: list[_Frames] = []
    for place in dict.fromkeys(homes):
        there = np.flatnonzero(at_home == place)
        # Steps by the golden ratio meet no rhythm of what lies there; numpy would import its own for chance.
        asked = there if len(there) <= _SAMPLED else there[np.arange(_SAMPLED) * _GOLDEN % len(there)]
        seen = _seen(read, found, asked)
        if len(seen) < _ENOUGH and len(asked) < len(there):
            asked, seen = there, _seen(read, found, there)
        kept.update(dict.fromkeys(seen, len(there) / len(asked)))
        traces += seen.values()
    return kept, traces


def _seen(read: _Reader, found: Sequence[object], asked: NDArray[np.int64]) -> dict[int, _Frames]:
    """Return the frames of those that were traced, and were not made by us; most were made earlier.

    Those of a tensor's node count whenever that was made, where the program has them written down.
    """
    is_asked = np.zeros(len(found), np.bool_)
    is_asked[asked] = True
    # Whatever is made here is traced as well, which takes longer than to ask: no number and no tuple for each object.
    objects, positions = list(compress(found, is_asked.tolist())), np.flatnonzero(is_asked)
    traces = list(map(read, objects))
    is_traced = [trace is not None for trace in traces]
    traced = positions[np.array(is_traced, np.bool_)].tolist()
    of_nodes = {int(positions[n]): stack for n, stack in node_frames(objects).items()}
    frames = of_nodes | dict(zip(traced, compress(traces, is_traced), strict=True))
    return {at: trace for at, trace in frames.items() if trace is not None and not _is_ours(trace)}


def _reader(tracer: Tracer, found: Sequence[object]) -> _Reader:
    """Return what reads the trace of an object."""
    plain, flags_of = tracer._get_object_traceback, type.__dict__["__flags__"].__get__
    displaced = {cls for cls in set(map(type, found)) if flags_of(cls) & _HAS_DICT} if _MISPLACED else set()
    if not displaced:
        return plain
    import ctypes

    at = ctypes.pythonapi._PyTraceMalloc_GetTraceback
    at.restype, at.argtypes = ctypes.py_object, (ctypes.c_uint, ctypes.c_size_t)
    return lambda obj: at(0, id(obj) - _BEFORE) if type(obj) in displaced else plain(obj)


def _own_bytes(objects: Sequence[object]) -> list[int]:
    """Return what each takes itself; of tensors, the storage where it was met first."""
    kinds = Kinds(measured=tensors.measured_bases())
    sizes = [kinds.of(type(obj)).own_bytes(obj) for obj in objects]
    measured = [at for at, obj in enumerate(objects) if kinds.of(type(obj)).is_measured]
    for at, (size, _) in zip(measured, tensors.measure_each(map(objects.__getitem__, measured)), strict=False):
        sizes[at] += size
    return sizes


def _is_ours(frames: _Frames) -> bool:
    """Whether our own code made it, as records of what was traced."""
    return bool(frames) and frames[0][0].startswith(_OURS) and not frames[0][0].startswith(_DEMO)


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
    return file.startswith(_DEMO) or not file.startswith((_OURS, *_stdlib()))


@cache
def _stdlib() -> tuple[str, ...]:
    paths = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))
    return tuple(dict.fromkeys(f"{path}/" for path in paths if path))


@cache
def function_around(file: str, line: int) -> str:
    """Return the name of the innermost function around a line, ``<module>`` outside all; empty where that is not known.

    Read from the file: a trace has no names.  Cost: 5 ms for a thousand lines, once for each line that is asked about.
    """
    try:
        path = Path(file)
        if not path.is_file() or path.stat().st_size > _MOST_SOURCE:
            return ""
        tree = ast.parse(path.read_bytes())
    except (OSError, ValueError, SyntaxError, RecursionError) as error:
        raise_the_programs(error)
        return ""
    return _innermost(tree, line)


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
