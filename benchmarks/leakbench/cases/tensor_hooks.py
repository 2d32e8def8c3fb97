"""Each round hooks a parameter anew to weigh its gradient, and each hook closes over the weights of its round.

The hooks hang on the tensor and not on a module.  The healthy build removes the hook.
"""

import torch
from torch import nn

from leakbench import Case, Truth


class Trainer:
    def __init__(self, leaky):
        torch.manual_seed(0)
        self.leaky = leaky
        self.net = nn.Linear(256, 256)
        self.optimizer = torch.optim.SGD(self.net.parameters(), 1e-4)

    def weigh(self):
        weights = torch.rand(256, 256)
        return self.net.weight.register_hook(lambda grad: grad * weights)

    def generation(self, pp, index):
        with pp.phase("reweight"):
            handle = self.weigh()
        with pp.phase("train_step"):
            self.optimizer.zero_grad()
            self.net(torch.randn(32, 256)).pow(2).mean().backward()
            self.optimizer.step()
            if not self.leaky:
                handle.remove()


CASE = Case(
    name="tensor_hooks",
    build=Trainer,
    truth=Truth(
        phase="reweight",
        kind="tensors",
        subject="Tensor",
        holder=("Parameter", "_backward_hooks"),
        also=("objects", "container"),
        subject_also=("function", "cell", "OrderedDict", "dict"),
        site=("Trainer.weigh",),
    ),
    source="synthetic",
)
