"""Small models for benchmarks; importable by their workers."""

from __future__ import annotations

import os

import torch
from torch import nn


def convolutions() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Conv2d(32, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Conv2d(32, 32, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 10),
    )


def images(batch: int) -> torch.Tensor:
    return torch.randn(batch, 3, 96, 96)


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))


def vectors() -> dict[str, torch.Tensor]:
    return {"input": torch.randn(2, 8)}


class Named(nn.Module):
    """Its inputs are named, of several types, and given in another order than forward has them."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(9, 16)
        self.head = nn.Linear(16, 4)

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"logits": self.head(self.embedding(tokens) * mask[..., None])}


def tokens() -> dict[str, torch.Tensor]:
    return {"mask": torch.rand(2, 5), "tokens": torch.randint(0, 9, (2, 5))}


class Broken(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        print("a word of the model's own")
        raise RuntimeError("the model is broken\nwith details")


def broken() -> nn.Module:
    return Broken()


def leaving() -> nn.Module:
    os._exit(7)
