"""What live tensors are for: each storage in one category, of sizes that are known."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest

from phaseprof.native.places import read_places
from phaseprof.probes.categories import CATEGORIES, tensor_categories, tensors_at

torch = pytest.importorskip("torch")
FLOAT = 4


class Trainer:
    def __init__(self) -> None:
        self.model = torch.nn.Linear(300, 200, bias=False)
        self.optimizer = torch.optim.Adam(self.model.parameters())
        self.kept: list[torch.Tensor] = []

    def step(self) -> None:
        self.optimizer.zero_grad()
        self.model(torch.ones(8, 300)).sum().backward()
        self.optimizer.step()


def on_cpu() -> dict[str, int]:
    gc.collect()
    return tensor_categories().get("cpu", dict.fromkeys(CATEGORIES, 0))


@pytest.fixture
def before() -> Iterator[dict[str, int]]:
    """What other tests hold."""
    yield on_cpu()


def test_each_storage_is_in_one_category(before: dict[str, int]) -> None:
    trainer = Trainer()
    trainer.step()
    trainer.kept = [trainer.model(torch.ones(50, 300)), torch.zeros(70_000)]

    after = on_cpu()

    came = {category: after[category] - before[category] for category in CATEGORIES}
    n = 300 * 200 * FLOAT
    # Adam counts its steps in a tensor of one number; the graph of the output keeps the input.
    assert came == {
        "parameters": n, "gradients": n, "optimizer_state": 2 * n + FLOAT, "with_graph": 50 * 200 * FLOAT,
        "inputs": 50 * 300 * FLOAT, "other": 70_000 * FLOAT,
    }  # fmt: skip


def test_what_lies_at_a_place_is_told_by_category() -> None:
    trainer = Trainer()
    trainer.step()
    trainer.kept = [trainer.model(torch.ones(50, 300)), torch.zeros(70_000)]
    roots = {"trainer": trainer}
    table = read_places(roots)
    (whole,) = table.roots

    found = tensors_at([whole], roots)

    n = 300 * 200 * FLOAT
    assert {(one.place, one.device) for one in found} == {(whole, "cpu")}
    assert {one.category: one.n_bytes for one in found} == {
        "parameters": n, "gradients": n, "optimizer_state": 2 * n + FLOAT, "with_graph": 50 * 200 * FLOAT,
        "other": 70_000 * FLOAT,
    }  # fmt: skip


def test_views_of_a_parameter_are_the_parameter(before: dict[str, int]) -> None:
    model = torch.nn.Linear(300, 200, bias=False)
    rows = [model.weight[at] for at in range(20)] + [model.weight.detach()[at] for at in range(20)]

    after = on_cpu()

    assert len(rows) == 40
    assert {c: after[c] - before[c] for c in CATEGORIES if after[c] != before[c]} == {"parameters": 300 * 200 * FLOAT}


def test_inputs_are_what_a_graph_was_given_and_saved(before: dict[str, int]) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(300, 200), torch.nn.BatchNorm1d(200))
    batch, target, beside = torch.ones(50, 300), torch.zeros(50, 200), torch.zeros(1234)
    loss = torch.nn.functional.mse_loss(model(batch), target)

    kept = on_cpu()
    del loss
    after = on_cpu()

    assert kept["inputs"] - before["inputs"] == (batch.numel() + target.numel()) * FLOAT
    assert after["inputs"] == before["inputs"]
    assert after["other"] - kept["other"] == (batch.numel() + target.numel()) * FLOAT
    assert beside.numel() == 1234


def test_buffers_and_what_wants_a_gradient_are_no_inputs(before: dict[str, int]) -> None:
    model = torch.nn.BatchNorm1d(5000).eval()  # its graph saves the running mean and variance
    wanted = torch.ones(3, 5000, requires_grad=True)
    output = model(wanted)

    after = on_cpu()

    assert output.grad_fn is not None
    assert after["inputs"] == before["inputs"]


def test_a_subclass_of_a_parameter_is_one(before: dict[str, int]) -> None:
    class Mine(torch.nn.Parameter):
        pass

    kept = Mine(torch.zeros(10_000))

    assert on_cpu()["parameters"] - before["parameters"] == kept.numel() * FLOAT


def test_a_look_leaves_the_program_as_it_was() -> None:
    trainer = Trainer()
    trainer.step()
    tensor_categories()
    gc.collect()
    n_before = len(gc.get_objects())

    tensor_categories()

    assert len(gc.get_objects()) - n_before < 5
    assert trainer.optimizer.state[trainer.model.weight]["exp_avg"].shape == (200, 300)


def test_without_torch_there_is_nothing_to_say() -> None:
    program = (
        "import sys; from phaseprof.probes.categories import tensor_categories; "
        "print(tensor_categories(), 'torch' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "{} False\n"
