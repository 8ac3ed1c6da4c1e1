"""Temporary memory of convolutions, by cuDNN's choice of an algorithm: forward and both gradients.

For each type, layout and mode [bytes that stay, peak bytes] of a second call, without the inputs.
"""

import torch
from recorder.registry import Question, generated
from recorder.training import lines
from torch.nn import functional as F

HEAVY = True  # a host computes for an hour
SHAPES = """
    2d 1 3 224 64 7 2 1 1 | 2d 32 3 224 64 7 2 1 1 | 2d 32 64 56 64 1 1 1 1 | 2d 32 64 56 64 3 1 1 1
    2d 32 64 56 256 1 1 1 1 | 2d 32 256 56 128 1 2 1 1 | 2d 32 128 28 128 3 1 1 1 | 2d 8 128 28 128 3 2 1 1
    2d 32 256 14 256 3 1 1 1 | 2d 32 512 7 512 3 1 1 1 | 2d 1 512 7 512 3 1 1 1 | 2d 32 32 112 32 3 1 32 1
    2d 16 96 56 96 7 1 96 1 | 2d 16 512 14 512 3 1 32 1 | 2d 8 16 33 24 5 1 4 1 | 2d 4 64 64 64 3 1 1 2
    2d 64 1 28 32 3 1 1 1 | 2d 64 32 26 64 3 1 1 1 | 2d 2 320 64 320 3 1 1 1 | 2d 2 640 32 640 3 1 1 1
    2d 2 1280 16 1280 3 1 1 1 | 2d 1 128 256 128 3 1 1 1 | 2d 16 3 224 768 16 16 1 1 | 2d 5 17 31 19 3 1 1 1
    2d 8 6 14 16 5 1 1 1 | 2d 1 64 512 64 3 1 1 1 | 2d 128 192 8 192 3 1 1 1 | 2d 4 1024 7 1024 1 1 1 1
    1d 16 80 1000 512 3 1 1 1 | 1d 16 512 1000 512 3 2 1 1 | 1d 16 512 500 512 31 1 512 1 | 1d 8 1 16000 64 400 160 1 1
    3d 2 3 32 64 3 1 1 1 | 3d 2 64 16 64 3 1 1 1 | 3d 4 64 8 128 3 2 1 1 | 3d 1 16 24 16 1 1 1 1
    t2 16 128 16 64 4 2 1 1 | t2 16 256 8 128 4 2 1 1 | t2 2 64 32 32 2 2 1 1 | t2 8 100 1 512 4 1 1 1
    t1 8 64 200 32 4 2 1 1 | t3 2 32 8 16 2 2 1 1 | t2 4 64 31 3 5 3 1 1
"""  # dimensions or transposed, batch, channels, size, outputs, kernel, stride, groups, dilation


def ask(words, dtype, last, benchmark, bias):
    kind, *numbers = words.split()
    n, c, s, o, k, stride, groups, dilation = map(int, numbers)
    dimensions = int(kind[0]) if kind[0].isdigit() else int(kind[1])
    transposed = kind[0] == "t"
    x = torch.ones(n, c, *[s] * dimensions, device="cuda", dtype=dtype)
    pair = (c, o // groups) if transposed else (o, c // groups)
    w = torch.ones(*pair, *[k] * dimensions, device="cuda", dtype=dtype)
    b = torch.ones(o, device="cuda", dtype=dtype) if bias else None
    if last and dimensions > 1:
        form = torch.channels_last if dimensions == 2 else torch.channels_last_3d
        x, w = x.to(memory_format=form), w.to(memory_format=form)
    call = getattr(F, f"conv_transpose{dimensions}d" if transposed else f"conv{dimensions}d")
    given = {"stride": stride, "groups": groups, "dilation": dilation}
    given["padding"] = 1 if transposed and k > 2 else 0 if transposed else k // 2 * dilation
    torch.backends.cudnn.benchmark = benchmark
    try:
        return of_steps(x, w, b, lambda: call(x, w, b, **given))
    finally:
        torch.backends.cudnn.benchmark = False


def of_steps(x, w, b, call):
    told = {}
    for _ in (1, 2):
        told["forward"], out = step(call)
        grad = torch.ones_like(out)
        del out
        for name, wanted in (
            ("input", [x]),
            ("weight", [w]),
            ("all", [t for t in (x, w, b) if t is not None]),
        ):
            for one in wanted:
                one.requires_grad_()
            out = call()
            told[name], found = step(
                lambda out=out, wanted=wanted, grad=grad: torch.autograd.grad(out, wanted, grad)
            )
            del out, found
            for one in wanted:
                one.requires_grad_(False)
    return told


def step(call):
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    found = call()
    torch.cuda.synchronize()
    return [
        torch.cuda.memory_allocated() - before,
        torch.cuda.max_memory_allocated() - before,
    ], found


MODES = {
    "float32": (torch.float32, False, False, False),
    "float32 bias": (torch.float32, False, False, True),
    "float32 last": (torch.float32, True, False, False),
    "half": (torch.half, False, False, False),
    "half last": (torch.half, True, False, False),
    "bfloat16 last bias": (torch.bfloat16, True, False, True),
    "float64": (torch.float64, False, False, False),
    "benchmark": (torch.float32, False, True, False),
    "half last benchmark": (torch.half, True, True, False),
}


@generated
def convolutions():
    for words in map(" ".join, lines(SHAPES)):
        for name, mode in MODES.items():
            yield Question(f"{words}: {name}", lambda w=words, m=mode: ask(w, *m))
