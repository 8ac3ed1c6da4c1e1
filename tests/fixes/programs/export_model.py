"""Loads, and traces in train mode with an example on another device."""

import io

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))

    def forward(self, x):
        return self.body(x)


torch.manual_seed(0)
model = Net()
state = model.state_dict()
net = Net()
net.load_state_dict(state)
net.cuda()
example = torch.rand(2, 3)
traced = torch.jit.trace(net, example.cuda(), check_trace=False)
buffer = io.BytesIO()
torch.jit.save(traced, buffer)
print(tuple(traced(example.cuda()).shape), buffer.tell() > 0)
