"""A network that the tests of commands export and measure."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.norm = nn.LayerNorm(16)
        self.second = nn.Linear(16, 4)

    def forward(self, x):
        return self.second(torch.relu(self.norm(self.first(x))))


def make():
    torch.manual_seed(0)
    return Net()


def sample():
    return torch.randn(3, 8, generator=torch.Generator().manual_seed(1))
