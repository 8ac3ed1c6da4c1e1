"""A kernel of the project's own, with a reference that nobody calls."""

import sys
import types

import torch

if torch.cuda.is_available():
    sys.modules["scale_cuda"] = types.SimpleNamespace(forward=lambda x, k: x * k, backward=lambda g, k: g * k)
import scale_cuda


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return scale_cuda.forward(x.contiguous(), factor)

    @staticmethod
    def backward(ctx, grad):
        return scale_cuda.backward(grad, ctx.factor), None


def scale_reference(x, factor):
    return x * factor


def scale(x, factor):
    return Scale.apply(x, factor)


x = torch.arange(4.0).cuda().requires_grad_()
scale(x, 3.0).sum().backward()
print(x.grad.tolist())
