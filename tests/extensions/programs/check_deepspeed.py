"""Fused steps of Adam, AdamW and Lion over lists of tensors, against PyTorch's optimizers and the definition."""

import importlib.util
import sys
from pathlib import Path

import torch


def module_of(package: str, name: str):
    """A module without the package, which imports far more than the checkout has."""
    (path,) = [file for folder in sys.path for file in Path(folder, package).glob(f"{name}.*.so")]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


adam = module_of("deepspeed/ops/adam", "fused_adam_op")
lion = module_of("deepspeed/ops/lion", "fused_lion_op")
torch.manual_seed(0)
noop = torch.zeros(1, dtype=torch.int, device="cuda")
SHAPES = ((5,), (300, 40), (1,), (70001,), (8, 8, 8))
CHUNK = 4096  # the longest tensor takes 18 blocks

for dtype, tolerance in ((torch.float, 1e-5), (torch.half, 2e-3), (torch.bfloat16, 2e-2)):
    for decoupled in (False, True):
        weights = [torch.randn(shape, device="cuda").to(dtype) for shape in SHAPES]
        theirs = [weight.float().requires_grad_() for weight in weights]
        first, second = ([torch.zeros_like(weight) for weight in weights] for _ in range(2))
        optimizer = (torch.optim.AdamW if decoupled else torch.optim.Adam)(
            theirs, lr=0.01, betas=(0.9, 0.95), eps=1e-6, weight_decay=0.1
        )
        for step in range(1, 4):
            gradients = [torch.randn(shape, device="cuda").to(dtype) for shape in SHAPES]
            lists = [gradients, weights, first, second]
            adam.multi_tensor_adam(
                CHUNK, noop, lists, 0.01, 0.9, 0.95, 1e-6, step, int(decoupled), 1, 0.1
            )
            for weight, gradient in zip(theirs, gradients, strict=True):
                weight.grad = gradient.float()
            optimizer.step()
        for weight, plain in zip(weights, theirs, strict=True):
            torch.testing.assert_close(
                weight.float(), plain.detach(), rtol=tolerance, atol=10 * tolerance
            )

    weights = [torch.randn(shape, device="cuda").to(dtype) for shape in SHAPES]
    moments = [torch.randn(shape, device="cuda").to(dtype) for shape in SHAPES]
    gradients = [torch.randn(shape, device="cuda").to(dtype) for shape in SHAPES]
    plain = []
    for weight, moment, gradient in zip(weights, moments, gradients, strict=True):
        between = 0.9 * moment.double() + (1 - 0.9) * gradient.double()
        step = torch.where(between > 0, -0.01, 0.01)
        step[between.abs() < 1e-6] = torch.nan  # its sign is up to the last bits
        plain.append(
            (
                weight.float() * (1 - 0.01 * 0.1) + step,
                0.99 * moment.float() + (1 - 0.99) * gradient.float(),
            )
        )
    lion.multi_tensor_lion(CHUNK, noop, [gradients, weights, moments], 0.01, 0.9, 0.99, 1, 0.1)
    for weight, moment, (new, kept) in zip(weights, moments, plain, strict=True):
        clear = ~new.isnan()
        assert clear.sum() >= 0.99 * clear.numel()
        torch.testing.assert_close(
            weight.float()[clear], new[clear], rtol=tolerance, atol=tolerance
        )
        torch.testing.assert_close(moment.float(), kept, rtol=tolerance, atol=tolerance)
print("right")
