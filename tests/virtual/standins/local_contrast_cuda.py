"""What examples/legacy/ops compiles with nvcc, in PyTorch's own operators.

A compiled CUDA kernel cannot run on a virtual device. The example imports an installed extension
of this name before it compiles one, so that this one, on the path, stands in for it.
"""

import torch
from torch.nn import functional as F


def forward(x: torch.Tensor, kernel_size: int) -> torch.Tensor:
    assert x.is_cuda and x.is_contiguous() and x.dim() == 4
    return x - F.avg_pool2d(x, kernel_size, 1, kernel_size // 2, count_include_pad=False)


def backward(grad: torch.Tensor, kernel_size: int) -> torch.Tensor:
    assert grad.is_cuda and grad.is_contiguous()
    return grad - torch.ops.aten.avg_pool2d_backward(
        grad,
        grad,
        [kernel_size, kernel_size],
        [1, 1],
        [kernel_size // 2] * 2,
        False,
        False,
        None,
    )
