"""Local contrast: every pixel minus the mean of the box around it.

y[i] = x[i] - mean(x[j] for j in box(i)), the box is cut at the border.
"""
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Function
from torch.utils.cpp_extension import load

_SRC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "src")

try:
    import local_contrast_cuda as _ext
except ImportError:
    # not installed with ops/setup.py, compile it on the fly
    _ext = load(
        name="local_contrast_cuda",
        sources=[os.path.join(_SRC, "local_contrast.cpp"),
                 os.path.join(_SRC, "local_contrast_kernel.cu")],
        extra_cuda_cflags=["-O3", "--use_fast_math"],
        verbose=True)


class LocalContrastFunction(Function):
    @staticmethod
    def forward(ctx, x, kernel_size):
        ctx.kernel_size = kernel_size
        return _ext.forward(x.contiguous(), kernel_size)

    @staticmethod
    def backward(ctx, grad_output):
        grad = _ext.backward(grad_output.contiguous(), ctx.kernel_size)
        return grad, None


def local_contrast_reference(x, kernel_size=9):
    """The same in plain PyTorch, slower; tools/check_op.py compares the two."""
    mean = F.avg_pool2d(x, kernel_size, stride=1, padding=kernel_size // 2,
                        count_include_pad=False)
    return x - mean


def local_contrast(x, kernel_size=9):
    return LocalContrastFunction.apply(x, kernel_size)


class LocalContrast(nn.Module):
    def __init__(self, kernel_size=9):
        super(LocalContrast, self).__init__()
        if kernel_size % 2 == 0:
            raise ValueError("kernel_size must be odd, got %d" % kernel_size)
        self.kernel_size = kernel_size

    def forward(self, x):
        return local_contrast(x, self.kernel_size)
