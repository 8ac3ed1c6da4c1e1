"""A small program that needs CUDA. The systems' tests check it, fix it and run it."""

import sys

import torch
from torch import nn

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 3
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
data = torch.randn(64, 8)
wanted = data.sum(1, keepdim=True).cuda()
data = data.to("cuda")
for step in range(steps):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(data), wanted)
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.6f}")
