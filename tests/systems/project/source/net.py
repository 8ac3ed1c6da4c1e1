"""A small model: what `torchport verify` and `torchport export` run."""

import torch
from torch import nn


def make() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def inputs() -> torch.Tensor:
    return torch.ones(3, 4)
