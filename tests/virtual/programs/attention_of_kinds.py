"""Attention on DEVICE: the numbers, the gradients and the errors of the CPU."""

import contextlib
import sys

import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode

DEVICE = sys.argv[1]
torch.manual_seed(0)
q, k, v = (torch.randn(2, 4, 9, 16) for _ in range(3))
few = torch.randn(2, 2, 9, 16)
allowed = torch.rand(2, 1, 9, 9) > 0.3
allowed[..., 0] = True
CASES = {
    "plain": {},
    "causal": {"is_causal": True},
    "mask": {"attn_mask": allowed},
    "bias": {"attn_mask": torch.randn(9, 9)},
    "scale": {"scale": 0.5},
}


def on(device, thing):
    return thing.to(device) if isinstance(thing, torch.Tensor) else thing


def run(device, context, key, words):
    tensors = [x.clone().to(device).requires_grad_() for x in (q, key, v if key is k else key)]
    with context():
        out = F.scaled_dot_product_attention(
            *tensors, **{n: on(device, x) for n, x in words.items()}
        )
    if out.requires_grad:
        out.sum().backward()
    return [out.detach().cpu(), *(x.grad.cpu() for x in tensors if x.grad is not None)]


for context in (contextlib.nullcontext, torch.inference_mode, torch.no_grad):
    for name, words in CASES.items():
        for a, b in zip(run(DEVICE, context, k, words), run("cpu", context, k, words), strict=True):
            assert a.equal(b), (context, name)
for a, b in zip(
    *(run(d, contextlib.nullcontext, few, {"enable_gqa": True}) for d in (DEVICE, "cpu")),
    strict=True,
):
    # CUDA's efficient kernel takes no grouped queries, and its flash kernel no float32.
    assert a.allclose(b, atol=1e-6) if DEVICE == "cuda" else a.equal(b), "grouped queries"


def math():
    return torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)


for a, b in zip(*(run(d, math, k, {"is_causal": True}) for d in (DEVICE, "cpu")), strict=True):
    torch.testing.assert_close(a, b)

dropped = F.scaled_dot_product_attention(*(x.to(DEVICE) for x in (q, k, v)), dropout_p=0.5)
assert dropped.shape == q.shape and dropped.device.type == DEVICE

layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True).eval()
x = torch.randn(2, 5, 16)
expected = layer(x)
assert layer.to(DEVICE)(x.to(DEVICE)).cpu().allclose(expected, atol=1e-6)

with torch.autocast(DEVICE, dtype=torch.bfloat16):
    assert (
        F.scaled_dot_product_attention(*(x.to(DEVICE) for x in (q, k, v))).dtype is torch.bfloat16
    )


def words_of(*tensors, **words):
    try:
        F.scaled_dot_product_attention(*tensors, **words)
    except RuntimeError as error:
        return str(error).splitlines()[0]
    return "no error"


for tensors, words in (
    ((q, k.half(), v), {}),
    ((q[0, 0, 0], k, v), {}),
    ((q, k, v), {"attn_mask": allowed.int()}),
):
    here = words_of(
        *(x.to(DEVICE) for x in tensors), **{n: on(DEVICE, x) for n, x in words.items()}
    )
    there = words_of(*tensors, **words)
    assert here.split(" dtype")[0] == there.split(" dtype")[0] and here != "no error", (here, there)
assert "same device type" in words_of(q.to(DEVICE), k, v.to(DEVICE))


def attend(x):
    return F.scaled_dot_product_attention(x, x, x)


several = torch.stack([q, k, v])
assert torch.vmap(attend)(several.to(DEVICE)).cpu().allclose(torch.vmap(attend)(several), atol=1e-6)
slope = torch.func.grad(lambda x: attend(x).sum())
assert slope(q.to(DEVICE)).cpu().allclose(slope(q), atol=1e-6)
with FakeTensorMode(), torch.inference_mode():
    assert attend(torch.empty(q.shape, device=DEVICE)).device.type == DEVICE
print("alike")
