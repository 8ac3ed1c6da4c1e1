"""How long calls take on the device: microseconds by events, the median of several, and the shortest.

One process, one after the other, and no other uses the device: a bound for estimates of time.
"""

import time

import torch
from recorder.registry import Question, add
from torch.nn import functional as F

EXCLUSIVE = True
HEAVY = True  # a virtual device computes on the host
KINDS = {"f32": torch.float32, "f16": torch.half, "bf16": torch.bfloat16, "f64": torch.float64}
REPEATS, FEW = 20, 3


def timed(call):
    """[median, shortest] in microseconds, after three calls that do not count."""
    for _ in range(FEW):
        call()
    torch.cuda.synchronize()
    found = []
    began = time.monotonic()
    for _ in range(REPEATS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        end.synchronize()
        found.append(start.elapsed_time(end) * 1000)
        if time.monotonic() - began > 1.0 and len(found) >= FEW:
            break
    found.sort()
    return [round(found[len(found) // 2], 2), round(found[0], 2)]


def drawn(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda").to(dtype)


def products(kind, tf32=False):
    torch.backends.cuda.matmul.allow_tf32 = tf32
    told = {}
    for m, k, n in ((128, 128, 128), (1024, 1024, 1024), (4096, 4096, 4096), (8192, 1024, 8192), (1, 4096, 4096),
                    (16, 4096, 11008), (2048, 768, 3072), (50257, 768, 64), (8192, 8192, 8192)):  # fmt: skip
        if kind == "f64" and m * k * n > 1 << 37:
            continue
        a, b = drawn(m, k, dtype=KINDS[kind]), drawn(k, n, dtype=KINDS[kind])
        told[f"{m} {k} {n}"] = timed(lambda a=a, b=b: a @ b)
    a = drawn(96, 512, 64, dtype=KINDS[kind])
    told["96 x 512 64 512"] = timed(lambda: a @ a.mT)
    return told


ELEMENTWISE = {
    "add": lambda x: x + x, "add_": lambda x: x.add_(1), "gelu": F.gelu, "exp": torch.exp, "copy": torch.clone,
    "to half": lambda x: x.half(), "to float": lambda x: x.float(), "sum": torch.sum, "sum rows": lambda x: x.sum(-1),
    "sum columns": lambda x: x.sum(0), "softmax": lambda x: x.softmax(-1), "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "transpose": lambda x: x.t().contiguous(), "dropout": lambda x: F.dropout(x), "randn": torch.randn_like,
    "cumsum": lambda x: x.cumsum(-1), "sort rows": lambda x: x.sort(-1), "argmax": torch.argmax,
    "where": lambda x: torch.where(x > 0, x, -x), "cat": lambda x: torch.cat([x, x]), "fill_": lambda x: x.fill_(1),
}  # fmt: skip


def elementwise(kind):
    told = {}
    for rows in (1, 64, 1024, 16384, 131072):
        x = drawn(rows, 1024, dtype=KINDS[kind])
        for name, call in ELEMENTWISE.items():
            told[f"{name} {rows}"] = timed(lambda call=call, x=x: call(x))
    return told


def attention(kind, causal):
    told = {}
    for n, h, length, d in (
        (1, 12, 1024, 64),
        (8, 16, 2048, 64),
        (4, 32, 4096, 128),
        (64, 12, 128, 64),
        (1, 32, 16384, 128),
    ):
        if kind == "f32" and length > 4096:
            continue
        q = drawn(n, h, length, d, dtype=KINDS[kind]).requires_grad_()
        told[f"{n} {h} {length} {d}"] = timed(
            lambda q=q: F.scaled_dot_product_attention(q, q, q, is_causal=causal)
        )
        out = F.scaled_dot_product_attention(q, q, q, is_causal=causal)
        told[f"{n} {h} {length} {d} gradient"] = timed(
            lambda out=out, q=q: torch.autograd.grad(out, q, out.detach(), retain_graph=True)
        )
    return told


def convolutions(kind, last=False):
    told = {}
    for n, c, s, o, k, stride, groups in (
        (32, 3, 224, 64, 7, 2, 1), (32, 64, 56, 64, 3, 1, 1), (32, 256, 56, 64, 1, 1, 1), (32, 512, 7, 512, 3, 1, 1),
        (32, 128, 28, 128, 3, 1, 1), (32, 144, 56, 144, 3, 1, 144), (2, 320, 64, 320, 3, 1, 1), (1, 64, 512, 64, 3, 1, 1),
    ):  # fmt: skip
        x, w = drawn(n, c, s, s, dtype=KINDS[kind]), drawn(o, c // groups, k, k, dtype=KINDS[kind])
        if last:
            x, w = (t.to(memory_format=torch.channels_last) for t in (x, w))
        x.requires_grad_(), w.requires_grad_()
        given = {"stride": stride, "padding": k // 2, "groups": groups}
        name = f"{n} {c} {s} {o} {k} {stride} {groups}"
        told[name] = timed(lambda x=x, w=w, given=given: F.conv2d(x, w, **given))
        out = F.conv2d(x, w, **given)
        told[f"{name} gradients"] = timed(
            lambda out=out, x=x, w=w: torch.autograd.grad(
                out, (x, w), out.detach(), retain_graph=True
            )
        )
    return told


def transfers():
    told = {}
    for size in (1 << 10, 1 << 20, 1 << 26, 1 << 29):
        host, kept = (
            torch.empty(size, dtype=torch.uint8),
            torch.empty(size, dtype=torch.uint8).pin_memory(),
        )
        device = torch.empty(size, dtype=torch.uint8, device="cuda")
        told[f"{size} to device"] = timed(lambda d=device, h=host: d.copy_(h))
        told[f"{size} pinned to device"] = timed(
            lambda d=device, h=kept: d.copy_(h, non_blocking=True)
        )
        told[f"{size} to host"] = timed(lambda d=device, h=host: h.copy_(d))
        told[f"{size} pinned to host"] = timed(
            lambda d=device, h=kept: h.copy_(d, non_blocking=True)
        )
    return told


def optimizers():
    told = {}
    for count, size in ((10, 10_000_000), (300, 100_000)):
        parameters = [torch.nn.Parameter(drawn(size)) for _ in range(count)]
        for one in parameters:
            one.grad = torch.zeros_like(one)
        for name, made in (
            ("sgd", lambda p: torch.optim.SGD(p, 0.1, momentum=0.9)), ("adamw", lambda p: torch.optim.AdamW(p)),
            ("adamw fused", lambda p: torch.optim.AdamW(p, fused=True)),
            ("adamw single", lambda p: torch.optim.AdamW(p, foreach=False)),
        ):  # fmt: skip
            told[f"{name} {count} x {size}"] = timed(made(parameters).step)
    return told


for kind in ("f32", "f16", "bf16", "f64"):
    add(Question(f"products {kind}", lambda k=kind: products(k)))
add(Question("products f32 in TF32", lambda: products("f32", tf32=True), alone=True))
for kind in ("f32", "bf16"):
    add(Question(f"elementwise {kind}", lambda k=kind: elementwise(k), seconds=120))
    add(Question(f"attention {kind}", lambda k=kind: attention(k, False)))
    add(Question(f"attention {kind} causal", lambda k=kind: attention(k, True)))
    add(Question(f"convolutions {kind}", lambda k=kind: convolutions(k)))
    add(Question(f"convolutions {kind} channels_last", lambda k=kind: convolutions(k, True)))
add(Question("transfers", transfers))
add(Question("optimizers", optimizers))
