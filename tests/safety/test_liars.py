"""Objects that lie about themselves or refuse to be read: left out or described, and everything else goes on."""

from __future__ import annotations

import ast
import functools
import gc
import importlib.util
import io
import mmap
import sys
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from looks import LOOKS

import phaseprof
from phaseprof import Profiler
from phaseprof.probes.holders import find_holders
from phaseprof.probes.typeinfo import is_a, loaded_module


def refuse(*_: object, **__: object) -> object:
    raise RuntimeError("this code is the program's")


class Claims:
    """As the modules do that C extensions and proxies put into ``sys.modules``."""

    __class__ = property(lambda self: types.ModuleType)  # type: ignore[assignment]


class Refuses:
    __class__ = property(refuse)  # type: ignore[assignment]


class LazyModule(types.ModuleType):
    __getattribute__ = refuse  # type: ignore[assignment]


class Thing:
    pass


MAKERS: dict[str, Callable[[], object]] = {
    "claims": Claims,
    "refuses": Refuses,
    "lazy": lambda: LazyModule("lazy"),
    "none": lambda: None,
}


@pytest.fixture(params=MAKERS)
def liar(request: pytest.FixtureRequest) -> Iterator[object]:
    made = MAKERS[request.param]()
    sys.modules["a_liar"] = made  # type: ignore[assignment]
    yield made
    del sys.modules["a_liar"]


def test_a_liar_among_the_modules_stops_no_look(liar: object) -> None:
    for look in LOOKS.values():
        look(liar)


def test_holders_are_found_beside_a_liar(liar: object) -> None:
    kept = [Thing() for _ in range(20)]

    assert "local kept" in str(find_holders([kept[3]])[0])


def test_a_leak_is_named_beside_a_liar(liar: object) -> None:
    gc.collect()  # what other tests left would go in the middle, and hide the growth
    kept: list[Thing] = []
    profiler = Profiler(budget=None)
    for generation in range(16):
        with profiler.generation(generation), profiler.phase("learn"):
            kept.extend(Thing() for _ in range(5000))

    (finding,) = profiler.findings()

    assert (finding.subject, finding.phase) == ("Thing", "learn")
    assert "kept" in " ".join(finding.holder)


def test_a_lazy_module_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lazy_one.py").write_text("raise RuntimeError('loaded')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    spec = importlib.util.find_spec("lazy_one")
    assert spec is not None
    assert spec.loader is not None
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "lazy_one", module)
    spec.loader.exec_module(module)
    kept = [Thing()]

    for look in LOOKS.values():
        look(kept)

    assert loaded_module("lazy_one", "anything") is None


METHODS = [
    "__len__", "__iter__", "__getattr__", "__getattribute__", "__eq__", "__hash__", "__bool__", "__sizeof__",
    "__repr__", "__contains__", "__getitem__", "__reduce_ex__", "__dir__", "keys", "items", "values", "base", "dtype",
]  # fmt: skip


BASES = [object, list, dict, set, tuple, str, bytes, bytearray, BaseException, np.ndarray, types.ModuleType]


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from(BASES),
    st.sets(st.sampled_from(METHODS)),
    st.booleans(),
    st.sampled_from(["places", "holders", "size"]),
)
def test_no_method_of_a_class_is_called(base: type, names: set[str], lies: bool, look: str) -> None:
    namespace: dict[str, object] = dict.fromkeys(names, refuse)
    if lies:
        namespace["__class__"] = property(refuse)
    cls = type("Made", (base,), namespace)
    arguments = {np.ndarray: (3,), types.ModuleType: ("made",)}.get(base, ())
    made = base.__new__(cls, *arguments)
    if base is types.ModuleType:
        types.ModuleType.__init__(made, "made")
    holder = Thing()
    holder.made = [made]  # type: ignore[attr-defined]

    LOOKS[look](holder)
    LOOKS[look](holder.made[0])  # type: ignore[attr-defined]


class Asked(type):
    """Refuses whatever a class can be asked."""

    __getattribute__ = __hash__ = __eq__ = __instancecheck__ = __subclasscheck__ = __repr__ = refuse  # type: ignore
    __bool__ = __len__ = __iter__ = __dir__ = refuse


class Text(str):
    """A name whose methods are the program's."""

    __slots__ = ()
    __getattribute__ = __hash__ = __eq__ = __str__ = __format__ = __len__ = __getitem__ = refuse  # type: ignore
    __add__ = __radd__ = __contains__ = refuse  # type: ignore


@pytest.mark.parametrize("budget", [None, 0.02])
def test_no_class_is_asked_in_a_whole_run(budget: float | None) -> None:
    named = type("Named", (), {})
    named.__name__, named.__qualname__, named.__module__ = Text("Named"), Text("Named"), Text("there")
    refusing = Asked("Refusing", (), {})
    make = functools.partial(object.__new__, refusing)
    kept: list[object] = [[make(), make()], {"one": make()}, (i for i in ()), refusing, named()]
    profiler = Profiler(None, budget=budget)
    profiler.watch(refusing, expected=3)
    profiler.watch(named, expected=1)
    profiler.track("kept", lambda: kept)
    for generation in range(16):
        with profiler.generation(generation), profiler.phase("learn"):
            kept.extend(Thing() for _ in range(5000))
            time.sleep(0 if budget is None else 0.01)
    profiler.snapshot("at last")
    profiler.print_summary()

    model = profiler._model()

    counts = [model.series["generation end", f"watched/{name}"].values for name in ("Refusing", "Named")]
    assert [set(values) for values in counts] == [{3}, {1}]
    assert not [note for note in model.notes if "failed" in note or "looked at" in note]
    if budget is None:
        assert "kept" in " ".join(next(one for one in profiler.findings() if one.subject == "Thing").holder)
    profiler.close()


def closed(thing: object) -> object:
    thing.close()  # type: ignore[attr-defined]
    return thing


@pytest.mark.parametrize(
    "make",
    [
        lambda: closed(io.BytesIO(bytes(5000))),
        lambda: closed(mmap.mmap(-1, 8192)),
        lambda: closed(Path(__file__).open()),  # noqa: SIM115 - closed is what it is to be
        lambda: closed(i for i in range(3)),
        lambda: np.frombuffer(mmap.mmap(-1, 8192), np.uint8),
        lambda: np.zeros(4, [("item", object), ("number", np.int32)]),
        lambda: _released(memoryview(bytearray(5000))),
    ],
    ids=["BytesIO", "mmap", "file", "generator", "mapped array", "record array", "memoryview"],
)
def test_what_is_closed_is_passed_over(make: Callable[[], object]) -> None:
    kept = [make()]

    for look in LOOKS.values():
        look(kept[0])


def _released(view: memoryview) -> memoryview:
    view.release()
    return view


def test_a_type_is_told_by_the_type() -> None:
    assert not is_a(Claims(), types.ModuleType)
    assert is_a(True, int)
    assert loaded_module("sys", "path") is sys


# Where a program's objects never come: our own records, settings that were read from text, results of our probes,
# syntax trees and instructions.
MAY_ASK = {
    "probes/registry.py", "live/families.py", "live/investigation.py", "live/escalation.py", "live/project_file.py",
    "live/settings.py", "profiler.py", "live/recorder.py", "live/session.py",
    "live/loop_code.py", "probes/sites.py",
}  # fmt: skip


def test_no_object_is_asked_for_its_class() -> None:
    """``isinstance`` asks an object for its ``__class__``, which may run code and lie."""
    root = Path(phaseprof.__file__).parent
    places = [*(root / "probes").rglob("*.py"), *(root / "live").rglob("*.py"), *(root / "native").rglob("*.py")]
    places += [root / "profiler.py", root / "api.py", root / "cli" / "targets.py"]
    asked = []
    for path in places:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
                asked.append(path.relative_to(root).as_posix())

    assert set(asked) <= MAY_ASK


def test_the_collector_is_none_the_wiser() -> None:
    assert gc.isenabled()
