"""The walk in C gives the same answer as the one in Python, whatever the heap."""

from __future__ import annotations

import collections
import contextlib
import functools
import importlib.util
import subprocess
import sys
import types
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phaseprof.native.extension import passes_in_python
from phaseprof.native.places import read_places, resolve
from tests.native.languages import differing, in_both, needs_extension

pytestmark = needs_extension


class Plain:
    def method(self) -> None: ...


class Many(Plain):
    """Has more attributes than its class expected at first."""


class Slotted:
    __slots__ = ("__weakref__", "a", "b")


class SlottedWithDict(Slotted):
    pass


class ListOfOurs(list):  # type: ignore[type-arg]
    pass


class DictOfOurs(dict):  # type: ignore[type-arg]
    pass


class TupleOfOurs(tuple):  # type: ignore[type-arg]
    pass


class IntOfOurs(int):
    pass


class StrOfOurs(str):
    pass


class ArrayOfOurs(np.ndarray):
    pass


Pair = collections.namedtuple("Pair", "left right")


class Tree(dict):  # type: ignore[type-arg]
    """Its own dict may be any dict, one of a subclass among them."""


def attributes(cls: type) -> Callable[[list[object]], object]:
    def make(parts: list[object]) -> object:
        made = cls()
        for i, part in enumerate(parts):
            setattr(made, f"attribute{i}", part)
        return made

    return make


def slotted(cls: type) -> Callable[[list[object]], object]:
    def make(parts: list[object]) -> object:
        made = cls()
        for name, part in zip(("b", "a", "c")[: 2 + (cls is not Slotted)], parts, strict=False):
            setattr(made, name, part)
        return made

    return make


def materialised(parts: list[object]) -> object:
    made = attributes(Plain)(parts)
    assert made.__dict__ is not None
    return made


def foreign_dict(parts: list[object]) -> object:
    made = Plain()
    made.__dict__ = DictOfOurs((f"k{i}", part) for i, part in enumerate(parts))
    return made


def shared_dict(parts: list[object]) -> object:
    first, second = Plain(), Plain()
    first.parts = parts  # type: ignore[attr-defined]
    second.__dict__ = first.__dict__
    return [second.__dict__, first, second]


def deleted(parts: list[object]) -> object:
    made = attributes(Plain)([*parts, 1.5])
    del made.attribute0  # type: ignore[attr-defined]
    return made


def closure(parts: list[object]) -> object:
    held = parts

    def inner(extra: object = parts) -> object:
        return held, extra

    inner.attribute = parts  # type: ignore[attr-defined]
    return inner


def generator(parts: list[object]) -> object:
    def run() -> object:
        local = [*parts]
        yield local

    made = run()
    next(made)
    return made


def shared_generator(parts: list[object]) -> object:
    """It shares locals with an inner function, some have no value yet, and somebody holds its frame."""

    def run(given: object) -> Iterator[object]:
        local, again = [*parts], parts

        def inner() -> object:
            return local, given, later

        yield inner
        later = again
        yield later

    made = run(parts[:1])
    next(made)
    return made, made.gi_frame, run(parts)  # type: ignore[attr-defined]


@types.coroutine
def pause(held: object) -> Iterator[object]:
    yield held


def coroutine(parts: list[object]) -> object:
    async def waiting(given: object) -> object:
        await pause(parts)
        return given

    async def run() -> object:
        local = [*parts]
        return await waiting(parts[:1]), local

    made = run()
    made.send(None)
    return made, made.cr_frame.f_lineno  # somebody has asked for its frame, which stays with it


def async_generator(parts: list[object]) -> object:
    async def run() -> AsyncIterator[object]:
        local = [*parts]
        yield local

    made = run()
    with contextlib.suppress(StopIteration):
        made.__anext__().send(None)  # type: ignore[attr-defined]
    return made


def array(parts: list[object]) -> object:
    made = np.empty(len(parts), object)
    made[:] = parts
    return made


def holding_exception(parts: list[object]) -> object:
    error = ValueError(*parts)
    error.note = parts  # type: ignore[attr-defined]
    return error


def ring(parts: list[object]) -> object:
    made: list[object] = [*parts]
    made.append({"ring": made})
    return made


MAKERS: tuple[Callable[[list[object]], object], ...] = (
    list, tuple, ListOfOurs, TupleOfOurs, collections.deque, ring, array,
    lambda parts: {f"key{i}": part for i, part in enumerate(parts)},
    lambda parts: {(i, "key"): part for i, part in enumerate(parts)},
    lambda parts: DictOfOurs((i, part) for i, part in enumerate(parts)),
    lambda parts: Tree(inner={"__name__": "m", "held": parts}),
    lambda parts: collections.OrderedDict((i * 1000, part) for i, part in enumerate(parts)),
    lambda parts: collections.defaultdict(list, dict(enumerate(parts))),
    lambda parts: {"__name__": "namespace", "first": parts, "second": parts[:1]},
    lambda parts: {i * 1.5 for i in range(len(parts))},
    lambda parts: frozenset((IntOfOurs(i), StrOfOurs(i)) for i in range(len(parts))),
    attributes(Plain), attributes(Many), attributes(SlottedWithDict), attributes(types.SimpleNamespace),
    slotted(Slotted), slotted(SlottedWithDict), materialised, foreign_dict, shared_dict, deleted,
    closure, generator, shared_generator, coroutine, async_generator, holding_exception,
    lambda parts: Pair(parts, parts[:1]),
    lambda parts: functools.partial(print, *parts, key=parts),
    lambda parts: types.MethodType(print, parts),
    lambda parts: types.MappingProxyType({"held": parts}),
    lambda parts: iter(parts),
    lambda parts: map(str, parts),
    lambda parts: memoryview(bytearray(b"x" * 300)),
    lambda parts: np.zeros((3, 50))[1:, ::2],
    lambda parts: np.zeros(9).view(ArrayOfOurs),
    lambda parts: weakref.ref(attributes(Plain)(parts)),
    lambda parts: (len(parts), 2.5 * len(parts), 10 ** (50 + len(parts)), "x" * 300, b"y" * 300, "ä" * 10, 0, -7, 1j),
    lambda parts: (Plain().method, Plain.method, len, int.__add__, (0).__add__, property(), staticmethod(print)),
    lambda parts: type("Made", (), {"held": parts}),
    lambda parts: (range(3), slice(1, 2), object(), Ellipsis, NotImplemented, None, True),
)  # fmt: skip


@st.composite
def heaps(draw: st.DrawFn) -> list[object]:
    """Make objects that refer to some of those made before, and now and then to themselves in a ring."""
    made: list[object] = [1.25, "text", b"bytes", 12345678901234567890, None]
    for _ in range(draw(st.integers(1, 25))):
        parts = draw(st.lists(st.integers(0, len(made) - 1), max_size=6))
        made.append(MAKERS[draw(st.integers(0, len(MAKERS) - 1))]([made[i] for i in parts]))
        if type(made[-1]) is list and draw(st.booleans()):
            made[-1].append(made[draw(st.integers(0, len(made) - 1))])
    return made


@given(heaps())
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_heap(heap: list[object]) -> None:
    native, reference = in_both({"heap": heap})

    assert native == reference
    assert list(native.rows) == list(reference.rows)


@given(heaps())
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_path(heap: list[object]) -> None:
    table = read_places({"heap": heap})

    native = resolve(table.place, {"heap": heap})
    with passes_in_python():
        assert native == resolve(table.place, {"heap": heap})

    assert native.keys() == set(table.place.tolist())


@pytest.mark.parametrize("make", MAKERS)
def test_each_kind_of_object(make: Callable[[list[object]], object]) -> None:
    parts: list[object] = [[1.5], {"a": [2.5]}, Plain(), "text"]

    assert differing(*in_both({"root": [make(parts), make(parts), parts]})) == []


def compared_after(code: str) -> str:
    """Run code in a process of its own, so that what it makes is the program's, and return what differs then."""
    code += (
        "\nimport gc\n"
        "from tests.native.languages import differing, in_both\n"
        "in_both(None); gc.collect()\n"  # a first time, for what a first time leaves behind
        "native, reference = in_both(None)\n"
        "print(len(native.rows) > 1000, differing(native, reference))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("library", ["json", "numpy", "torch", "pandas", "matplotlib.pyplot", "sympy"])
def test_beside_a_library(library: str) -> None:
    if importlib.util.find_spec(library.partition(".")[0]) is None:
        pytest.skip(f"needs {library}")

    assert compared_after(f"import {library}") == "True []\n"


def test_objects_that_the_collector_has_frozen() -> None:
    code = "import gc\nkept = [[i] for i in range(9)]\ngc.freeze()\nmore = [[i] for i in kept]"

    assert compared_after(code) == "True []\n"


def test_an_exception_that_ended_the_program() -> None:
    code = (
        "import sys\ndef fail(n):\n    kept = [[i] for i in range(999)]\n    fail(n - 1) if n else 1 / 0\n"
        "try: fail(5)\nexcept ZeroDivisionError as error:\n"
        "    sys.last_value, sys.last_traceback = error, error.__traceback__\n"
    )

    assert compared_after(code) == "True []\n"


def test_a_collector_that_is_off() -> None:
    assert (
        compared_after("import gc\ngc.disable()\nrings = [[i] for i in range(9)]\nrings.append(rings)") == "True []\n"
    )


def test_a_chain_of_a_million() -> None:
    chain: object = None
    for _ in range(1_000_000):
        chain = (chain,)

    native = read_places({"root": [chain]})

    assert int(native.n_objects.sum()) == 1_000_001
    assert len(native) == 3
    path = resolve(native.place, {"root": [chain]})
    assert max(map(len, path.values())) == 3
    while chain is not None:  # by hand: freeing it in one go would nest as deep
        (chain,) = chain  # type: ignore[misc]
