"""Fused attention with dropout: the masks of CUDA's kernels, the same in both passes."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

pytestmark = pytest.mark.devices("cuda:2")

ops = torch.ops.aten
P = 0.25
SIZES = (2, 3, 70, 45)  # batches, heads, queries, keys: no multiples of the kernels' blocks


def philox(counter: list[int], key: list[int], rounds: int) -> list[int]:
    """Philox4x32, as its paper gives it."""
    low = 0xFFFFFFFF
    for _ in range(rounds):
        a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [
            (b >> 32) ^ counter[1] ^ key[0],
            b & low,
            (a >> 32) ^ counter[3] ^ key[1],
            a & low,
        ]
        key = [(key[0] + 0x9E3779B9) & low, (key[1] + 0xBB67AE85) & low]
    return counter


def kept_by_flash(seed: int, offset: int, sizes=SIZES, p: float = P) -> torch.Tensor:
    """One warp serves 16 queries and 32 keys, in the layout of the accumulators of m16n8k16."""
    batches, heads, queries, keys = sizes
    limit = math.floor((1 - p) * 255)
    kept = torch.zeros(sizes, dtype=torch.float64)
    for matrix in range(batches * heads):
        for query in range(queries):
            for key in range(keys):
                row, column = query % 16, key % 32
                thread = row % 8 * 4 + column % 8 // 2
                words = philox(
                    [offset + matrix * 32 + thread, 0, query // 16, key // 32], [seed, 0], 7
                )
                byte = column % 2 + row // 8 * 2
                drawn = words[column // 8] >> (8 * byte) & 0xFF
                kept[matrix // heads, matrix % heads, query, key] = drawn <= limit
    return kept


def kept_by_efficient(seed: int, offset: int, sizes=SIZES, p: float = P) -> torch.Tensor:
    """One number of cuRAND's first subsequence for each element, in their order."""
    numbers = []
    for block in range(offset // 4, (offset + math.prod(sizes)) // 4 + 1):
        numbers += philox([block, 0, 0, 0], [seed, 0], 10)
    numbers = numbers[offset % 4 :][: math.prod(sizes)]
    uniform = torch.tensor(numbers, dtype=torch.float32) * 2**-32 + 2**-33
    return (uniform > p).double().reshape(sizes)


def spelled_out(q, k, v, kept, *, causal=False, bias=None, p: float = P) -> torch.Tensor:
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if bias is not None:
        scores = scores + bias
    if causal:
        scores = scores.masked_fill(
            ~torch.ones(scores.shape[-2:], dtype=torch.bool).tril(), -math.inf
        )
    return scores.softmax(-1) * kept / (1 - p) @ v


def inputs(dtype, sizes=SIZES, head: int = 16, value: int | None = None):
    batches, heads, queries, keys = sizes
    generator = torch.Generator().manual_seed(1)
    return [
        torch.randn(batches, heads, steps, size, generator=generator).to(dtype)
        for steps, size in ((queries, head), (keys, head), (keys, value or head))
    ]


def compare(on_device, exact, got, want, dtype) -> None:
    grad = torch.randn(want.shape, generator=torch.Generator().manual_seed(2)).to(dtype)
    got.backward(grad.cuda())
    want.backward(grad.double())
    # The tolerances of test_transformers.py for values of size 1.
    tolerance = {torch.float32: 1e-5, torch.float16: 3e-3, torch.bfloat16: 3e-2}[dtype]
    pairs = [(got, want), *((a.grad, b.grad) for a, b in zip(on_device, exact, strict=True))]
    for mine, other in pairs:
        assert mine.dtype == dtype
        torch.testing.assert_close(mine.cpu().double(), other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("causal", [False, True])
def test_flash(dtype, causal) -> None:
    sizes = (2, 3, 45, 45) if causal else SIZES
    q, k, v = inputs(dtype, sizes)
    on_device = [x.cuda().requires_grad_() for x in (q, k, v)]
    exact = [x.double().requires_grad_() for x in (q, k, v)]
    torch.cuda.manual_seed(7)
    torch.rand(1, device="cuda")  # the offset is 4 now
    out, logarithms, _, _, _, _, state, unused, mask = ops._scaled_dot_product_flash_attention(
        *on_device, P, causal, True
    )
    assert state.tolist() == [7, 4] and state.dtype == torch.uint64 and state.is_cuda
    assert unused.shape == () and unused.dtype == torch.uint64 and unused.is_cuda
    assert torch.cuda.default_generators[0].get_offset() == 4 + 2 * 3 * 32
    kept = kept_by_flash(7, 4, sizes)
    want = spelled_out(*exact, kept, causal=causal)
    compare(on_device, exact, out, want, dtype)
    # The mask for tests has a sign for each element, and is rounded up to blocks.
    assert mask.shape == (2, 3, 128, 128) and mask.dtype == dtype
    signs = ~torch.signbit(mask[:, :, : sizes[2], : sizes[3]].cpu())
    assert torch.equal(signs.double(), kept)
    assert logarithms.shape == (2, 3, sizes[2]) and logarithms.dtype == torch.float32


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("value", [16, 24])
def test_efficient(dtype, causal, value) -> None:
    q, k, v = inputs(dtype, value=value)
    on_device = [x.cuda().requires_grad_() for x in (q, k, v)]
    exact = [x.double().requires_grad_() for x in (q, k, v)]
    torch.cuda.manual_seed(7)
    torch.rand(1, device="cuda")
    out, logarithms, seed, offset = ops._scaled_dot_product_efficient_attention(
        *on_device, None, True, P, causal
    )
    assert (seed.item(), offset.item()) == (7, 4)
    for scalar in (seed, offset):
        assert scalar.shape == () and scalar.dtype == torch.int64 and not scalar.is_cuda
    # One number for each element, rounded up to a multiple of 4.
    assert torch.cuda.default_generators[0].get_offset() == 4 + math.prod(SIZES)
    compare(
        on_device, exact, out, spelled_out(*exact, kept_by_efficient(7, 4), causal=causal), dtype
    )
    assert logarithms.shape == (2, 3, 96) and logarithms[..., 70:].isinf().all()


def test_the_mask_of_the_efficient_kernel_by_name() -> None:
    for offset in (0, 4, 5, 11):
        mask = torch.empty(SIZES, device="cuda")
        assert ops._fill_mem_eff_dropout_mask_(mask, P, 7, offset) is mask
        assert torch.equal((mask > P).cpu().double(), kept_by_efficient(7, offset))


def test_a_bias_and_its_gradient() -> None:
    q, k, v = inputs(torch.float32)
    bias = torch.randn(1, 3, 70, 45, generator=torch.Generator().manual_seed(3))
    on_device = [x.cuda().requires_grad_() for x in (q, k, v, bias)]
    exact = [x.double().requires_grad_() for x in (q, k, v, bias)]
    torch.cuda.manual_seed(7)
    with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
        out = torch.nn.functional.scaled_dot_product_attention(
            *on_device[:3], attn_mask=on_device[3], dropout_p=P
        )
    assert "Efficient" in out.grad_fn.name()
    want = spelled_out(*exact[:3], kept_by_efficient(7, 0), bias=exact[3])
    compare(on_device, exact, out, want, torch.float32)


@pytest.mark.parametrize("backend", [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION])
def test_a_seed_gives_one_result_on_each_device(backend) -> None:
    q, k, v = inputs(torch.float16)

    def run(device: str) -> torch.Tensor:
        torch.cuda.manual_seed_all(3)
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(
                *(x.to(device) for x in (q, k, v)), dropout_p=P
            ).cpu()

    first = run("cuda:0")
    assert torch.equal(run("cuda:0"), first) and torch.equal(run("cuda:1"), first)
    torch.cuda.manual_seed(4)
    with sdpa_kernel(backend):
        other = torch.nn.functional.scaled_dot_product_attention(
            *(x.cuda() for x in (q, k, v)), dropout_p=P
        )
    assert not torch.equal(other.cpu(), first)


@pytest.mark.parametrize("backend", [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION])
def test_a_graph_draws_at_each_replay(backend) -> None:
    q, k, v = (x.cuda().requires_grad_() for x in inputs(torch.float16))

    def step() -> tuple[torch.Tensor, ...]:
        with sdpa_kernel(backend):
            out = torch.nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=P)
        return out, *torch.autograd.grad(out.sum(), (q, k, v))

    step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()
    torch.cuda.manual_seed(9)
    eager = [[x.detach().clone() for x in step()] for _ in range(2)]
    assert not torch.equal(eager[0][0], eager[1][0])
    torch.cuda.manual_seed(9)
    for wanted in eager:
        graph.replay()
        for mine, other in zip(captured, wanted, strict=True):
            assert torch.equal(mine, other)


def test_a_graph_keeps_the_seed_on_the_device() -> None:
    q, k, v = (x.cuda() for x in inputs(torch.float16))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = ops._scaled_dot_product_efficient_attention(q, k, v, None, True, P)
    assert results[2].is_cuda and results[3].is_cuda
    torch.cuda.manual_seed(21)
    graph.replay()
    assert (results[2].item(), results[3].item()) == (21, 0)
    graph.replay()
    assert results[3].item() == math.prod(SIZES)


def test_a_backward_pass_may_take_a_seed_of_its_own() -> None:
    # Checkpoints and functional code keep the seed and call the backward operator by name.
    q, k, v = (x.cuda() for x in inputs(torch.float16))
    out, sums, _, _, most_q, most_k, state, unused, _ = ops._scaled_dot_product_flash_attention(
        q, k, v, P
    )
    grad = torch.ones_like(out)
    arguments = (grad, q, k, v, out, sums, None, None, most_q, most_k, P, False)
    first = ops._scaled_dot_product_flash_attention_backward(*arguments, state, unused)
    other = torch.tensor([1, 0], dtype=torch.uint64, device="cuda")
    second = ops._scaled_dot_product_flash_attention_backward(*arguments, other, unused)
    assert torch.equal(
        first[2], ops._scaled_dot_product_flash_attention_backward(*arguments, state, unused)[2]
    )
    assert not torch.equal(first[2], second[2])
