"""A regression in a loop of Accelerate's: python accelerate_loop.py healthy|leaky EPOCHS."""

import sys

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

LEAKY, EPOCHS = sys.argv[1] == "leaky", int(sys.argv[2])

torch.set_num_threads(1)
torch.manual_seed(1)
accelerator = Accelerator(cpu=True)
x = torch.randn(8192, 32)
y = x.pow(2).sum(1, keepdim=True)
training = DataLoader(TensorDataset(x[:7168], y[:7168]), 32, shuffle=True)
held_out = DataLoader(TensorDataset(x[7168:], y[7168:]), 128)
net = nn.Sequential(nn.Linear(32, 256), nn.ReLU(), nn.Linear(256, 1))
prepared = accelerator.prepare(net, torch.optim.Adam(net.parameters(), 1e-3), training, held_out)
net, optimizer, training, held_out = prepared

outputs = []
for _ in range(EPOCHS):
    net.train()
    for inputs, targets in training:
        loss = nn.functional.mse_loss(net(inputs), targets)
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
    net.eval()
    if not LEAKY:
        outputs.clear()
    for inputs, _ in held_out:  # nobody said no_grad
        outputs.append(net(inputs))
print("RESULT", float(sum(p.double().sum() for p in net.parameters())))
