"""The kernels of RWKV 4 to 7, which the package builds as it is imported, step by step."""

import os
from pathlib import Path

import torch
from torch.utils.cpp_extension import load

os.environ["RWKV_CUDA_ON"] = "1"
os.environ["RWKV_V7_ON"] = "0"
import rwkv.model

torch.manual_seed(0)
TYPES = ((torch.float, "fp32", 1e-4), (torch.half, "fp16", 4e-3), (torch.bfloat16, "bf16", 3e-2))


def close(ours, plain, tolerance):
    torch.testing.assert_close(ours.double(), plain, rtol=tolerance, atol=tolerance)


# RWKV 4: a weighted mean whose weights fade.
for dtype in (torch.float, torch.half):
    batch, steps, channels = 2, 12, 64
    w, u = -torch.rand(channels, device="cuda").exp(), torch.randn(channels, device="cuda")
    k, v = (torch.randn(batch, steps, channels, device="cuda").to(dtype) for _ in range(2))
    aa, bb = (
        torch.zeros(batch, channels, device="cuda"),
        torch.zeros(batch, channels, device="cuda"),
    )
    pp = torch.full_like(aa, -1e38)
    y = torch.empty_like(v)
    torch.ops.rwkv.wkv_forward(batch, steps, channels, w, u, k, v, y, aa, bb, pp)
    for t in range(steps):
        ages = torch.arange(t - 1, -1, -1, device="cuda").double()
        powers = k[:, :t].double() + ages[:, None] * w.double()
        powers = torch.cat([powers, (u + k[:, t].float())[:, None].double()], 1)
        close(
            y[:, t],
            (powers.softmax(1) * v[:, : t + 1].double()).sum(1),
            1e-4 if dtype is torch.float else 3e-3,
        )

# Products with weights of 8 bits, of many rows and of one.
for dtype, tolerance in ((torch.float, 1e-3), (torch.half, 2e-2)):
    rows, inputs, outputs = 5, 256, 512
    x = torch.randn(rows, inputs, device="cuda").to(dtype)
    numbers = torch.randint(0, 256, (inputs, outputs), dtype=torch.uint8, device="cuda")
    mx, rx = (torch.rand(outputs, device="cuda").div(8).to(dtype) for _ in range(2))
    my, ry = (torch.rand(inputs, 1, device="cuda").div(8).to(dtype) for _ in range(2))
    weight = (numbers.double() + 0.5) * rx.double() * ry.double() + mx.double() + my.double()
    y = torch.empty(rows, outputs, dtype=dtype, device="cuda")
    torch.ops.rwkv.mm8_seq(rows, inputs, outputs, x, numbers, mx, rx, my, ry, y)
    torch.testing.assert_close(y.double(), x.double() @ weight, rtol=tolerance, atol=40 * tolerance)
    one = torch.zeros(outputs, device="cuda")
    torch.ops.rwkv.mm8_one(inputs, outputs, x[0], numbers, mx, rx, my, ry, one)
    torch.testing.assert_close(one.double(), x[0].double() @ weight, rtol=1e-3, atol=1e-1)
a, b = (torch.randn(shape, device="cuda").half() for shape in ((7, 96), (96, 40)))
for dtype in (torch.half, torch.float):
    c = torch.empty(7, 40, dtype=dtype, device="cuda")
    torch.ops.rwkv.gemm_fp16_cublas(a, b, c)
    close(c, a.double() @ b.double(), 2e-2)

# RWKV 6 and 7: a state of one matrix for each head. The flags are those of the package.
size, heads, steps = 64, 2, 9
folder = Path(rwkv.model.__file__).parent / "cuda"
flags = [
    "-res-usage",
    "--use_fast_math",
    "-O3",
    "-Xptxas -O3",
    "--extra-device-vectorization",
    f"-D_N_={size}",
]


def built(name, prefix):
    load(
        name=name,
        sources=[f"{folder}/{prefix}_op.cpp", f"{folder}/{prefix}.cu"],
        is_python_module=False,
        extra_cuda_cflags=[*flags, "-D_T_=4096"],
    )
    return getattr(torch.ops, name)


def heads_of(x):
    return x.view(steps, heads, size).double()


six, seven = built("rwkv6", "rwkv6"), built("wkv7s", "rwkv7")
for dtype, name, tolerance in TYPES:
    r, k, v, a, b, decay = (
        torch.randn(1, steps, heads * size, device="cuda").div(4).to(dtype) for _ in range(6)
    )
    w = torch.rand(1, steps, heads * size, device="cuda")
    u = torch.randn(heads, size, device="cuda").to(dtype)
    start = torch.randn(heads, size, size, device="cuda")

    state, y = start.clone(), torch.empty_like(r)
    getattr(six, f"forward_{name}")(1, steps, heads * size, heads, state, r, k, v, w, u, y)
    plain = start.double()  # [head, value, key]
    for t, answer in enumerate(heads_of(y)):
        new = heads_of(v)[t][:, :, None] * heads_of(k)[t][:, None]
        close(
            answer,
            ((plain + u.double()[:, None] * new) @ heads_of(r)[t][:, :, None])[..., 0],
            tolerance,
        )
        plain = plain * heads_of(w)[t][:, None] + new
    close(state, plain, tolerance)

    state, y = start.clone(), torch.empty_like(r)
    getattr(seven, f"forward_{name}")(1, steps, heads * size, heads, state, r, decay, k, v, a, b, y)
    plain = start.double()
    for t, answer in enumerate(heads_of(y)):
        shown = plain @ heads_of(a)[t][:, :, None]
        plain = plain * torch.exp(-torch.exp(heads_of(decay)[t]))[:, None]
        plain = (
            plain
            + heads_of(v)[t][:, :, None] * heads_of(k)[t][:, None]
            + shown * heads_of(b)[t][:, None]
        )
        close(answer, (plain @ heads_of(r)[t][:, :, None])[..., 0], tolerance)
    close(state, plain, tolerance)
print("right")
