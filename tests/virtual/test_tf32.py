"""Products and convolutions in TF32. The bits were seen on an H100 (tests/fidelity, numbers/tf32)."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

pytestmark = pytest.mark.devices("cuda:1", tf32="on")

# Eighths of the last bit that TF32 keeps, what is larger than any of its numbers, and denormal numbers.
ROUNDED = {
    0x3F800000: 0x3F800000,
    0x3F801000: 0x3F800000,  # a tie goes to the even one below
    0x3F801400: 0x3F802000,
    0x3F802C00: 0x3F802000,
    0x3F803000: 0x3F804000,  # and above
    0x3F800FFF: 0x3F800000,
    0x3FFFFFFF: 0x40000000,
    0x7F7FFFFF: 0x7F800000,
    0x006CE3EE: 0x006CE000,
    0x000116C2: 0x00012000,
    0x00000001: 0x00000000,
}


@pytest.fixture
def products():
    torch.backends.cuda.matmul.allow_tf32 = True
    yield
    torch.backends.cuda.matmul.allow_tf32 = False


@pytest.mark.usefixtures("products")
@pytest.mark.parametrize("sign", [1, -1])
def test_operands_are_rounded_to_nearest(sign: int) -> None:
    finite = [value for value in ROUNDED if ROUNDED[value] != 0x7F800000]
    expected = floats_of([ROUNDED[value] for value in finite]) * sign
    assert torch.equal(alone(floats_of(finite) * sign), expected)
    largest = torch.full((2, 2), 3.4028234e38 * sign, device="cuda")
    assert (largest @ torch.ones(2, 2, device="cuda")).isinf().all()


def floats_of(bits: list[int]) -> torch.Tensor:
    return torch.tensor(bits, dtype=torch.int32).view(torch.float32)


def alone(values: torch.Tensor) -> torch.Tensor:
    """Each value times 1, in a product of matrices."""
    product = torch.diag(values.cuda()) @ torch.eye(len(values), device="cuda")
    return product.diagonal().cpu()


def test_products_need_the_programs_leave() -> None:
    a = torch.full((4, 4), 1 + 2**-12, device="cuda")
    assert (a @ a)[0, 0] != 4
    torch.set_float32_matmul_precision("high")
    try:
        assert (a @ a)[0, 0] == 4
        assert torch.addmm(a, a, a)[0, 0] == 5 + 2**-12  # what is added keeps its bits
        assert (a.double() @ a.double())[0, 0] != 4
        assert (a[:1] @ a)[0, 0] != 4  # a row alone is a product with a vector
        assert (a @ a[0])[0] != 4
        assert torch.bmm(a.expand(2, 4, 4), a.expand(2, 4, 4))[0, 0, 0] != 4
        assert torch.bmm(a[None], a[None])[0, 0, 0] == 4
        many = torch.full((2, 64, 64), 1 + 2**-12, device="cuda")
        assert torch.bmm(many, many)[0, 0, 0] == 64
    finally:
        torch.set_float32_matmul_precision("highest")


def convolved(channels: int, size: int, groups: int = 1):
    x = torch.full((2, channels, 8, 8), 1 + 2**-12, device="cuda", requires_grad=True)
    w = torch.full((64, channels // groups, size, size), 1.0, device="cuda", requires_grad=True)
    return x, w, F.conv2d(x, w, groups=groups)


def test_convolutions_use_it_by_default() -> None:
    assert convolved(64, 3)[2][0, 0, 0, 0] == 9 * 64
    assert convolved(64, 1)[2][0, 0, 0, 0] == 64
    assert convolved(3, 3)[2][0, 0, 0, 0] != 27  # too few channels for tensor cores
    assert convolved(64, 3, groups=64)[2][0, 0, 0, 0] != 9  # depthwise: a kernel of PyTorch's own
    torch.backends.cudnn.allow_tf32 = False
    try:
        assert convolved(64, 3)[2][0, 0, 0, 0] != 9 * 64
    finally:
        torch.backends.cudnn.allow_tf32 = True


def test_gradients_of_a_convolution() -> None:
    x, w, out = convolved(64, 1)
    b = torch.zeros(64, device="cuda", requires_grad=True)
    out = F.conv2d(x, w, b)
    grad = torch.full_like(out, 1 + 2**-12)
    of_x, of_w, of_b = torch.autograd.grad(out, (x, w, b), grad)
    assert of_x[0, 0, 0, 0] == 64
    assert of_w[0, 0, 0, 0] == 128
    assert of_b[0] == 128 * (1 + 2**-12)  # nothing is multiplied
    assert of_x.stride() == x.stride()


def test_layout_of_operands_does_not_matter(products) -> None:
    torch.manual_seed(0)
    a, b = torch.randn(33, 17, device="cuda"), torch.randn(17, 9, device="cuda")
    whole = a @ b
    assert torch.equal(a.t().contiguous().t() @ b, whole)
    wide = torch.zeros(33, 40, device="cuda")
    wide[:, ::2][:, :17] = a
    assert torch.equal(wide[:, ::2][:, :17] @ b, whole)
    assert torch.equal(a, a.clone())  # operands themselves are unchanged
    out = torch.empty(33, 9, device="cuda")
    assert torch.mm(a, b, out=out) is out and torch.equal(out, whole)


def test_error_is_that_of_ten_bits(products) -> None:
    torch.manual_seed(0)
    a, b = torch.randn(256, 256), torch.randn(256, 256)
    exact = a.double() @ b.double()
    lost = ((a.cuda() @ b.cuda()).cpu().double() - exact).abs().max() / exact.abs().max()
    assert 2**-14 < lost < 2**-10
