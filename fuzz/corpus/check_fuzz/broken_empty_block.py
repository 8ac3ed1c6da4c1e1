import torch
from torch.autograd import Function
from torch.utils.cpp_extension import load

try:
try:
    import contrast_cuda as _ext
except ImportError:
    _ext = load(
        name="contrast_cuda",
        sources=["contrast.cpp",
                 "contrast_kernel.cu"],
        verbose=True)


class Contrast(Function):
    @staticmethod
    def forward(ctx, x, kernel_size):
        return _ext.forward(x.contiguous(), kernel_size)

    @staticmethod
    def backward(ctx, grad):
        return _ext.backward(grad), None


def contrast_reference(x, kernel_size=9):
    return x - torch.nn.functional.avg_pool2d(x, kernel_size)


def contrast(x, kernel_size=9):
    """Every pixel minus the mean around it."""
    return Contrast.apply(x, kernel_size)
