from __future__ import annotations

import gc
import sys
import warnings
import weakref
from typing import ClassVar

import pytest

from phaseprof.live import families
from phaseprof.probes import autograd, sizes, tensors
from phaseprof.probes.autograd import count_nodes
from phaseprof.probes.holders import find_holders
from phaseprof.probes.large import large_objects
from tests.sizing import deep_size

torch = pytest.importorskip("torch")


def storage_sizes() -> dict[int, tuple[int, str]]:
    return tensors.storages_of(tensors.live_tensors())


@pytest.fixture
def new_storages():
    """Return a function that lists the storages beyond those at the start."""
    gc.collect()
    before = storage_sizes()
    return lambda: sorted(size for key, (size, _) in storage_sizes().items() if key not in before)


class Recording(torch.Tensor):
    seen: ClassVar[list[str]] = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(str(func))
        return super().__torch_function__(func, types, args, kwargs or {})


class Wrapper(torch.Tensor):
    seen: ClassVar[list[str]] = []

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, dtype=inner.dtype, device=inner.device, dispatch_device=True, dispatch_layout=True
        )

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(str(func))
        raise RuntimeError("a profiler ran a subclass's code")


def test_a_storage_shared_by_views_counts_once(new_storages):
    base = torch.zeros(1000)
    kept = [base, base[:10], base.view(10, 100), base.detach()]

    assert new_storages() == [4000]
    del kept


@pytest.mark.parametrize("cut", [lambda t: t[:1], lambda t: t[0].data, lambda t: t[:1].data, lambda t: t.detach()[5:6]])
def test_a_small_view_counts_all_that_it_keeps_alive(new_storages, cut):
    kept = cut(torch.zeros(1000))

    assert new_storages() == [4000]
    del kept


def test_slices_made_in_inference_mode_count_all_that_they_keep_alive(new_storages):
    with torch.inference_mode():
        kept = torch.zeros(1000)[:1]

    assert new_storages() == [4000]
    del kept


def test_gradients_count_though_python_never_touched_them(new_storages):
    parameter = torch.nn.Parameter(torch.zeros(100))
    (parameter * 2).sum().backward()

    assert new_storages() == [400, 400]


def test_sparse_tensors_count_indices_and_values(new_storages):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept = torch.sparse_coo_tensor(torch.tensor([[0, 5]]), torch.tensor([1.0, 2.0]), (10,))

    assert new_storages() == [8, 16]
    del kept


def test_compressed_sparse_tensors_count_their_three_parts(new_storages):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows, columns, values = torch.tensor([0, 1, 3]), torch.tensor([0, 0, 1]), torch.ones(3, dtype=torch.float64)
        kept = torch.sparse_csr_tensor(rows, columns, values, (2, 2))
        del rows, columns, values

    assert new_storages() == [24, 24, 24]
    del kept


def test_quantized_tensors_count_their_scales(new_storages):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scales, points = torch.ones(10, dtype=torch.float64), torch.zeros(10, dtype=torch.int64)
        kept = torch.quantize_per_channel(torch.zeros(10, 100), scales, points, 0, torch.qint8)
        del scales, points

    assert new_storages() == [80, 80, 1000]
    del kept


def test_nested_tensors_count_their_buffer(new_storages):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept = torch.nested.nested_tensor([torch.ones(5), torch.ones(7)])

    assert new_storages() == [48]
    del kept


def test_meta_tensors_and_released_storages_are_empty(new_storages):
    kept = [torch.empty(1000, device="meta"), torch.zeros(1000)]
    kept[1].untyped_storage().resize_(0)

    assert sum(new_storages()) == 0
    del kept


def test_fake_tensors_are_empty(new_storages):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        kept = torch.empty(1000)

    assert sum(new_storages()) == 0
    del kept


def test_batched_tensors_inside_vmap_do_no_harm():
    seen = []

    def body(x):
        seen.append(len(storage_sizes()))
        return x + 1

    torch.func.vmap(body)(torch.zeros(3, 4))

    assert seen[0] >= 1


def test_a_subclass_counts_and_its_torch_function_never_runs(new_storages):
    kept = torch.zeros(1000).as_subclass(Recording)
    Recording.seen.clear()

    assert new_storages() == [4000]
    assert deep_size(kept).bytes > 4000
    assert Recording.seen == []


def test_a_wrapper_counts_what_it_wraps_and_its_dispatch_never_runs(new_storages):
    kept = Wrapper(torch.zeros(1000))
    Wrapper.seen.clear()

    assert sum(new_storages()) == 4000
    assert 4000 < deep_size(kept).bytes < 5000
    assert Wrapper.seen == []


def test_modes_of_the_user_do_not_see_the_reading():
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Functions(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    class Dispatches(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    kept = torch.zeros(10)
    with Functions(), Dispatches():
        storage_sizes()

    assert seen == []
    del kept


def test_counting_full_storages_leaves_no_object_behind():
    kept = [torch.zeros(10) for _ in range(20_000)]
    storage_sizes()  # the interpreter keeps freed blocks of a first look for later
    gc.collect()
    gc.disable()  # a collection in between would free what the tests before this one left
    try:
        grown = []
        for _ in range(3):  # what each look leaves comes each time; once, a thread of another test may add its own
            before, n_objects = sys.getallocatedblocks(), len(gc.get_objects())
            storage_sizes()
            grown.append((sys.getallocatedblocks() - before, len(gc.get_objects()) - n_objects))

        assert min(blocks for blocks, _ in grown) < 3000  # the interpreter keeps 2,000 small tuples for later
        assert min(objects for _, objects in grown) < 3000  # one each would be 20,000
    finally:
        gc.enable()
    del kept


def test_live_tensors_include_parameters_and_subclasses():
    kept = [torch.zeros(1), torch.nn.Parameter(torch.zeros(1)), torch.zeros(1).as_subclass(Recording)]

    found = tensors.live_tensors()

    assert {id(t) for t in kept} <= {id(t) for t in found}


def test_tensors_with_a_graph_are_those_with_a_grad_fn():
    leaf = torch.zeros(3, requires_grad=True)
    result = leaf * 2

    found = {id(t) for t in tensors.tensors_with_graph()}

    assert id(result) in found
    assert id(leaf) not in found


def test_a_measured_tensor_dies_when_the_user_lets_go():
    tensor = torch.zeros(10)
    gone = weakref.ref(tensor)
    storage_sizes()
    tensors.tensors_with_graph()

    del tensor

    assert gone() is None


def test_an_optimizer_is_its_parameters_gradients_and_states():
    model = torch.nn.Linear(100, 100)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 100)).sum().backward()
    optimizer.step()

    reading = sizes.deep_sizes({"model": model, "optimizer": optimizer, "state": model.state_dict()})

    parameters = 40_400
    assert 2 * parameters < reading.names["model"].bytes < 2 * parameters + 5000
    assert 4 * parameters < reading.names["optimizer"].bytes < 4 * parameters + 6000
    assert 4 * parameters < reading.total_bytes < 4 * parameters + 12_000


def test_storage_objects_and_tensors_on_them_count_once():
    tensor = torch.zeros(10_000)

    assert 40_000 < deep_size([tensor, tensor.untyped_storage(), tensor[:5]]).bytes < 41_000


def test_large_storages_are_listed_with_device_and_shape():
    kept = [torch.zeros(1000, 1000)[:500]]

    (found,) = [o for o in large_objects(3_000_000) if o.type_name == "torch.Tensor"]

    assert (found.size_bytes, found.holder) == (4_000_000, "list")
    assert found.detail in {"float32 (500, 1000) on cpu", "float32 (1000, 1000) on cpu"}  # torch may keep the base
    del kept


@pytest.mark.gpu
def test_cuda_storages_are_listed_by_their_device():
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device; the CPU twin is test_a_storage_shared_by_views_counts_once")
    kept = torch.zeros(1000, device="cuda")

    assert (4000, "cuda:0") in storage_sizes().values()
    del kept


def test_a_view_that_autograd_refuses_to_speak_of_spoils_no_reading():
    base = torch.ones(4, 4, requires_grad=True) * 1
    with torch.no_grad():
        view = base[0]
    base.mul_(2)
    with pytest.raises(RuntimeError):
        _ = view.grad_fn
    kept = [view]

    figures = families.census_figures().figures
    found = tensors.tensors_with_graph()
    [path] = find_holders(kept, ignore=[id(kept)])

    assert figures["graph_nodes"] >= 2
    assert any(tensor is base for tensor in found)
    assert not any(tensor is view for tensor in found)
    assert count_nodes(kept, max_nodes=10) == 0
    assert autograd.leaves_with_graph(kept) == []
    assert path.steps[-1].endswith("view Tensor")
    assert deep_size(view).bytes >= base.untyped_storage().nbytes()
