"""A program that benchmarks a model of its own wherever it is imported."""

from __future__ import annotations

import torch
import torchport


def model() -> torch.nn.Module:
    return torch.nn.Linear(2, 2)


def inputs() -> torch.Tensor:
    return torch.ones(1, 2)


print(torchport.benchmark(model, inputs, modes=["eval"], device="cpu"))
