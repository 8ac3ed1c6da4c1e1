"""Wraps a model in DataParallel, trains one step, traces it and looks inside of the wrapper."""

import io

import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
model = nn.DataParallel(model).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.linspace(-1, 1, 16).view(4, 4).cuda()
loss = model(x).pow(2).mean()
loss.backward()
optimizer.step()
print("width", model.module[0].out_features)

traced = torch.jit.trace(model, x)
buffer = io.BytesIO()
torch.jit.save(traced, buffer)
print("parameters", len(list(model.module.parameters())))
print("traced %.4f" % traced(x).sum().item())
