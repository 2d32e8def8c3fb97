"""Objects of real libraries that claim to be something else: wrapt's proxies, and cffi's libraries."""

from __future__ import annotations

import importlib.util
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import looks
import pytest

from phaseprof import Profiler
from tests.sizing import deep_size


class Episode:
    pass


class Refuses:
    """Is wrapped, and answers nobody from then on."""

    is_wrapped = False

    def __getattribute__(self, name: str) -> Any:
        if Refuses.is_wrapped:
            raise RuntimeError("the program has not asked for it")
        return object.__getattribute__(self, name)


def proxy_of_a_list(folder: Path) -> object:
    return pytest.importorskip("wrapt").ObjectProxy([1, 2, 3])


def proxy_of_what_refuses(folder: Path) -> object:
    proxy: object = pytest.importorskip("wrapt").ObjectProxy(Refuses())
    Refuses.is_wrapped = True
    return proxy


def proxy_without_an_object(folder: Path) -> object:
    wrapt = pytest.importorskip("wrapt")
    return wrapt.ObjectProxy.__new__(wrapt.ObjectProxy)


def proxy_of_a_module(folder: Path) -> object:
    return pytest.importorskip("wrapt").ObjectProxy(types.ModuleType("not_there"))


def library_that_says_module(folder: Path) -> object:
    ffi = pytest.importorskip("cffi").FFI()
    ffi.cdef("int atoi(const char *);")
    ffi.set_source("_phaseprof_test_library", None)
    path = folder / "_phaseprof_test_library.py"
    ffi.emit_python_code(str(path))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    lib: object = module.ffi.dlopen(None)
    return lib


MAKERS: list[Callable[[Path], object]] = [
    proxy_of_a_list, proxy_of_what_refuses, proxy_without_an_object, proxy_of_a_module, library_that_says_module,
]  # fmt: skip
LOOKS = {**looks.LOOKS, "size": lambda obj: deep_size([obj])}


@pytest.fixture(params=MAKERS, ids=lambda maker: maker.__name__)
def odd(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    monkeypatch.setattr(Refuses, "is_wrapped", False)
    made = request.param(tmp_path)
    # As lazy imports and bindings do: all that looks at modules meets it.
    monkeypatch.setitem(sys.modules, "phaseprof_test_odd", made)
    yield made


@pytest.mark.parametrize("look", list(LOOKS))
def test_it_can_be_looked_at(odd: object, look: str) -> None:
    LOOKS[look](odd)


@pytest.mark.parametrize("odd", [proxy_of_what_refuses, library_that_says_module], indirect=True)
def test_a_run_goes_on_with_it_and_names_what_leaks_beside_it(odd: object) -> None:
    kept: list[object] = [odd]
    profiler = Profiler(None, budget=None)
    profiler.track("odd", lambda: odd)
    profiler.watch(Episode, expected=0)
    for index in range(8):
        with profiler.generation(index), profiler.phase("rollout"):
            kept += [Episode() for _ in range(5)]
    profiler.snapshot("at last")

    found = profiler.findings()

    assert [finding.subject for finding in found if finding.subject.endswith("Episode")]
    assert not [note for note in profiler._session.recorder.model.notes if "failed" in note]
    profiler.close()
