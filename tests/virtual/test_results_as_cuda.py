"""Numbers that a real device computes in another way than the CPU: zeros, half types, NaN."""

import math

import pytest
import torch
import torch.nn.functional as F

pytestmark = [pytest.mark.devices("cuda:1"), pytest.mark.usefixtures("seeded")]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_zeros_are_in_order(dtype: torch.dtype) -> None:
    a = torch.tensor([0.0, -0.0, -0.0, 1.0, math.nan, 2.0], device="cuda", dtype=dtype)
    b = torch.tensor([-0.0, 0.0, -0.0, -1.0, 3.0, math.nan], device="cuda", dtype=dtype)
    for largest in (torch.maximum, torch.fmax):
        assert largest(a, b).signbit().tolist()[:4] == [False, False, True, False]
    for smallest in (torch.minimum, torch.fmin):
        assert smallest(a, b).signbit().tolist()[:4] == [True, True, True, True]
    assert torch.maximum(a, b)[4:].isnan().all() and torch.minimum(a, b)[4:].isnan().all()
    assert torch.fmax(a, b)[4:].tolist() == torch.fmin(a, b)[4:].tolist() == [3, 2]


def test_extremes_take_all_shapes_and_types() -> None:
    x, y = torch.randn(3, 1, 5, device="cuda"), torch.randn(4, 1, device="cuda").double()
    for name in ("maximum", "minimum", "fmax", "fmin"):
        call = getattr(torch, name)
        found = call(x, y)
        assert found.dtype == torch.float64 and torch.equal(found.cpu(), call(x.cpu(), y.cpu()))
        out = torch.empty(0, device="cuda", dtype=torch.float64)
        assert torch.equal(call(x, y, out=out), found)
        assert torch.equal(call(x.T, x.T).cpu(), x.T.cpu())


def test_sums_of_half_types_are_rounded_one_by_one() -> None:
    x = torch.tensor([65504.0, 65504.0, -65504.0], device="cuda", dtype=torch.float16)
    assert x.cumsum(0).tolist() == [65504, math.inf, math.inf]
    rows = torch.full((600, 2), 0.1, device="cuda", dtype=torch.bfloat16)
    assert rows.cumsum(0)[-1].tolist() == [32, 32]  # 32 + 0.1 is 32
    assert rows.clone().cumsum_(0)[-1].tolist() == [32, 32]
    out = torch.empty(600, 2, device="cuda", dtype=torch.bfloat16)
    assert torch.equal(torch.cumsum(rows, 0, out=out), rows.cumsum(0))
    assert rows.cumsum(0, dtype=torch.float32)[-1, 0] > 60
    assert torch.full((2, 3), 3.0, device="cuda").half().cumprod(1).tolist() == [[3, 9, 27]] * 2
    for shape, dim in (((3, 70, 5), 1), ((4, 5000), 1), ((7,), 0), ((), 0), ((2, 0), 1)):
        x = torch.rand(shape, device="cuda").half() / 8
        wide = x.float().cumsum(dim)
        torch.testing.assert_close(x.cumsum(dim).float(), wide, rtol=1e-2, atol=1e-2)


def test_places_that_are_no_numbers_are_outside() -> None:
    image = torch.arange(1.0, 5.0, device="cuda").reshape(1, 1, 2, 2).requires_grad_()
    grid = torch.tensor([[math.nan, 0.0], [math.inf, -math.inf], [-1.0, -1.0]], device="cuda")
    grid = grid.reshape(1, 1, 3, 2).requires_grad_()
    for mode in ("bilinear", "nearest"):
        found = F.grid_sample(image, grid, mode=mode, align_corners=True)
        assert found.flatten().tolist() == [0, 0, 1]
    found = F.grid_sample(image, grid, padding_mode="border", align_corners=True)
    assert found.flatten().tolist() == [2, 2, 1]  # the first column, the middle row; the top right
    found = F.grid_sample(image, grid, align_corners=True)
    found.sum().backward()
    assert image.grad.flatten().tolist() == [1, 0, 0, 0]
    assert grid.grad.flatten()[:4].tolist() == [0, 0, 0, 0]
    solid = torch.ones(1, 1, 2, 2, 2, device="cuda")
    places = torch.full((1, 1, 1, 1, 3), math.nan, device="cuda")
    assert F.grid_sample(solid, places, align_corners=False).item() == 0


def test_ldexp() -> None:
    x = torch.tensor([1.0, 3.0], device="cuda", requires_grad=True)
    powers = torch.tensor([200, 2], device="cuda")
    found = torch.ldexp(x, powers)
    assert found.tolist() == [math.inf, 12]
    found[1].backward()
    assert x.grad.tolist() == [0, 4]
    assert x.detach().clone().ldexp_(powers).tolist() == [math.inf, 12]


def test_products_of_eight_bits_saturate(run_virtual) -> None:
    run_virtual(
        """
import torch

a = torch.full((16, 16), 20.0, device="cuda").to(torch.float8_e4m3fn)
b = torch.full((16, 16), -20.0, device="cuda").to(torch.float8_e4m3fn).t()
one = torch.ones((), device="cuda")
for dtype, scale, value in (
    (torch.float8_e4m3fn, 1, -448),
    (torch.float8_e5m2, 1, -6144),
    (torch.float8_e5m2, 64, -57344),
    (torch.bfloat16, 1, -6400),
):
    # cuBLASLt has no products of two e4m3 into e5m2.
    factor = b.to(torch.float8_e5m2) if dtype == torch.float8_e5m2 else b
    found = torch._scaled_mm(a, factor, one * scale, one, out_dtype=dtype)
    assert found.dtype == dtype and (found.float() == value).all(), found
""",
        devices="cuda:1,profile=h200",
    )


REDUCED = {
    "sum": lambda x: x.sum(dtype=torch.float32),
    "sum over rows": lambda x: x.sum(0, keepdim=True, dtype=torch.float32),
    "mean": lambda x: x.mean(1, dtype=torch.float32),
    "prod": lambda x: x.prod(dtype=torch.float32),
    "prod over rows": lambda x: x.prod(0, dtype=torch.float32),
    "vector_norm": lambda x: torch.linalg.vector_norm(x, dtype=torch.float32),
    "norm": lambda x: torch.norm(x, p=2, dtype=torch.float32),
    "norm of columns": lambda x: torch.linalg.vector_norm(x, 1, 0, dtype=torch.float32),
    "out": lambda x: torch.sum(x, 0, out=torch.empty(4, device=x.device)),
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", REDUCED)
def test_halves_are_reduced_to_floats_without_a_copy(name: str, dtype: torch.dtype) -> None:
    x = (torch.arange(12.0).reshape(3, 4) / 8).to(dtype)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        result = REDUCED[name](x.cuda())
    shown = [event.name for event in profile.events()]
    assert "aten::_to_copy" in shown  # .cuda()
    assert shown.count("aten::to") == 1
    assert result.dtype == torch.float32 and torch.equal(result.cpu(), REDUCED[name](x))


def test_averages_of_more_elements_than_the_kernel_counts() -> None:
    x = torch.zeros(1, device="cuda", dtype=torch.float16).expand(1, 1, 1, 2**31)
    with pytest.raises(RuntimeError, match=r"^integer out of range"):
        F.avg_pool2d(x, 1)
    with pytest.raises(RuntimeError, match=r"^integer out of range"):
        F.avg_pool2d(x[..., :-1], (2, 1), 1, (1, 0))


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_images_of_more_rows_than_a_launch_has_blocks(mode: str) -> None:
    def resized(x: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
        return F.interpolate(x, (rows, columns), mode=mode)

    x = torch.ones(1, 4, 2, 2, device="cuda", dtype=torch.uint8)
    with pytest.raises(
        RuntimeError, match=r"^input tensor has spatial dimension larger than the k"
    ):
        resized(x[:, :1], 65536, 512)
    with pytest.raises(
        RuntimeError, match=r"^input tensor has spatial dimension larger than the k"
    ):
        resized(x[:, :1].float(), 131071, 256)
    assert resized(x[:, :1], 65536, 256).shape == (1, 1, 65536, 256)
    last = x.contiguous(memory_format=torch.channels_last)
    assert resized(last, 65536, 512).shape == (1, 4, 65536, 512)


def test_what_is_empty_needs_no_generator_of_its_device() -> None:
    generator = torch.Generator("cuda")
    assert torch.randperm(0, generator=generator).device.type == "cpu"
    with pytest.raises(RuntimeError, match="generator"):
        torch.randperm(3, generator=generator)
