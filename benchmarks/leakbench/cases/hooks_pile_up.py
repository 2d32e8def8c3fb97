"""Every benchmark hooks the shared encoder anew and drops the handle, so all older hooks keep recording.

Growth is quadratic: in generation k, k hooks run.  The healthy build removes its hook at the end.
"""

import torch
from torch import nn

from leakbench import Case, Truth


class Benchmark:
    """Records how active each unit of a layer is."""

    def __init__(self, layer):
        self.activity = []
        self.handle = layer.register_forward_hook(self.record)

    def record(self, layer, inputs, output):
        self.activity.append(output.abs().mean(dim=0))

    def close(self):
        self.handle.remove()


class Trainer:
    def __init__(self, leaky):
        torch.manual_seed(0)
        self.leaky = leaky
        self.encoder = nn.Linear(16, 4096)
        self.policy = nn.Linear(16, 4)
        self.optimizer = torch.optim.SGD(self.policy.parameters(), 1e-3)

    def generation(self, pp, index):
        with pp.phase("train_step"):
            for _ in range(4):
                self.optimizer.zero_grad()
                self.policy(torch.randn(64, 16)).pow(2).mean().backward()
                self.optimizer.step()
        with pp.phase("benchmark"), torch.no_grad():
            benchmark = Benchmark(self.encoder)
            for _ in range(4):
                self.encoder(torch.randn(32, 16))
            sum(a.mean().item() for a in benchmark.activity)
            if not self.leaky:
                benchmark.close()


CASE = Case(
    name="hooks_pile_up",
    build=Trainer,
    truth=Truth(
        phase="benchmark",
        kind="tensors",
        subject="Tensor",
        holder=("Linear", "_forward_hooks"),
        also=("objects",),
        subject_also=("Benchmark",),
        site=("Benchmark.record", "Trainer.generation"),
    ),
    source="fffasttime/MRFI PR#5; NeuroBench/neurobench#184",
    tags=("superlinear",),
)
