"""Weights that torchao made tensor subclasses."""

from __future__ import annotations

import torch
from kinds import kind
from torch import nn
from torchao.quantization import Int8WeightOnlyConfig, quantize_


@kind("int8 weights as a tensor subclass (torchao)")
def int8_weights():
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8)).eval()
    quantize_(model, Int8WeightOnlyConfig())
    return model, torch.randn(4, 64)
