"""Which calls take a workspace of a library that stays allocated: each in a process of its own.

[bytes that stay allocated when the result is gone, peak bytes above the inputs], for a first and for
a second call, of the call and of its gradient.
"""

import torch
from recorder.registry import Question, add
from torch import nn
from torch.nn import functional as F


def square(n=64, dtype=torch.float32):
    x = torch.eye(n, dtype=dtype) * 3 + torch.arange(n * n).reshape(n, n).to(dtype) / n**3
    return (x.cuda(), x[0].cuda(), x[None].expand(2, n, n).contiguous().cuda())


def eight(x):
    return x.to(torch.float8_e4m3fn)


CALLS = {
    "x @ x": lambda x, v, b: x @ x,
    "x @ x of a large matrix": lambda x, v, b: x.repeat(32, 32) @ x.repeat(32, 32),
    "x @ v": lambda x, v, b: x @ v,
    "v @ v": lambda x, v, b: v @ v,
    "vdot": lambda x, v, b: torch.vdot(v, v),
    "outer": lambda x, v, b: torch.outer(v, v),
    "addr": lambda x, v, b: torch.addr(x, v, v),
    "bmm": lambda x, v, b: b @ b,
    "baddbmm": lambda x, v, b: torch.baddbmm(b, b, b),
    "addbmm": lambda x, v, b: torch.addbmm(x, b, b),
    "addmm of a matrix": lambda x, v, b: torch.addmm(x, x, x),
    "addmm of a row": lambda x, v, b: torch.addmm(v, x, x),
    "addmm of a row, beta 2": lambda x, v, b: torch.addmm(v, x, x, beta=2),
    "addmm of a row, alpha 2": lambda x, v, b: torch.addmm(v, x, x, alpha=2),
    "addmm of a column": lambda x, v, b: torch.addmm(v[:, None], x, x),
    "addmv": lambda x, v, b: torch.addmv(v, x, v),
    "_addmm_activation": lambda x, v, b: torch._addmm_activation(v, x, x),
    "linear": lambda x, v, b: F.linear(x, x, v),
    "linear of three dimensions": lambda x, v, b: F.linear(b, x, v),
    "linear of a vector": lambda x, v, b: F.linear(v, x, v),
    "linear without bias": lambda x, v, b: F.linear(x, x),
    "linear to one": lambda x, v, b: F.linear(x, x[:1], v[:1]),
    "linear of half": lambda x, v, b: F.linear(x.half(), x.half(), v.half()),
    "linear of bfloat16": lambda x, v, b: F.linear(x.bfloat16(), x.bfloat16(), v.bfloat16()),
    "linear of double": lambda x, v, b: F.linear(x.double(), x.double(), v.double()),
    "linear of complex": lambda x, v, b: F.linear(x.cfloat(), x.cfloat(), v.cfloat()),
    "bilinear": lambda x, v, b: F.bilinear(x, x, b),
    "einsum": lambda x, v, b: torch.einsum("ij,bjk->bik", x, b),
    "tensordot": lambda x, v, b: torch.tensordot(x, b, 1),
    "chain": lambda x, v, b: torch.linalg.multi_dot([x, x, x]),
    "cdist": lambda x, v, b: torch.cdist(x, x),
    "cov": lambda x, v, b: torch.cov(x),
    "matrix_power": lambda x, v, b: torch.linalg.matrix_power(x, 3),
    "matrix_exp": lambda x, v, b: torch.linalg.matrix_exp(x),
    "inv": lambda x, v, b: torch.linalg.inv(x),
    "inv of a batch": lambda x, v, b: torch.linalg.inv(b),
    "solve": lambda x, v, b: torch.linalg.solve(x, x),
    "solve_triangular": lambda x, v, b: torch.linalg.solve_triangular(x, x, upper=True),
    "cholesky": lambda x, v, b: torch.linalg.cholesky(x.diag().diag()),
    "cholesky of a batch": lambda x, v, b: torch.linalg.cholesky(b.diagonal(0, 1, 2).diag_embed()),
    "cholesky_solve": lambda x, v, b: torch.cholesky_solve(x, x),
    "cholesky_inverse": lambda x, v, b: torch.cholesky_inverse(x),
    "lu_factor": lambda x, v, b: torch.linalg.lu_factor(x),
    "lu_factor of a batch": lambda x, v, b: torch.linalg.lu_factor(b),
    "det": lambda x, v, b: torch.linalg.det(x),
    "qr": lambda x, v, b: torch.linalg.qr(x),
    "qr of a batch": lambda x, v, b: torch.linalg.qr(b),
    "svd": lambda x, v, b: torch.linalg.svd(x),
    "eigh": lambda x, v, b: torch.linalg.eigh(x),
    "eig": lambda x, v, b: torch.linalg.eig(x),
    "lstsq": lambda x, v, b: torch.linalg.lstsq(x, x).solution,
    "pinv": lambda x, v, b: torch.linalg.pinv(x),
    "householder_product": lambda x, v, b: torch.linalg.householder_product(x, v),
    "conv1d": lambda x, v, b: F.conv1d(b, b[:, :, :3].contiguous()),
    "conv2d": lambda x, v, b: F.conv2d(b[None], b[None, :, :3, :3].contiguous()),
    "conv2d of half": lambda x, v, b: F.conv2d(b[None].half(), b[None, :, :3, :3].half()),
    "conv2d of channels": lambda x, v, b: F.conv2d(
        x.repeat(16, 16).reshape(16, 64, 32, 32), x.repeat(3, 3).reshape(64, 64, 3, 3)
    ),
    "conv3d": lambda x, v, b: F.conv3d(b[None, None], b[None, None, :, :3, :3].contiguous()),
    "attention": lambda x, v, b: F.scaled_dot_product_attention(b[None], b[None], b[None]),
    "attention of half": lambda x, v, b: F.scaled_dot_product_attention(
        b[None].half(), b[None].half(), b[None].half()
    ),
    "attention of double": lambda x, v, b: F.scaled_dot_product_attention(
        b[None].double(), b[None].double(), b[None].double()
    ),
    "multi-head attention": lambda x, v, b: nn.MultiheadAttention(64, 4, device="cuda")(b, b, b)[0],
    "lstm": lambda x, v, b: nn.LSTM(64, 32, device="cuda")(b)[0],
    "gru": lambda x, v, b: nn.GRU(64, 32, device="cuda")(b)[0],
    "_int_mm": lambda x, v, b: torch._int_mm(x.to(torch.int8), x.to(torch.int8)),
    "_scaled_mm": lambda x, v, b: torch._scaled_mm(
        eight(x), eight(x).t(), scale_a=v[0], scale_b=v[0], out_dtype=torch.bfloat16
    ),
    "sparse @ dense": lambda x, v, b: x.to_sparse() @ x,
    "csr @ dense": lambda x, v, b: x.to_sparse_csr() @ x,
    "fft": lambda x, v, b: torch.fft.fft(x),
    "fft2": lambda x, v, b: torch.fft.fft2(x.repeat(32, 32)),
    "sort": lambda x, v, b: x.repeat(32, 32).flatten().sort(),
    "embedding gradient": lambda x, v, b: F.embedding(torch.arange(64, device="cuda"), x),
    "batch norm": lambda x, v, b: F.batch_norm(b[None].repeat(8, 8, 1, 1), None, None, training=True),
}  # fmt: skip


def ask(call):
    inputs = square()
    told = {}
    for count in (1, 2):
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        with torch.no_grad():
            call(*inputs)
        told[f"call {count}"] = told_since(before)
    inputs = [x.requires_grad_() for x in inputs]
    for count in (1, 2):
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        try:
            found = call(*inputs)
            found = found if isinstance(found, torch.Tensor) else found[0]
            if found.requires_grad:
                torch.autograd.grad(found.abs().sum(), inputs, allow_unused=True)
            del found
        except RuntimeError as error:
            told[f"gradient {count}"] = str(error).splitlines()[0][:100]
            continue
        told[f"gradient {count}"] = told_since(before)
    return told


def told_since(before):
    torch.cuda.synchronize()
    return [
        torch.cuda.memory_allocated() - before,
        torch.cuda.max_memory_allocated() - before,
    ]


for name, call in CALLS.items():
    add(Question(name, lambda call=call: ask(call), alone=True))
