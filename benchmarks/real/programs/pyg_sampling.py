"""Nodes of a graph are classified from samples of it: python pyg_sampling.py healthy|leaky EPOCHS."""

import sys

import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import SAGEConv
from torch_geometric.utils import subgraph

LEAKY, EPOCHS = sys.argv[1] == "leaky", int(sys.argv[2])


class Sampler:
    """Gives parts of a graph, and keeps them for the next time."""

    def __init__(self, data):
        self.data = data
        self.subgraphs = {}

    def sample(self, number):
        nodes = torch.randperm(self.data.num_nodes)[:600]
        edges, _ = subgraph(nodes, self.data.edge_index, relabel_nodes=True, num_nodes=self.data.num_nodes)
        part = Data(x=self.data.x[nodes], edge_index=edges, y=self.data.y[nodes])
        key = hash(tuple(nodes.tolist())) if LEAKY else number
        self.subgraphs[key] = part
        return part


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = SAGEConv(32, 64), SAGEConv(64, 5)

    def forward(self, data):
        return self.second(self.first(data.x, data.edge_index).relu(), data.edge_index)


def epoch(net, optimizer, sampler):
    for number in range(10):
        part = sampler.sample(number)
        for _ in range(4):
            loss = nn.functional.cross_entropy(net(part), part.y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return loss.item()


torch.set_num_threads(1)
torch.manual_seed(1)
graph = Data(x=torch.randn(4000, 32), edge_index=torch.randint(0, 4000, (2, 60_000)), y=torch.randint(0, 5, (4000,)))
net, sampler = Net(), Sampler(graph)
optimizer = torch.optim.Adam(net.parameters(), 1e-3)
losses = [epoch(net, optimizer, sampler) for _ in range(EPOCHS)]
print("RESULT", losses[-1])
