"""Floats that do not fit into an integer: a GPU takes the nearest integer, x86 the smallest one."""

from __future__ import annotations

import math

import pytest
import torch

pytestmark = pytest.mark.devices("cuda:2")

NUMBERS = [
    -math.inf,
    -1e30,
    -3e9,
    -40000.0,
    -300.0,
    -1.9,
    -0.0,
    1.9,
    300.0,
    40000.0,
    3e9,
    1e30,
    math.inf,
]
LOW, HIGH = -(1 << 31), (1 << 31) - 1
LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1
WANTED = {
    torch.int64: [
        LOWEST,
        LOWEST,
        -3 * 10**9,
        -40000,
        -300,
        -1,
        0,
        1,
        300,
        40000,
        3 * 10**9,
        HIGHEST,
        HIGHEST,
    ],
    torch.int32: [LOW, LOW, LOW, -40000, -300, -1, 0, 1, 300, 40000, HIGH, HIGH, HIGH],
    # The lowest bits of int32.
    torch.int16: [0, 0, 0, 25536, -300, -1, 0, 1, 300, -25536, -1, -1, -1],
    torch.int8: [0, 0, 0, -64, -44, -1, 0, 1, 44, 64, -1, -1, -1],
    # The lowest bits of int64.
    torch.uint8: [0, 0, 0, 192, 212, 255, 0, 1, 44, 64, 0, 255, 255],
    torch.uint16: [0] * 7 + [1, 300, 40000, 24064, 65535, 65535],
    torch.uint32: [0] * 7 + [1, 300, 40000, 3 * 10**9, (1 << 32) - 1, (1 << 32) - 1],
    torch.uint64: [0] * 7 + [1, 300, 40000, 3 * 10**9, (1 << 64) - 1, (1 << 64) - 1],
}


@pytest.mark.parametrize("dtype", WANTED, ids=str)
@pytest.mark.parametrize("source", [torch.float32, torch.float64], ids=str)
def test_numbers_out_of_range(source: torch.dtype, dtype: torch.dtype) -> None:
    x = torch.tensor(NUMBERS, dtype=source, device="cuda")
    assert x.to(dtype).tolist() == WANTED[dtype]
    # Not contiguous, and more than a vector of it.
    wide = x.repeat(50, 2).t()
    assert torch.equal(wide.to(dtype)[: len(NUMBERS), 7].cpu(), x.to(dtype).cpu())


def test_no_number() -> None:
    x = torch.tensor([math.nan, 1.0], device="cuda")
    assert [x.to(d)[0].item() for d in WANTED] == [LOWEST, 0, 0, 0, 0, 0, 0, 1 << 63]
    assert [x.double().to(d)[0].item() for d in WANTED] == [
        LOWEST,
        LOW,
        0,
        0,
        0,
        0,
        1 << 31,
        1 << 63,
    ]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float8_e5m2], ids=str)
def test_narrow_floats(dtype: torch.dtype) -> None:
    x = torch.tensor([math.inf, -math.inf, math.nan, 48.0], device="cuda").to(dtype)
    assert x.int().tolist() == [HIGH, LOW, 0, 48]


def test_complex_numbers_and_copies_into_views() -> None:
    x = torch.tensor([1e30 + 2j, -1e30 - 1j, 5.5 + 0j], device="cuda")
    assert x.conj().to(torch.int32).tolist() == [HIGH, LOW, 5]
    assert x.conj().imag.mul(1e30).to(torch.int32).tolist() == [LOW, HIGH, 0]
    target = torch.zeros(2, 6, dtype=torch.int32, device="cuda")
    target[:, ::2] = x.real
    assert target.tolist() == [[HIGH, 0, LOW, 0, 5, 0]] * 2
    target.copy_(torch.tensor(-1e30, device="cuda"))
    assert target.unique().tolist() == [LOW]


def test_where_copies_between_host_and_device_convert() -> None:
    x = torch.tensor([1e30, 2.5])
    assert torch.empty(2, dtype=torch.int32, device="cuda").copy_(x).tolist() == [LOW, 2]
    assert x.cuda().to("cpu", torch.int32).tolist() == [LOW, 2]
    assert x.to("cuda", torch.int32, non_blocking=True).tolist() == [HIGH, 2]
    assert x.to(torch.int32).tolist() == [LOW, 2]  # the host is as it was
    assert x.to("cuda:1").to("cuda:0", torch.int32).tolist() == [HIGH, 2]


def test_gradients_and_errors_are_those_of_copies() -> None:
    x = torch.tensor([1e30, 2.5], device="cuda", requires_grad=True)
    assert not x.int().requires_grad
    with pytest.raises(RuntimeError, match="must match"):
        torch.zeros(3, dtype=torch.int32, device="cuda").copy_(x)
    assert x.detach().to(torch.bool).tolist() == [True, True]


def test_integers_that_do_not_fit_keep_their_lowest_bits() -> None:
    numbers = torch.tensor([300, -129, 70000, (1 << 33) + 5, -1], device="cuda")
    wanted = {
        torch.int8: [44, 127, 112, 5, -1],
        torch.uint8: [44, 127, 112, 5, 255],
        torch.int16: [300, -129, 4464, 5, -1],
        torch.int32: [300, -129, 70000, 5, -1],
    }
    into = [torch.zeros(5, dtype=dtype, device="cuda") for dtype in wanted]
    torch._foreach_copy_(into, [numbers] * len(into))
    assert [t.tolist() for t in into] == list(wanted.values())
    for dtype, expected in wanted.items():
        same = [torch.zeros(5, dtype=dtype, device="cuda") for _ in range(2)]
        torch._foreach_copy_(same, [numbers, numbers])
        assert [t.tolist() for t in same] == [expected] * 2
        assert numbers.to(dtype).tolist() == expected


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.complex64])
def test_a_list_of_bytes_has_no_sign_on_the_way(dtype: torch.dtype) -> None:
    numbers = [-1.0, -256.0, -1e10, 0.5, 300.0, 1e10, float("inf"), float("-inf"), float("nan")]
    x = torch.tensor(numbers, device="cuda", dtype=dtype)
    listed = [torch.zeros(9, dtype=torch.uint8, device="cuda") for _ in range(2)]
    torch._foreach_copy_(listed, [x, x])
    assert [t.tolist() for t in listed] == [[0, 0, 0, 0, 44, 255, 255, 0, 0]] * 2
    assert x.to(torch.uint8).tolist()[:6] == [255, 0, 0, 0, 44, 0]  # by way of int64
    # Lists that the kernel does not take are copied one by one.
    torch._foreach_copy_(listed, [x, x.real.double() if x.is_complex() else x.to(torch.complex128)])
    assert listed[0].tolist()[0] == 255
