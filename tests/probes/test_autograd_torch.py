"""Graphs that stay alive: their nodes, and holders that only C++ knows."""

import gc
import sys
import types
import warnings
import weakref

import pytest

torch = pytest.importorskip("torch")

from phaseprof.probes.autograd import count_nodes, graph_holding, leaves_with_graph  # noqa: E402
from phaseprof.probes.holders import find_holders  # noqa: E402

MODULE = sys.modules[__name__]


@pytest.fixture
def home():
    MODULE.HOME = types.SimpleNamespace()
    yield MODULE.HOME
    del MODULE.HOME


@pytest.fixture
def weight():
    return torch.nn.Parameter(torch.randn(16, 16))


def backward_with_graph(loss):
    with warnings.catch_warnings():  # torch warns of the cycle, once a process
        warnings.simplefilter("ignore")
        loss.backward(create_graph=True)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x * 3)
        ctx.extra = torch.zeros(100)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class TestCount:
    def test_every_node_counts_once(self, weight):
        y = torch.tanh(torch.randn(8, 16) @ weight)

        assert count_nodes([y, y], max_nodes=100) == 3  # tanh, matrix product, accumulator

    def test_freed_graph_has_nodes(self, weight):
        loss = torch.tanh(torch.randn(8, 16) @ weight).sum()
        loss.backward()

        assert count_nodes([loss], max_nodes=100) == 4

    def test_growing_graph_shows_in_its_size(self, weight):
        total, sizes = 0.0, []
        for _ in range(3):
            total = total + (weight * 2).sum()
            sizes.append(count_nodes([total], max_nodes=100))

        assert sizes == [4, 7, 10]

    def test_long_chain_needs_no_recursion(self, weight):
        total = weight.sum()
        for _ in range(5_000):
            total = total + 1.0

        assert count_nodes([total], max_nodes=10_000) == 5_002
        assert count_nodes([total], max_nodes=10) == 10

    def test_tensors_without_a_graph(self):
        assert count_nodes([torch.zeros(3)], max_nodes=100) == 0

    def test_nothing_is_held_afterwards(self, weight):
        y = torch.tanh(weight * 2)
        reference = weakref.ref(y)
        count_nodes([y], max_nodes=100)

        del y

        assert reference() is None

    def test_nothing_is_changed(self, weight):
        loss = torch.tanh(torch.randn(8, 16) @ weight).sum()

        count_nodes([loss], max_nodes=100)
        loss.backward()

        assert weight.grad is not None

    def test_no_tensor_objects_are_made(self, weight):
        out = torch.nn.functional.layer_norm(torch.tanh(torch.randn(4, 16) @ weight), (16,))
        before = sum(1 for obj in gc.get_objects() if type(obj) is torch.Tensor)

        count_nodes([out], max_nodes=100)

        assert sum(1 for obj in gc.get_objects() if type(obj) is torch.Tensor) == before


def test_gradient_with_a_graph(weight):
    other = torch.nn.Parameter(torch.ones(2))
    backward_with_graph((weight**2).sum())

    assert leaves_with_graph([other, weight]) == [1]
    weight.grad = None


def test_graph_that_holds_an_activation(weight):
    hidden = torch.relu(weight * 1)
    first, second = (weight * 2).sum(), (hidden * hidden).sum()

    assert graph_holding([first, second], {id(hidden)}) == {id(hidden): 1}


def test_hooks_on_saved_tensors_are_not_run(weight):
    def unpack(packed):
        raise AssertionError("user code ran")

    y = weight * 1
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, unpack):
        loss = (y * y).sum()

    assert graph_holding([loss], {id(y)}) == {}


class TestHolders:
    def test_activation_is_told_by_the_loss_that_keeps_its_graph(self, home, weight):
        def step():
            hidden = torch.relu(weight * 1)
            home.references.append(weakref.ref(hidden))
            return (hidden * hidden).sum()

        home.references = []
        home.losses = [step() for _ in range(9)]

        text = str(find_holders([home.references[0]()])[0])

        assert text.endswith(".losses (list, 9) [0] (Tensor) autograd graph Tensor")

    def test_gradient_is_told_by_its_parameter(self, home):
        home.weight = torch.nn.Parameter(torch.ones(3))
        home.weight.sum().backward()

        assert str(find_holders([home.weight.grad])[0]).endswith(".weight (Parameter) .grad Tensor")

    def test_base_is_told_by_its_view(self, home):
        home.rows = [torch.zeros(100, 4)[0]]

        assert str(find_holders([home.rows[0]._base])[0]).endswith(".rows (list, 1) [-1] (Tensor) ._base Tensor")

    def test_parameter_of_nested_modules(self, home):
        home.policy = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))

        text = str(find_holders([home.policy[1].weight])[0])

        assert text.endswith(".policy (Sequential) .1 (Linear) .weight Parameter")

    def test_hook_that_was_not_removed(self, home):
        class Recorder:
            def __init__(self):
                self.activity = []

            def record(self, layer, inputs, output):
                self.activity.append(output)

        home.encoder = torch.nn.Linear(2, 2)
        home.encoder.register_forward_hook(Recorder().record)
        reference = weakref.ref(next(iter(home.encoder._forward_hooks.values())).__self__)

        text = str(find_holders([reference()])[0])

        assert ".encoder (Linear) ._forward_hooks (OrderedDict, 1)" in text
        assert text.endswith("Recorder.record) .__self__ Recorder")

    def test_optimizer_state_keyed_by_an_old_parameter(self, home):
        weight = torch.nn.Parameter(torch.ones(3))
        home.optimizer = torch.optim.Adam([weight])
        weight.sum().backward()
        home.optimizer.step()
        home.optimizer.param_groups.clear()
        reference = weakref.ref(weight)
        del weight

        text = str(find_holders([reference()])[0])

        assert text.endswith(".optimizer (Adam) .state (defaultdict, 1) key Parameter")

    def test_context_of_a_custom_function(self, home):
        home.out = Doubled.apply(torch.ones(3, requires_grad=True) * 1)
        reference = weakref.ref(home.out.grad_fn.extra)

        text = str(find_holders([reference()])[0])

        assert text.endswith(".out (Tensor) autograd graph (DoubledBackward) .extra Tensor")

    def test_cycle_that_create_graph_leaves(self):
        weight = torch.nn.Parameter(torch.ones(3))
        backward_with_graph((weight**2).sum())
        reference = weakref.ref(weight)
        del weight
        gc.collect()

        path = find_holders([reference()])[0]
        reference().grad = None

        assert path.root == "outside Python"
        assert "create_graph" in path.reason

