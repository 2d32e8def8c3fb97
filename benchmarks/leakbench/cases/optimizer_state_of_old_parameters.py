"""Points are split and pruned into a new parameter; the optimizer keeps the state of every old one.

The state is keyed by the parameter itself.  The healthy build deletes the old entry.
"""

import torch
from torch import nn

from leakbench import Case, Truth


class PointCloud:
    def __init__(self, points):
        self.points = nn.Parameter(torch.randn(points, 16))
        self.optimizer = torch.optim.Adam([self.points], 1e-2)

    def densify(self, forget_old):
        """Replace the worst quarter of the points by copies of the best, moments included."""
        order = self.points.detach().norm(dim=1).argsort()
        keep = torch.cat([order[: len(order) * 3 // 4], order[: len(order) // 4]])
        old, new = self.points, nn.Parameter(self.points.detach()[keep])
        state = self.optimizer.state[old]
        self.optimizer.state[new] = {
            "step": state["step"].clone(),
            "exp_avg": state["exp_avg"][keep],
            "exp_avg_sq": state["exp_avg_sq"][keep],
        }
        if forget_old:
            del self.optimizer.state[old]
        self.optimizer.param_groups[0]["params"] = [new]
        self.points = new


class Trainer:
    def __init__(self, leaky):
        torch.manual_seed(0)
        self.leaky = leaky
        self.cloud = PointCloud(8192)

    def generation(self, pp, index):
        with pp.phase("render"):
            target = torch.randn(16)
        with pp.phase("train_step"):
            for _ in range(3):
                (self.cloud.points - target).pow(2).mean().backward()
                self.cloud.optimizer.step()
                self.cloud.optimizer.zero_grad()
        with pp.phase("densify"):
            self.cloud.densify(forget_old=not self.leaky)


CASE = Case(
    name="optimizer_state_of_old_parameters",
    build=Trainer,
    truth=Truth(
        phase="densify",
        kind="tensors",
        subject="Tensor",
        holder=("Adam", "state"),
        also=("objects", "container"),
        subject_also=("Parameter", "defaultdict"),
        site=("PointCloud.densify",),
    ),
    source="graphdeco-inria/gaussian-splatting#897; pytorch/pytorch#42428",
)
