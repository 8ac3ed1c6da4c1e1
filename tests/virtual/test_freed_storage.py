"""Tensors whose storage was freed (`resize_(0)`, as FSDP does) or is too small: operators say so."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F
from torchport.virtual import compiled_asserts

pytestmark = pytest.mark.devices("cuda:2")

ILLEGAL = "CUDA error: an illegal memory access was encountered"
NOT_ALLOCATED = "The tensor has a non-zero number of elements, but its data is not allocated yet"
NO_VIEW = "out of bounds for storage of size"  # what the host says of a view, on any device


def freed(*sizes: int, to: int = 0) -> torch.Tensor:
    x = torch.ones(*sizes, device="cuda")
    x.untyped_storage().resize_(to)
    return x


# What the kernels of iterators do: they are given address 0.
OF_ITERATORS = {
    "add": lambda x: x + 1,
    "add of two": lambda x: torch.ones(4, 4, device="cuda") + x,
    "add_": lambda x: x.add_(1),
    "relu": F.relu,
    "where": lambda x: torch.where(torch.ones(4, 4, device="cuda") > 0, x, 0.0),
    "sum": lambda x: x.sum(),
    "fill_": lambda x: x.fill_(2),
    "zero_": lambda x: x.zero_(),
    "out=": lambda x: torch.mul(torch.ones(4, 4, device="cuda"), 2, out=x),
    "clone": lambda x: x.clone(),
    "to the host": lambda x: x.cpu(),
    "from the host": lambda x: x.copy_(torch.ones(4, 4)),
    "a view": lambda x: x.view(2, 8) * 2,
    "_foreach_add": lambda x: torch._foreach_add([torch.ones(4, 4, device="cuda"), x], 1.0),
}
# Those that ask the tensor for a pointer of its type.
OTHERS = {
    "matmul": lambda x: x @ x,
    "linear": lambda x: F.linear(torch.ones(2, 4, device="cuda"), x),
    "layer_norm": lambda x: F.layer_norm(x, [4]),
    "cat": lambda x: torch.cat([x, x]),
    "sort": lambda x: x.sort(),
    "embedding": lambda x: F.embedding(torch.tensor([1, 2], device="cuda"), x),
    "conv2d": lambda x: F.conv2d(torch.ones(1, 1, 8, 8, device="cuda"), x[None, None]),
    "cumsum": lambda x: x.cumsum(0),
    "dropout": lambda x: F.dropout(x, 0.5),
    "attention": lambda x: F.scaled_dot_product_attention(
        x[None, None], x[None, None], x[None, None]
    ),
    "normal_": lambda x: x.normal_(),
    "index": lambda x: x[torch.tensor([1, 2], device="cuda")],
}


@pytest.mark.parametrize("call", OF_ITERATORS.values(), ids=OF_ITERATORS)
def test_kernels_of_iterators(call) -> None:
    with pytest.raises(torch.AcceleratorError, match=ILLEGAL) as raised:
        call(freed(4, 4))
    assert "64 bytes" in str(raised.value) and "storage has 0" in str(raised.value)
    assert torch.ones(2, device="cuda").sum() == 2


@pytest.mark.parametrize("call", OTHERS.values(), ids=OTHERS)
def test_other_kernels(call) -> None:
    with pytest.raises(RuntimeError, match=f"{NOT_ALLOCATED}|{ILLEGAL}|{NO_VIEW}"):
        call(freed(4, 4))


@pytest.mark.parametrize(
    "call", [*OF_ITERATORS.values(), *OTHERS.values()], ids=[*OF_ITERATORS, *OTHERS]
)
def test_too_small(call) -> None:
    with pytest.raises(RuntimeError, match=f"{ILLEGAL}(.|\n)*storage has 60|{NO_VIEW} 60"):
        call(freed(4, 4, to=60))


def test_backward() -> None:
    x = torch.ones(4, 4, device="cuda", requires_grad=True)
    y = x * 2
    loss = (y * y).sum()
    y.untyped_storage().resize_(0)
    with pytest.raises(torch.AcceleratorError, match=ILLEGAL):
        loss.backward()


def test_kernels_of_inductor() -> None:
    ran = []
    compiled_asserts.call(ran.append, "kernel", 0, (), torch.ones(2, device="cuda")[:0])
    with pytest.raises(torch.AcceleratorError, match=ILLEGAL):
        compiled_asserts.call(ran.append, "kernel", 0, (), freed(4, 4))
    assert len(ran) == 1


def test_what_reads_no_memory() -> None:
    x = freed(4, 4)
    assert x.detach().view(16).shape == (16,)
    with pytest.raises(RuntimeError, match=NO_VIEW):
        x.t()
    assert torch.empty_like(x).shape == (4, 4) and torch.zeros_like(x).sum() == 0
    assert (x[:0] + 1).numel() == 0
    assert x.is_same_size(x) and x.data_ptr() == 0
    torch.mm(*[torch.ones(8, 8, device="cuda")] * 2, out=x)  # gives it other memory, and warns
    assert x.sum() == 512
    x = freed(4, 4)
    torch.add(torch.ones(8, 8, device="cuda"), 1, out=x)
    assert x.sum() == 128
    y = freed(4, 4)
    y.untyped_storage().resize_(64)
    assert y.fill_(3).sum() == 48
    z = freed(4, 4)
    z.data = torch.ones(2, device="cuda")
    assert z.sum() == 2
    w = freed(4, 4)
    assert w.resize_(5, 5).zero_().sum() == 0
    v = freed(4, 4)
    v.set_(torch.ones(3, device="cuda"))
    assert v.sum() == 3


def test_late(run_virtual) -> None:
    ended = run_virtual(
        "import torch\n"
        "x = torch.ones(4, device='cuda')\n"
        "x.untyped_storage().resize_(0)\n"
        "for call in (lambda: x + 1, torch.cuda.synchronize, lambda: torch.ones(2, device='cuda')):\n"
        "    try:\n"
        "        call()\n"
        "    except torch.AcceleratorError as error:\n"
        "        print(str(error).splitlines()[0], error.error_code)\n",
        TORCHPORT_ERRORS="device",
    )
    assert ended.stdout.splitlines() == [f"{ILLEGAL} 700"] * 3
    assert "torchport: it happened at" in ended.stderr and "aten::add" in ended.stderr


@pytest.mark.parametrize("kind", ["xpu", "npu"])
def test_other_devices(run_virtual, kind: str) -> None:
    ended = run_virtual(
        "import torch\n"
        f"x = torch.ones(4, device='{kind}')\n"
        "x.untyped_storage().resize_(0)\n"
        "try:\n"
        "    x + 1\n"
        "except RuntimeError as error:\n"
        "    print(error)\n",
        devices=f"{kind}:1",
    )
    assert "storage has 0" in ended.stdout
