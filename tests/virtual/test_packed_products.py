"""Products with packed and narrow numbers: what CUDA computes for any size, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

pytestmark = [pytest.mark.devices("cuda:1"), pytest.mark.usefixtures("seeded")]


@pytest.mark.parametrize("sizes", [(3, 3, 3), (1, 7, 5), (4, 16, 8), (33, 65, 17)], ids=str)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
def test_int8_weights_of_any_size(dtype: torch.dtype, sizes: tuple[int, int, int]) -> None:
    m, k, n = sizes
    x = torch.randn(m, k, device="cuda").to(dtype)
    weight = torch.randint(-128, 128, (n, k), dtype=torch.int8, device="cuda")
    scales = torch.rand(n, device="cuda").to(dtype)
    got = torch._weight_int8pack_mm(x, weight, scales)
    assert got.dtype == dtype and got.is_cuda
    torch.testing.assert_close(got, ((x.float() @ weight.t().float()) * scales.float()).to(dtype))


def test_what_the_product_with_int8_weights_refuses() -> None:
    x, weight, scales = (
        torch.ones(2, 3, device="cuda"),
        torch.ones(4, 3, dtype=torch.int8, device="cuda"),
        torch.ones(4, device="cuda"),
    )
    cases = {
        "K dimension mismatch": (x[:, :2], weight, scales),
        "Output dim mismatch": (x, weight, scales[:3]),
        "x must be 2D": (x[0], weight, scales),
        "Expected all tensors to be on the same device": (x, weight.cpu(), scales),
        "expected scalar type Char but found Float": (x, weight.float(), scales),
    }
    for words, arguments in cases.items():
        with pytest.raises(RuntimeError, match=words):
            torch._weight_int8pack_mm(*arguments)


@pytest.mark.parametrize("inner", [2, 4, 8])
@pytest.mark.parametrize("group", [32, 128])
def test_int4_weights(inner: int, group: int) -> None:
    m, k, n = 5, 256, 24
    numbers = torch.randint(0, 16, (n, k), device="cuda")
    scales = torch.rand(k // group, n, 2, device="cuda").bfloat16()
    packed = torch._convert_weight_to_int4pack(
        (numbers[:, ::2] << 4 | numbers[:, 1::2]).to(torch.uint8), inner
    )
    assert packed.shape == (n // 8, k // (16 * inner), 32, inner // 2)
    assert packed.dtype == torch.int32
    x = torch.randn(m, k, device="cuda").bfloat16()
    each = scales.repeat_interleave(group, 0).transpose(0, 1).float()
    weight = ((numbers - 8) * each[..., 0] + each[..., 1]).bfloat16()
    torch.testing.assert_close(torch._weight_int4pack_mm(x, packed, group, scales), x @ weight.t())
    with pytest.raises(RuntimeError, match=r"Expected A.dtype\(\) == at::kBFloat16 to be true"):
        torch._weight_int4pack_mm(x.float(), packed, group, scales)


def test_the_layout_of_int4_weights() -> None:
    # Lane 4 * row + column % 8 / 2 of a tile; eight numbers, by halves of bytes.
    numbers = torch.zeros(8, 32, dtype=torch.int64, device="cuda")
    places = {(0, 0): (0, 0), (0, 1): (0, 16), (0, 8): (0, 4), (0, 17): (0, 24), (3, 6): (15, 0)}
    for place, (lane, bit) in places.items():
        one = numbers.clone()
        one[place] = 5
        bytes_ = (one[:, ::2] << 4 | one[:, 1::2]).to(torch.uint8)
        packed = torch._convert_weight_to_int4pack(bytes_, 2)
        assert packed.nonzero().tolist() == [[0, 0, lane, 0]]
        assert packed.max().item() == 5 << bit


def test_the_sizes_of_an_int8_product() -> None:
    def ones(rows: int, columns: int) -> torch.Tensor:
        return torch.ones(rows, columns, dtype=torch.int8, device="cuda")

    assert torch._int_mm(ones(17, 8), ones(8, 16)).eq(8).all()
    out = torch.empty(17, 8, dtype=torch.int32, device="cuda")
    assert torch._int_mm(ones(17, 8), ones(8, 8), out=out).eq(8).all()
    for words, a, b in (
        ("self.size.0. needs to be greater than 16, but got 16", ones(16, 8), ones(8, 8)),
        (
            "self.size.1. needs to be greater than 0 and a multiple of 8, but got 9",
            ones(17, 9),
            ones(9, 8),
        ),
        (
            "mat2.size.1. needs to be greater than 0 and a multiple of 8, but got 7",
            ones(17, 8),
            ones(8, 7),
        ),
        ("self.size.1. needs to match mat2.size.0. but got 8 and 16", ones(17, 8), ones(16, 8)),
    ):
        with pytest.raises(RuntimeError, match=words):
            torch._int_mm(a, b)


F8: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "addmm_cuda": lambda t: t @ t,
    "baddbmm_cuda": lambda t: t[None] @ t[None],
    "addmv_impl_cuda": lambda t: t @ t[0],
    "dot": lambda t: t[0] @ t[0],
}


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
@pytest.mark.parametrize("kernel", F8)
def test_plain_products_of_float8_are_refused(kernel: str, dtype: torch.dtype) -> None:
    t = torch.ones(16, 16).to(dtype)
    assert (t @ t).dtype == dtype  # the CPU computes that
    words = f"\"{kernel}\" not implemented for 'Float8_{str(dtype).rpartition('_')[2]}'"
    with pytest.raises(NotImplementedError, match=words):
        F8[kernel](t.cuda())


@pytest.mark.parametrize(
    ("dtype", "name"), [(torch.bool, "Bool"), (torch.complex64, "ComplexFloat")]
)
def test_what_cannot_be_permuted(dtype: torch.dtype, name: str) -> None:
    with pytest.raises(NotImplementedError, match=f"not implemented for '{name}'"):
        torch.randperm(3, dtype=dtype, device="cuda")


def test_what_cuda_has_no_kernel_for() -> None:
    x = torch.ones(3, 3, device="cuda")
    for call in (
        lambda: x.to_mkldnn(),
        lambda: torch._VF._add_relu(x, x),
        lambda: torch.sparse.spdiags(x[:2], torch.tensor([0, 1], device="cuda"), (3, 3)),
        lambda: torch._convert_weight_to_int4pack_for_cpu(x.int(), 1),
    ):
        with pytest.raises(
            NotImplementedError, match=r"Could not run 'aten::.*' with arguments from the 'CUDA'"
        ):
            call()
