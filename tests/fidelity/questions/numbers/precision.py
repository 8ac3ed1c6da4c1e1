"""How many bits products keep, by what a program allows; errors against float64, to a power of two."""

import math

import torch
from recorder.registry import question


def lost(function, dtype=torch.float32):
    """The exponent of the largest relative error, rounded: -24 is a float's own, -11 TF32's."""
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(256, 256, generator=generator, dtype=torch.float64) for _ in range(2))
    a, b = a.to(dtype), b.to(dtype)
    exact = function(a.double(), b.double())
    found = function(a.cuda(), b.cuda()).double().cpu()
    error = ((found - exact).abs().max() / exact.abs().max()).item()
    return round(math.log2(error) / 2) if error else "exact"


def convolved(a, b):
    return torch.nn.functional.conv2d(a.reshape(1, 64, 32, 32), b.reshape(64, 64, 4, 4))


CALLS = {"product": torch.mm, "convolution": convolved}


@question(alone=True)
def defaults():
    return {name: lost(call) for name, call in CALLS.items()}


@question(alone=True)
def tf32_of_products():
    torch.backends.cuda.matmul.allow_tf32 = True
    return {name: lost(call) for name, call in CALLS.items()}


@question(alone=True)
def no_tf32():
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    return {name: lost(call) for name, call in CALLS.items()}


@question(alone=True)
def precision_settings():
    told = {}
    for name in ("highest", "high", "medium"):
        torch.set_float32_matmul_precision(name)
        told[name] = [lost(torch.mm), torch.backends.cuda.matmul.allow_tf32]
    return told


@question(alone=True)
def new_settings():
    told = {}
    for name in ("ieee", "tf32", "none"):
        try:
            torch.backends.cuda.matmul.fp32_precision = name
            told[name] = [lost(torch.mm), torch.backends.cuda.matmul.fp32_precision]
        except Exception as error:
            told[name] = [type(error).__name__, str(error)]
    return told


@question(alone=True)
def halves():
    told = {}
    for dtype in (torch.half, torch.bfloat16, torch.float64):
        told[str(dtype)] = {name: lost(call, dtype) for name, call in CALLS.items()}
    return told


@question(alone=True)
def half_sums_that_overflow():
    """Whether products of halves are added in float32, by what a program allows."""
    a = torch.full((16, 4096), 4.0, device="cuda", dtype=torch.half)
    told = {}
    for allowed in (True, False):
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = allowed
        told[str(allowed)] = (a @ a.t())[0, 0]
    b = torch.cat([a * 4, a * -4], 1)
    told["cancels"] = (b @ torch.ones_like(b).t())[0, 0]
    return told


@question(alone=True)
def same_result_twice():
    """Whether a product is the same bit by bit, alone and in a batch."""
    a = torch.randn(64, 64, device="cuda")
    return [torch.equal(a @ a, a @ a), torch.equal(a @ a, torch.bmm(a[None], a[None])[0])]
