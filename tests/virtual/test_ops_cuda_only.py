"""Operators that only CUDA has, against what the CPU computes by other means."""

from __future__ import annotations

import pytest
import torch

pytestmark = [pytest.mark.devices("cuda:2"), pytest.mark.usefixtures("seeded")]


def test_sync_batch_norm() -> None:
    torch.manual_seed(0)
    x = torch.randn(6, 3, 4, device="cuda")
    weight, bias = torch.rand(3, device="cuda"), torch.rand(3, device="cuda")
    parts = x.split(2)
    stats = [torch.batch_norm_stats(p, 1e-5) for p in parts]
    mean, invstd = (torch.stack(s) for s in zip(*stats, strict=True))
    counts = torch.tensor([8.0, 8.0, 8.0], device="cuda")
    running = torch.zeros(3, device="cuda"), torch.ones(3, device="cuda")
    mean, invstd = torch.batch_norm_gather_stats_with_counts(
        x, mean, invstd, *running, 0.1, 1e-5, counts
    )
    out = torch.cat([torch.batch_norm_elemt(p, weight, bias, mean, invstd, 1e-5) for p in parts])
    y = x.cpu().requires_grad_()
    w, b = (t.cpu().requires_grad_() for t in (weight, bias))
    expected = torch.zeros(3), torch.ones(3)
    want = torch.nn.functional.batch_norm(y, *expected, w, b, training=True)
    torch.testing.assert_close(out.cpu(), want)
    for mine, other in zip(running, expected, strict=True):
        torch.testing.assert_close(mine.cpu(), other)
    grad = torch.randn_like(want)
    want.backward(grad)
    g = grad.cuda()
    dy, dy_xmu, gw, gb = torch.batch_norm_backward_reduce(
        g, x, mean, invstd, weight, True, True, True
    )
    gx = torch.batch_norm_backward_elemt(
        g, x, mean, invstd, weight, dy, dy_xmu, torch.tensor([24], device="cuda", dtype=torch.int32)
    )
    for mine, other in ((gx, y.grad), (gw, w.grad), (gb, b.grad)):
        torch.testing.assert_close(mine.cpu(), other)


def test_convolution_products_attention_dropout() -> None:
    F = torch.nn.functional
    torch.manual_seed(0)
    x, w = torch.randn(2, 3, 5, 5), torch.randn(3, 1, 3, 3)
    got = torch._C._nn._conv_depthwise2d(x.cuda(), w.cuda(), [3, 3], None, [1, 1], [1, 1], [1, 1])
    assert torch.equal(got.cpu(), F.conv2d(x, w, padding=1, groups=3))
    a, b = torch.randn(3, 4).half(), torch.randn(4, 5).half()
    assert torch.equal(
        torch.mm(a.cuda(), b.cuda(), out_dtype=torch.float32).cpu(), a.float() @ b.float()
    )
    q = torch.randn(2, 2, 5, 8)

    def attend(q):
        q = q.requires_grad_()
        out = F.scaled_dot_product_attention(q, q, q, is_causal=True)
        return out, *torch.autograd.grad(out.sum(), q)

    for mine, other in zip(attend(q.clone().cuda()), attend(q.clone()), strict=True):
        assert torch.equal(mine.cpu(), other)
    # Operators without an argument for a generator draw from the device's, and leave the CPU's alone.
    before = torch.get_rng_state()
    torch.cuda.manual_seed(3)
    ones = torch.ones(1000, device="cuda")
    first = torch.native_dropout(ones, 0.5, True)[0]
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(7)
    torch.cuda.manual_seed(3)
    assert torch.equal(torch.native_dropout(ones, 0.5, True)[0], first)
    assert not torch.equal(torch.native_dropout(ones, 0.5, True)[0], first)


def test_sparse_nested_quantized() -> None:
    d = torch.tensor([[0.0, 1, 0, 2], [3, 0, 0, 0], [0, 0, 4, 0], [5, 0, 0, 6]])
    for to in ("to_sparse", "to_sparse_csr", "to_sparse_csc"):
        host, device = getattr(d, to)(), getattr(d.cuda(), to)()
        assert device.device.type == "cuda" and device.layout == host.layout, to
        assert torch.equal(device.to_dense().cpu(), d), to
        assert torch.equal((device @ d.cuda()).cpu(), host @ d), to
    assert torch.equal(d.cuda().to_sparse_bsr((2, 2)).to_dense().cpu(), d)
    nested = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)]).cuda()
    out = torch.nn.functional.linear(nested, torch.ones(5, 3, device="cuda"))
    assert out.is_nested and out.device.type == "cuda"
    assert torch.equal(out.unbind()[1].cpu(), torch.full((4, 5), 3.0))
    host = torch.quantize_per_tensor(d, 0.1, 3, torch.quint8)
    device = torch.quantize_per_tensor(d.cuda(), 0.1, 3, torch.quint8)
    assert device.device.type == "cuda" and torch.equal(device.int_repr().cpu(), host.int_repr())
    assert torch.equal(device.dequantize().cpu(), host.dequantize())
