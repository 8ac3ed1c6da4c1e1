"""Attention in compiled programs: FlexAttention, and nested tensors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention.flex_attention import (
    BlockMask,
    create_block_mask,
    flex_attention,
)

pytestmark = [
    pytest.mark.devices("cuda:1", timeout=400),
    pytest.mark.usefixtures("seeded"),
    pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile"),
]


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path_factory.mktemp("inductor")))
        yield


def tensors(steps: int, width: int = 16, **of: object) -> list[torch.Tensor]:
    """Queries of four heads, keys and values of two."""
    return [torch.randn(2, h, steps, width, device="cuda", **of) for h in (4, 2, 2)]


@pytest.mark.long
def test_flex_attention_trains() -> None:
    bias = torch.randn(4, device="cuda", requires_grad=True)
    slopes = torch.rand(4, device="cuda")
    mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 150, 150, device="cuda")

    def score(s, b, h, q, k):
        return s + bias[h] * slopes[h] * (k - q)

    def call(q, k, v):
        out, lse = flex_attention(
            q, k, v, score_mod=score, block_mask=mask, enable_gqa=True, return_lse=True
        )
        return (out * out).sum() + lse.sum()

    inputs = tensors(150, requires_grad=True)
    want = torch.autograd.grad(call(*inputs), [*inputs, bias])
    got = torch.autograd.grad(torch.compile(call, fullgraph=True)(*inputs), [*inputs, bias])
    for mine, other in zip(got, want, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-4)


@pytest.mark.long
def test_flex_attention_leaves_out_blocks_and_refuses_small_heads() -> None:
    # Only the blocks on the diagonal, the second of them whole; no function says so.
    counts, places = torch.tensor([[[1, 0]]]), torch.tensor([[[[0, 1], [1, 0]]]])
    whole = torch.tensor([[[0, 1]]]), torch.tensor([[[[0, 1], [1, 0]]]])
    blocks = BlockMask.from_kv_blocks(
        *(t.int().cuda() for t in (counts, places, *whole)), seq_lengths=(256, 256)
    )
    inputs = [t.bfloat16() for t in tensors(256)]
    call = torch.compile(lambda *x: flex_attention(*x, block_mask=blocks, enable_gqa=True))
    allowed = torch.block_diag(*[torch.ones(128, 128)] * 2).bool().cuda()
    want = F.scaled_dot_product_attention(*inputs, attn_mask=allowed, enable_gqa=True)
    torch.testing.assert_close(call(*inputs), want, rtol=2e-2, atol=2e-2)

    with pytest.raises(Exception, match="must be at least 16 but got E=8 and Ev=8"):
        torch.compile(lambda *x: flex_attention(*x, enable_gqa=True))(*tensors(8, width=8))


def test_a_tensor_indexed_twice_has_no_gradient() -> None:
    # As the kernels of a device, which could not add both up.
    bias = torch.randn(32, device="cuda", requires_grad=True)
    score = lambda s, b, h, q, k: s + bias[q] + bias[k]  # noqa: E731
    call = torch.compile(lambda *x: flex_attention(*x, score_mod=score, enable_gqa=True))
    with pytest.raises(Exception, match="Using multiple indexing operations on the same tensor"):
        call(*tensors(32)).sum().backward()


def test_nested_tensors() -> None:
    def call(x):
        padded = torch.nested.to_padded_tensor(x * 2, 0.0).sin()
        back = torch.nested.nested_tensor_from_jagged(
            torch.ops.aten._padded_dense_to_jagged_forward(padded, [x.offsets()], len(x.values())),
            x.offsets(),
        )
        heads = x.unflatten(-1, (2, 8)).transpose(1, 2)
        # In float32 another kernel is chosen than in bfloat16.
        return back, F.scaled_dot_product_attention(heads, heads, heads).transpose(1, 2)

    x = torch.nested.nested_tensor(
        [torch.randn(n, 16) for n in (3, 5, 2)], layout=torch.jagged, device="cuda"
    )
    for got, want in zip(torch.compile(call)(x), call(x), strict=True):
        torch.testing.assert_close(got.values(), want.values())
