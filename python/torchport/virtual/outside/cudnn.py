"""Up to how much more cuDNN's workspaces may take than the plan counts.

PyTorch allocates what the plan that cuDNN's heuristics name asks for, whatever its size; with
``torch.backends.cudnn.benchmark`` once as much as the largest plan that fits into the largest free block
(aten/src/ATen/native/cudnn/Conv_v8.cpp). Which plans those are, and their workspaces, nobody publishes. The
next plan is tried where there is no room, so that a program runs without them. The
bound is a rule: each pass of a convolution (forward, the gradients of input and weight) may leave the
workspace of the largest one behind, in a segment of its own. A workspace is input, weight and output once more
(the layout of tensor cores), and with benchmark the largest of the algorithms (operators/convolution_bounds.h).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MIB = 1 << 20


def most(convolutions: Sequence[dict[str, Any]], environment: Mapping[str, str]) -> int:
    """The bound in bytes. ``convolutions`` are the largest ones forward and backward of a device."""
    limit = environment.get("CUDNN_CONV_WSCAP_DBG", "")  # MiB
    total = 0
    for one in convolutions:
        size = max(one["copies"], one["tried"])
        if limit.isdecimal():
            size = min(size, int(limit) * MIB)
        total += one["passes"] * size
    return total
