"""Attention on nested tensors goes to CUDA's kernels for packed sequences."""

from __future__ import annotations

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention as attend

pytestmark = [
    pytest.mark.devices("cuda:1"),
    pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors"),
]

HEADS, SIZE = 4, 16
QUERIES, KEYS = [5, 9, 1, 7], [3, 9, 4, 2]
FLASH, EFFICIENT = SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION


def sequences(lengths: list[int], dtype: torch.dtype, seed: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(n, HEADS, SIZE, generator=generator).to(dtype) for n in lengths]


def nested(parts: list[torch.Tensor], layout: torch.layout, train: bool) -> torch.Tensor:
    return torch.nested.nested_tensor(
        [part.cuda() for part in parts], layout=layout, requires_grad=train
    )


def one_by_one(*inputs: list[torch.Tensor], **words) -> list[torch.Tensor]:
    return [
        attend(*(x.transpose(0, 1) for x in parts), **words).transpose(0, 1)
        for parts in zip(*inputs, strict=True)
    ]


def close(mine, others: list[torch.Tensor], dtype: torch.dtype) -> None:
    tolerance = 1e-5 if dtype == torch.float32 else 5e-3
    for a, b in zip(mine.unbind(), others, strict=True):
        torch.testing.assert_close(a.cpu().double(), b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
@pytest.mark.parametrize(
    ("backend", "dtype"),
    [(FLASH, torch.float16), (EFFICIENT, torch.float32), (EFFICIENT, torch.float16)],
)
@pytest.mark.parametrize("causal", [False, True])
def test_values_and_gradients(layout, backend, dtype, causal) -> None:
    # The efficient kernel does not train on nested tensors of the strided layout.
    train = not (layout is torch.strided and backend is EFFICIENT)
    lengths = (QUERIES, QUERIES, QUERIES) if causal else (QUERIES, KEYS, KEYS)
    parts = [sequences(n, dtype, seed) for seed, n in enumerate(lengths)]
    on_device = [nested(x, layout, train) for x in parts]
    exact = [[x.double().requires_grad_() for x in each] for each in parts]
    with sdpa_kernel(backend):
        out = attend(*(x.transpose(1, 2) for x in on_device), is_causal=causal).transpose(1, 2)
    want = one_by_one(*exact, is_causal=causal)
    assert out.is_nested and out.is_cuda and out.dtype == dtype
    close(out, want, dtype)
    if not train:
        return
    grads = sequences(QUERIES, dtype, 9)
    if layout is torch.jagged:
        (out.values() * torch.cat(grads).cuda()).sum().backward()
    else:
        out.backward(nested(grads, layout, False))
    for result, grad in zip(want, grads, strict=True):
        result.backward(grad.double())
    for mine, others in zip(on_device, exact, strict=True):
        close(mine.grad, [x.grad for x in others], dtype)


def test_the_choice_of_a_device() -> None:
    def inputs(dtype: torch.dtype) -> list[torch.Tensor]:
        return [
            nested(sequences(n, dtype, 0), torch.strided, False).transpose(1, 2)
            for n in (QUERIES, KEYS, KEYS)
        ]

    assert torch._fused_sdp_choice(*inputs(torch.float32)) == EFFICIENT.value
    q, k, v = inputs(torch.float16)
    assert torch._fused_sdp_choice(q, k, v) == FLASH.value
    empty = [*QUERIES[:-1], 0]
    q = nested(sequences(empty, torch.float16, 0), torch.strided, False).transpose(1, 2)
    with (
        sdpa_kernel([FLASH, EFFICIENT]),
        pytest.warns(UserWarning, match="Fused kernels do not support seq_len == 0, query"),
        pytest.raises(RuntimeError, match="No available kernel"),
    ):
        attend(q, k, v)


def test_broadcasting() -> None:
    query = torch.randn(1, 1, 6, SIZE, generator=torch.Generator().manual_seed(5)).half()
    keys, values = (sequences(KEYS, torch.float16, seed) for seed in (1, 2))
    k, v = (nested(x, torch.strided, False).transpose(1, 2) for x in (keys, values))
    with sdpa_kernel(FLASH):
        out = attend(query.cuda(), k, v)
    for mine, key, value in zip(out.unbind(), keys, values, strict=True):
        want = attend(
            query[0].double().expand(HEADS, 6, SIZE),
            key.double().transpose(0, 1),
            value.double().transpose(0, 1),
        )
        torch.testing.assert_close(mine.cpu().double(), want, rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
def test_dropout_repeats(layout) -> None:
    parts = [sequences(QUERIES, torch.float16, seed) for seed in range(3)]

    def run(seed: int) -> list[torch.Tensor]:
        torch.cuda.manual_seed(seed)
        with sdpa_kernel(FLASH):
            out = attend(*(nested(x, layout, False).transpose(1, 2) for x in parts), dropout_p=0.5)
        return [x.cpu() for x in out.unbind()]

    first = run(1)
    # A block of 32 numbers for each head of each sequence.
    assert torch.cuda.default_generators[0].get_offset() == len(QUERIES) * HEADS * 32
    assert all(map(torch.equal, first, run(1)))
    assert not all(map(torch.equal, first, run(2)))
