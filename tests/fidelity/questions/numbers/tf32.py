"""TF32: how operands are rounded, how sums are kept, and which products and convolutions use it."""

import math

import torch
from recorder.registry import Question, generated, question
from recorder.training import lines
from torch.nn import functional as F


def bits(x):
    return [
        f"{one & 0xFFFFFFFF:08x}"
        for one in x.detach().cpu().contiguous().view(torch.int32).flatten().tolist()
    ]


def fractions():
    """1 + i / 2^13 and its negatives: ten bits are kept, three are rounded; and what is near the ends."""
    plain = [1 + i / 2**13 for i in range(33)]
    more = [1 + 2**-11 + 2**-23, 1 + 2**-11 - 2**-23, 2 - 2**-23, 3.4028234e38, 1e-38, 1e-40, 1e-45]
    made = torch.tensor(plain + more)
    return torch.cat([made, -made, torch.tensor([math.inf, -math.inf, math.nan, -0.0])])


def by_product(values, size=64, transposed=False):
    """Each value times 1, through a product of a diagonal."""
    out = []
    for part in values.split(size):
        a = torch.zeros(size, size)
        a.diagonal()[: len(part)] = part
        b = torch.eye(size)
        found = (b.cuda() @ a.cuda() if transposed else a.cuda() @ b.cuda()).cpu()
        out += bits(found.diagonal()[: len(part)])
    return out


@question(alone=True)
def rounding_of_products():
    torch.backends.cuda.matmul.allow_tf32 = True
    x = fractions()
    x = x[x.isfinite()]
    return {"left": by_product(x), "right": by_product(x, transposed=True)}


@question(alone=True)
def rounding_of_convolutions():
    x = fractions()
    x = x[x.isfinite()]
    told = {}
    for channels in (64, 4, 3):
        given = torch.zeros(len(x), channels, 8, 8)
        given[:, 0, 3, 3] = x
        weight = torch.zeros(8, channels, 1, 1)
        weight[0, 0] = 1
        told[f"input {channels}"] = bits(F.conv2d(given.cuda(), weight.cuda())[:, 0, 3, 3])
        given = torch.zeros(1, channels, 8, 8)
        given[0, 0, 3, 3] = 1
        weight = torch.zeros(len(x), channels, 1, 1)
        weight[:, 0, 0, 0] = x
        told[f"weight {channels}"] = bits(F.conv2d(given.cuda(), weight.cuda())[0, :, 3, 3])
    return told


@question(alone=True)
def sums_of_products():
    """1 and many small products: what is lost where they are added up."""
    torch.backends.cuda.matmul.allow_tf32 = True
    told = {}
    for k in (8, 16, 64, 256):
        a, b = torch.full((64, k), 2.0**-12), torch.full((k, 64), 2.0**-12)
        a[:, 0], b[0] = 1, 1
        told[f"k {k}"] = bits((a.cuda() @ b.cuda())[0, :1])
    return told


def lost(found, exact):
    error = ((found.double().cpu() - exact).abs().max() / exact.abs().max()).item()
    return round(math.log2(error)) if error else "exact"


def drawn(*shape):
    generator = torch.Generator().manual_seed(len(shape) + shape[0])
    return torch.randn(*shape, generator=generator, dtype=torch.float32)


CONVOLUTIONS = """
    1 64 32 64 3 1 1 | 1 3 64 32 7 2 1 | 8 64 16 64 1 1 1 | 8 64 16 64 3 1 64 | 8 32 16 32 3 1 8
    1 1 28 6 5 1 1 | 2 16 15 33 3 1 1 | 2 17 15 33 3 1 1 | 2 5 31 7 3 2 1 | 1 128 7 512 1 1 1
    4 96 8 96 7 1 96 | 64 8 8 8 3 1 1 | 1 64 1 64 1 1 1 | 2 256 14 256 3 2 1 | 2 12 20 24 5 1 4
    2 2 9 2 3 1 1 | 16 3 32 16 3 1 1 | 1 512 4 512 3 1 1
"""  # batch, channels, size, outputs, kernel, stride, groups


def of_convolution(n, c, s, o, k, stride, groups, dimensions=2, last=False):
    x, w = drawn(n, c, *[s] * dimensions), drawn(o, c // groups, *[k] * dimensions)
    call = getattr(F, f"conv{dimensions}d")
    given = {"stride": stride, "padding": k // 2, "groups": groups}
    xe, we = x.double().requires_grad_(), w.double().requires_grad_()
    exact = call(xe, we, **given)
    grad = drawn(*exact.shape)
    exact_grads = torch.autograd.grad(exact, (xe, we), grad.double())
    xf, wf = x.cuda(), w.cuda()
    if last:
        xf, wf = (t.to(memory_format=torch.channels_last) for t in (xf, wf))
    xf.requires_grad_(), wf.requires_grad_()
    found = call(xf, wf, **given)
    grads = torch.autograd.grad(found, (xf, wf), grad.cuda())
    return [
        lost(found.detach(), exact.detach()),
        *(lost(a, b) for a, b in zip(grads, exact_grads, strict=True)),
    ]


@generated
def convolutions():
    for line in map(" ".join, lines(CONVOLUTIONS)):
        shape = [int(word) for word in line.split()]
        yield Question(f"conv1d {line}", lambda s=shape: of_convolution(*s, dimensions=1))
        yield Question(f"conv2d {line}", lambda s=shape: of_convolution(*s))
        yield Question(
            f"conv2d {line} channels_last", lambda s=shape: of_convolution(*s, last=True)
        )
        if shape[2] <= 16 and shape[1] <= 128:
            yield Question(f"conv3d {line}", lambda s=shape: of_convolution(*s, dimensions=3))
        yield Question(f"conv_transpose2d {line}", lambda s=shape: of_transposed(*s))


def of_transposed(n, c, s, o, k, stride, groups):
    x, w = drawn(n, o, s, s), drawn(o, c // groups, k, k)
    given = {"stride": stride, "groups": groups}
    exact = F.conv_transpose2d(x.double(), w.double(), **given)
    return lost(F.conv_transpose2d(x.cuda(), w.cuda(), **given), exact)


SIZES = [(1, 1, 1), (2, 3, 4), (3, 5, 7), (1, 64, 64), (64, 64, 1), (17, 33, 65), (64, 64, 64), (128, 1, 128),
         (1, 4096, 1), (127, 129, 131), (256, 256, 256), (2, 1000, 3), (1000, 2, 1000), (5, 4096, 5)]  # fmt: skip


@generated
def products():
    for m, k, n in SIZES:
        yield Question(f"mm {m} {k} {n}", lambda s=(m, k, n): of_product(*s))


def of_product(m, k, n):
    """mm, mm of transposed ones, bmm, linear with bias, addmv, dot and einsum, with TF32 allowed."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        a, b, bias = drawn(m, k), drawn(k, n), drawn(n)
        e, f, g = a.double(), b.double(), bias.double()
        x, y, z = a.cuda(), b.cuda(), bias.cuda()
        return {
            "mm": lost(x @ y, e @ f),
            "transposed": lost(x.t().contiguous().t() @ y.t().contiguous().t(), e @ f),
            "bmm": lost(x.expand(3, m, k) @ y.expand(3, k, n), (e @ f).expand(3, m, n)),
            "linear": lost(F.linear(x, y.t(), z), e @ f + g),
            "mv": lost(x @ y[:, 0], e @ f[:, 0]),
            "dot": lost((x[0] @ y[:, 0]), e[0] @ f[:, 0]),
            "einsum": lost(torch.einsum("ij,jk->ki", x, y), (e @ f).t()),
        }
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


@question(alone=True)
def other_layers():
    """Layers that cuDNN or cuBLAS compute, by default and with TF32 allowed for products."""
    told = {}
    for allowed in (False, True):
        torch.backends.cuda.matmul.allow_tf32 = allowed
        for name, made, given in (
            ("lstm", lambda: torch.nn.LSTM(64, 64), drawn(20, 8, 64)),
            ("gru", lambda: torch.nn.GRU(64, 64), drawn(20, 8, 64)),
            ("rnn", lambda: torch.nn.RNN(64, 64), drawn(20, 8, 64)),
            ("attention", lambda: torch.nn.MultiheadAttention(64, 4), drawn(20, 8, 64)),
            ("linear", lambda: torch.nn.Linear(64, 64), drawn(20, 8, 64)),
        ):
            torch.manual_seed(0)
            layer = made()
            call = (lambda m, x: m(x, x, x)[0]) if name == "attention" else (lambda m, x: m(x))
            exact = call(layer.double(), given.double())
            found = call(layer.float().cuda(), given.cuda())
            exact, found = (t[0] if isinstance(t, tuple) else t for t in (exact, found))
            told[f"{name} {allowed}"] = lost(found.detach(), exact.detach())
        q = drawn(2, 4, 128, 64)
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.EFFICIENT_ATTENTION):
            found = F.scaled_dot_product_attention(q.cuda(), q.cuda(), q.cuda())
        told[f"sdpa {allowed}"] = lost(found, F.scaled_dot_product_attention(*[q.double()] * 3))
    return told
