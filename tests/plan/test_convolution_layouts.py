"""Convolutions of channels_last tensors without data: the layout that the next operators take over, and the memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from planning_programs import torchport

# What each line prints depends on no value.
PROGRAM = """
import torch
from torch import nn
dimensions = DIMENSIONS
layout = torch.channels_last if dimensions == 2 else torch.channels_last_3d
convolution, transposed, norm, pool = (
    getattr(nn, f"{name}{dimensions}d") for name in ("Conv", "ConvTranspose", "BatchNorm", "MaxPool")
)
net = nn.Sequential(
    convolution(32, 64, 3, padding=1), norm(64), nn.ReLU(inplace=True), pool(2),
    convolution(64, 64, 3, padding=1, groups=64), transposed(64, 32, 2, stride=2), convolution(32, 8, 1),
).cuda().to(memory_format=layout)
data = torch.randn(2, 32, *[24, 40, 44][:dimensions], device="cuda")
for step in range(2):
    for one in (data, data.to(memory_format=layout)):
        x = one.requires_grad_()
        for layer in net:
            x = layer(x)
            print(type(layer).__name__, x.stride(), torch.cuda.memory_allocated())
        x.square().mean().backward()
print(torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())
print(torch.cuda.memory_stats()["allocation.all.allocated"])
"""


@pytest.mark.parametrize("dimensions", [2, 3])
def test_the_layout_is_that_of_a_device_with_data(tmp_path: Path, dimensions: int) -> None:
    (tmp_path / "net.py").write_text(PROGRAM.replace("DIMENSIONS", str(dimensions)))
    told = []
    for options in ([], ["--no-data"]):
        run = torchport("run", "-q", "--profile", "h100-80g", *options, "net.py", folder=tmp_path)
        assert run.returncode == 0, run.stderr
        told.append(run.stdout.splitlines())
    assert len(told[0]) == 2 * 2 * 7 + 2
    # The backward pass of three dimensions takes other temporary memory.
    assert told[1][:28] == told[0][:28]
    assert dimensions == 3 or told[1] == told[0]
