"""Tensors on several devices: what a real build refuses, and what it takes."""

from __future__ import annotations

import pytest
import torch

pytestmark = pytest.mark.devices("cuda:2")

F = torch.nn.functional
c, d = torch.ones(2, 2), torch.ones(2, 2, device="cuda")
e = torch.ones(2, 2, device="cuda:1")
index, mask, zero = torch.tensor([0, 1]), torch.ones(2, 2, dtype=torch.bool), torch.tensor(1.0)
three, three_d = torch.ones(1, 2, 2), torch.ones(1, 2, 2, device="cuda")


def two(a="cuda:0", b="cpu"):
    return (
        "Expected all tensors to be on the same device, but found at least two devices, "
        f"{a} and {b}!"
    )


def wrapper(name, argument, at="cpu", others="cuda:0"):
    return (
        f"Expected all tensors to be on the same device, but got {argument} is on {at}, "
        f"different from other tensors on {others} "
        f"(when checking argument in method wrapper_CUDA_{name})"
    )


def outputs(at="cpu", wanted="cuda:0"):
    return f"Expected out tensor to have device {wanted}, but got {at} instead"


# The names of wrappers, and what checks `out=`, are those that an H200 with torch 2.11 said.
REFUSED = [
    (lambda: torch.isin(d, c), wrapper("isin_Tensor_Tensor", "test_elements")),
    (lambda: torch.clamp(d, min=c), wrapper("clamp_Tensor", "min")),
    (lambda: d.scatter(0, index[None], 1.0), wrapper("scatter_value", "index")),
    (lambda: torch.cumsum(d, 0, out=c.clone()), outputs()),
    (lambda: torch.all(d, out=mask.clone()), outputs()),
    (lambda: torch.cumprod(c, 0, out=d.clone()), outputs("cuda:0", "cpu")),
    (lambda: torch.special.hermite_polynomial_h(d, 2, out=c.clone()), two()),
    (
        lambda: torch.multinomial(d, 2, out=index.clone()),
        wrapper("out_multinomial_out", "self", "cuda:0", "cpu"),
    ),
    (lambda: torch.normal(d, c), wrapper("Tensor_Tensor_normal", "std")),
    (
        lambda: torch.mode(d, out=(c[0].clone(), index.clone())),
        "expected device 'cuda:0' but got 'cpu' for values output",
    ),
    (lambda: d + c, two()),
    (lambda: c + d, two()),
    (lambda: d * e, two("cuda:0", "cuda:1")),
    (lambda: e - d, two("cuda:1", "cuda:0")),
    (lambda: d == c, two()),
    (lambda: d.clone().add_(c), two()),
    (lambda: c.clone().add_(d), two()),
    (lambda: torch.add(d, d, out=c.clone()), two()),
    (lambda: torch.maximum(d, c), two()),
    (lambda: torch.where(d > 0, d, c), two()),
    (lambda: torch.addcmul(d, c, d), two()),
    (lambda: F.mse_loss(d, c), two()),
    (lambda: d @ c, wrapper("mm", "mat2")),
    (lambda: c @ d, wrapper("mm", "mat2", "cuda:0", "cpu")),
    (lambda: d @ e, wrapper("mm", "mat2", "cuda:1")),
    (lambda: torch.mm(d, d, out=c.clone()), wrapper("mm_out_out", "self", "cuda:0", "cpu")),
    (lambda: torch.bmm(three_d, three), wrapper("bmm", "mat2")),
    (lambda: F.linear(c, d, d[0]), wrapper("addmm", "mat1")),
    (
        lambda: F.scaled_dot_product_attention(*[three_d[None].repeat(1, 1, 1, 4)] * 3, c),
        wrapper("__scaled_dot_product_efficient_attention", "attn_bias"),
    ),
    (lambda: F.linear(d, c), wrapper("mm", "mat2")),
    (lambda: F.embedding(index, d), wrapper("_index_select", "index")),
    (lambda: torch.cat([d, c]), wrapper("cat", "tensors")),
    (lambda: torch.gather(d, 0, torch.zeros(2, 2, dtype=torch.long)), wrapper("gather", "index")),
    (lambda: F.nll_loss(d, index), wrapper("nll_loss_forward", "target")),
    (lambda: F.layer_norm(d, [2], c[0], c[1]), wrapper("_native_layer_norm", "weight")),
    (lambda: torch.vdot(d[0], c[0]), wrapper("_vdot", "other")),
    (
        lambda: c[index.cuda()],
        "indices should be either on cpu or on the same device as the indexed tensor (cpu)",
    ),
    (
        lambda: d[index.to("cuda:1")],
        "indices should be either on cpu or on the same device as the indexed tensor (cuda:0)",
    ),
    (lambda: d.clone().index_put_((index,), c), two()),
    (
        lambda: d.masked_fill(mask, 0.0),
        "expected self and mask to be on the same device, but got mask on cpu and self on cuda:0",
    ),
    (
        lambda: F.conv1d(three, three_d),
        wrapper("__slow_conv2d_forward", "weight", "cuda:0", "cpu"),
    ),
    (
        lambda: F.conv1d(three.expand(2, 2, 2), three_d),
        "Input type (torch.FloatTensor) and weight type "
        "(torch.cuda.FloatTensor) should be the same",
    ),
    (
        lambda: F.conv1d(three_d, three),
        "Input type (torch.cuda.FloatTensor) and weight type "
        "(torch.FloatTensor) should be the same",
    ),
]
TAKEN = [
    lambda: d + zero,
    lambda: zero * d,
    lambda: d + 1.5,
    lambda: torch.where(d > 0, d, zero),
    lambda: torch.where(d > 0, zero, zero),
    lambda: d[index],
    lambda: d[mask],
    lambda: d.clone().index_put_((index,), zero),
    lambda: d.clone().copy_(c),
    lambda: d.clone().copy_(e),
    lambda: c.to("cuda"),
    lambda: e.to("cuda:0"),
    lambda: d.masked_fill(mask.cuda(), zero),
    lambda: d.clone().fill_(zero),
    lambda: torch.pow(d, zero),
    lambda: zero - d,
    lambda: torch.bernoulli(d * 0.5),
    lambda: d.clone().bernoulli_(c * 0.5),
    lambda: F.conv1d(three_d, three_d),
]


@pytest.mark.parametrize(("call", "text"), REFUSED)
def test_what_is_refused(call, text) -> None:
    with pytest.raises(RuntimeError) as caught:
        call()
    assert str(caught.value).splitlines()[0] == text


@pytest.mark.parametrize("call", TAKEN)
def test_what_is_taken(call) -> None:
    assert call().device == torch.device("cuda:0")


def test_lists_on_several_devices() -> None:
    left, right = torch._foreach_add([d, e], 1.0)
    assert (left.device.index, right.device.index) == (0, 1)
