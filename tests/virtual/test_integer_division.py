"""Integers divided by zero: a GPU has no trap, and its division leaves all bits set."""

from __future__ import annotations

import pytest
import torch

pytestmark = pytest.mark.devices("cuda:1")

ALL_BITS = {torch.uint8: 255, torch.int8: -1, torch.int16: -1, torch.int32: -1}


@pytest.mark.parametrize("dtype", ALL_BITS)
@pytest.mark.parametrize("divide", [torch.fmod, torch.remainder])
def test_remainders_by_zero_have_all_bits(dtype: torch.dtype, divide) -> None:
    x = torch.arange(6, device="cuda").sub(0 if dtype == torch.uint8 else 3).to(dtype)
    assert divide(x, torch.zeros_like(x)).tolist() == [ALL_BITS[dtype]] * 6
    assert divide(x, 0).tolist() == [ALL_BITS[dtype]] * 6


@pytest.mark.parametrize("divide", [torch.fmod, torch.remainder])
def test_int64_divides_32_bits_where_both_fit(divide) -> None:
    x = torch.tensor([-5, 0, 7, 1 << 40], device="cuda")
    assert divide(x, 0).tolist() == [-1, 0xFFFFFFFF, 0xFFFFFFFF, -1]


def test_only_what_divides_by_zero_changes() -> None:
    x = torch.tensor([9, -9, 9, -9], dtype=torch.int32, device="cuda")
    y = torch.tensor([2, 2, 0, 0], dtype=torch.int32, device="cuda")
    assert torch.div(x, y, rounding_mode="trunc").tolist() == [4, -4, -1, -1]
    assert torch.div(x, y, rounding_mode="floor").tolist() == [4, -5, -1, -2]
    assert (x // y).tolist() == [4, -5, -1, -2]
    assert (x % y).tolist() == [1, 1, -1, -1]
    assert (7 % y).tolist() == [1, 1, -1, -1]


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.int64])
def test_the_smallest_integer_divided_by_minus_one_wraps_around(dtype: torch.dtype) -> None:
    smallest = torch.iinfo(dtype).min
    x = torch.tensor([smallest, 7, smallest], dtype=dtype, device="cuda")
    y = torch.tensor([-1, -1, 2], dtype=dtype, device="cuda")
    half = smallest // 2
    assert torch.div(x, y, rounding_mode="trunc").tolist() == [smallest, -7, half]
    assert (x // y).tolist() == [smallest, -7, half]
    assert (x % y).tolist() == [0, 0, 0]
    assert x.fmod(-1).tolist() == [0, 0, 0]


def test_in_place_out_and_broadcast() -> None:
    y = torch.tensor([[3], [0]], device="cuda")
    x = torch.tensor([[10, -10], [10, -10]], device="cuda")
    out = torch.empty(0, dtype=torch.int64, device="cuda")
    assert torch.remainder(x, y, out=out) is out
    assert out.tolist() == [[1, 2], [0xFFFFFFFF, -1]]
    assert x.fmod_(y) is x
    assert x.tolist() == [[1, -1], [0xFFFFFFFF, -1]]
    z = torch.tensor([4, 5], dtype=torch.int16, device="cuda")
    z //= 0
    assert z.tolist() == [-1, -1]


def test_the_host_still_raises_and_floats_divide_as_before() -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        torch.tensor([1]) // 0
    assert (torch.tensor([1], device="cuda") / 0).item() == float("inf")
    assert (torch.tensor([1.0], device="cuda") % 0).isnan().all()


def test_errors_are_those_of_the_operator() -> None:
    x = torch.arange(3, device="cuda")
    with pytest.raises(RuntimeError, match=r"size of tensor a \(3\) must match"):
        x // torch.zeros(2, dtype=torch.int64, device="cuda")
    with pytest.raises(RuntimeError, match="same device"):
        x % torch.zeros(3, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.fmod(x, x, out=torch.zeros(3, dtype=torch.bool, device="cuda"))
