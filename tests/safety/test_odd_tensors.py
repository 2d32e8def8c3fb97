"""Tensors that are no plain memory: described or left out, never changed, and no end of a look."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from phaseprof import Profiler
from phaseprof.probes import autograd, categories, large, tensors
from phaseprof.probes.holders import find_holders
from phaseprof.probes.skipped import skipped
from tests.sizing import deep_size

torch: Any = pytest.importorskip("torch")


def nested() -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.nested.nested_tensor([torch.rand(2000), torch.rand(3000)])


def refusing() -> object:
    class Refuses(torch.Tensor):
        @classmethod
        def __torch_function__(cls, *args: object, **kwargs: object) -> object:
            raise RuntimeError("the program's")

    return torch.rand(5000).as_subclass(Refuses)


def wrapping() -> object:
    class Wraps(torch.Tensor):
        @staticmethod
        def __new__(cls) -> object:
            return torch.Tensor._make_wrapper_subclass(cls, (5000,))

        @classmethod
        def __torch_dispatch__(cls, *args: object, **kwargs: object) -> object:
            raise RuntimeError("the program's")

    return Wraps()


class Refusing(type(torch.Tensor)):  # type: ignore[misc]
    """Lets nobody hash or compare its classes."""

    def __hash__(cls) -> int:
        raise RuntimeError("the program's")

    def __eq__(cls, other: object) -> bool:
        raise RuntimeError("the program's")


def of_a_class_that_refuses() -> object:
    return torch.rand(5000).as_subclass(Refusing("Refused", (torch.Tensor,), {}))


def released() -> object:
    made = torch.rand(5000)
    made.untyped_storage().resize_(0)
    return made


def escaped() -> object:
    kept: list[object] = []

    def keep(x: Any) -> object:
        kept.append(x)
        return x.sum()

    torch.func.vmap(keep)(torch.rand(5, 500))
    torch.func.grad(keep)(torch.rand(500))
    return kept


ODD: dict[str, Callable[[], object]] = {
    "nested": nested,
    "refusing": refusing,
    "wrapping": wrapping,
    "of a class that refuses": of_a_class_that_refuses,
    "released": released,
    "escaped": escaped,
    "sparse": lambda: torch.eye(500).to_sparse(),
    "rows": lambda: torch.eye(500).to_sparse_csr(),
    "meta": lambda: torch.empty(5000, device="meta"),
    "quantized": lambda: torch.quantize_per_tensor(torch.rand(5000), 0.1, 0, torch.qint8),
    "lent": lambda: torch.from_numpy(np.zeros(5000)),
    "conjugate": lambda: torch.rand(5000, dtype=torch.complex64).conj(),
    "without shape": lambda: torch.nn.parameter.UninitializedParameter(),
    "with a graph": lambda: torch.rand(5000, requires_grad=True) * 2,
    "inference": lambda: _in_inference(),
}

LOOKS: dict[str, Callable[[Any], object]] = {
    "storages": lambda obj: tensors.storages_of(tensors.live_tensors()),
    "large": lambda obj: large.large_objects(1000, 100),
    "holders": lambda obj: find_holders([obj], deadline_s=0.5),
    "size": lambda obj: deep_size(obj),
    "graph": lambda obj: autograd.count_nodes(tensors.live_tensors(), max_nodes=1000),
    "categories": lambda obj: categories.tensor_categories(),
    "leaves": lambda obj: autograd.leaves_with_graph(tensors.live_tensors()),
}


def _in_inference() -> object:
    with torch.inference_mode():
        return torch.rand(5000)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("look", LOOKS)
def test_odd_tensors_stop_no_look(look: str) -> None:
    kept = {name: make() for name, make in ODD.items()}

    LOOKS[look](kept)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("odd", ODD)
def test_an_odd_tensor_has_a_size(odd: str) -> None:
    assert deep_size(ODD[odd]()).bytes


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("odd", ODD)
def test_an_odd_tensor_is_described(odd: str) -> None:
    made = ODD[odd]()

    assert [tensors.describe(one) for one in (made if isinstance(made, list) else [made])]


@pytest.mark.parametrize("look", LOOKS)
def test_a_tensor_that_is_copied_on_write_stays_so(look: str) -> None:
    lent = [np.zeros(5000)]
    base = torch.rand(4000)
    made = torch._lazy_clone(base)
    assert torch._C._is_cow_tensor(made)

    LOOKS[look](made)

    assert torch._C._is_cow_tensor(made)
    assert torch._C._is_cow_tensor(base)
    assert lent


def test_a_summary_beside_a_nested_tensor_raises_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    kept = nested()
    profiler = Profiler(None)
    with profiler.generation(0), profiler.phase("p"):
        pass

    profiler.print_summary()

    assert capsys.readouterr().out
    assert kept is not None


def test_what_had_to_be_left_out_is_remembered_by_its_type(monkeypatch: pytest.MonkeyPatch) -> None:
    made = torch.rand(10)
    before = len(skipped())

    def fail(tensor: object) -> int:
        raise TypeError("an object of a library's")

    monkeypatch.setattr(torch._C, "_storage_address", fail)
    found = tensors.storages_of([made])

    assert found == {}
    assert skipped()[before:] == ["objects of torch.Tensor could not be looked at (TypeError)"]
