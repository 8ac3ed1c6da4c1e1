"""What results look like on a real device: their strides, types, and what is saved for a gradient.

Where the answer is not in the sources, it is that of an NVIDIA H200 with torch 2.11.
"""

import copy

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F

pytestmark = [pytest.mark.devices("cuda:1"), pytest.mark.usefixtures("seeded")]


def last(*sizes: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    format = torch.channels_last if len(sizes) == 4 else torch.channels_last_3d
    return torch.randn(sizes, device="cuda").to(dtype).contiguous(memory_format=format)


IMAGE, SOLID = (2, 8, 6, 4), (2, 4, 3, 4, 5)
CONTIGUOUS = {
    "pixel_shuffle": lambda: F.pixel_shuffle(last(*IMAGE), 2),
    "pixel_unshuffle": lambda: F.pixel_unshuffle(last(*IMAGE), 2),
    "channel_shuffle": lambda: F.channel_shuffle(last(*IMAGE), 2),
    "reflection_pad2d": lambda: F.pad(last(*IMAGE), (1,) * 4, "reflect"),
    "reflection_pad3d": lambda: F.pad(last(*SOLID), (1,) * 6, "reflect"),
    "replication_pad2d": lambda: F.pad(last(*IMAGE), (1,) * 4, "replicate"),
    "replication_pad3d": lambda: F.pad(last(*SOLID), (1,) * 6, "replicate"),
    "reflection_pad2d_backward": lambda: torch.ops.aten.reflection_pad2d_backward(
        last(2, 8, 8, 6), last(*IMAGE), [1] * 4
    ),
    "replication_pad2d_backward": lambda: torch.ops.aten.replication_pad2d_backward(
        last(2, 8, 8, 6), last(*IMAGE), [1] * 4
    ),
    "max_unpool2d": lambda: F.max_unpool2d(*F.max_pool2d(last(*IMAGE), 2, return_indices=True), 2),
    "roll": lambda: last(*IMAGE).roll(1, 2),
    "roll of two": lambda: last(*IMAGE).roll((1, 2), (2, 1)),
    "eig": lambda: torch.linalg.eig(torch.randn(3, 4, 4, device="cuda"))[1],
    "eig of nothing": lambda: torch.linalg.eig(torch.randn(0, 4, 4, device="cuda"))[1],
    "svd": lambda: torch.linalg.svd(torch.randn(3, 4, 5, device="cuda"))[2],
}


@pytest.mark.parametrize("name", CONTIGUOUS)
def test_results_are_contiguous(name: str) -> None:
    result = CONTIGUOUS[name]()
    plain = torch.empty(result.shape, device="cuda")
    assert result.stride() == plain.stride()


def test_values_are_those_of_the_cpu() -> None:
    x = last(*IMAGE)
    for call in (
        lambda t: F.pixel_shuffle(t, 2),
        lambda t: F.channel_shuffle(t, 4),
        lambda t: t.roll((1, -2, 7), (0, 3, 1)),
        lambda t: t.roll(5),
        lambda t: F.pad(t, (1, 2, 0, 1), "reflect"),
        lambda t: torch.fft.rfftn(t, dim=(0, 1, 2)),
        lambda t: torch.fft.fftn(t),
        lambda t: torch.fft.hfft2(t.to(torch.complex64)),
        lambda t: torch.fft.irfftn(t, dim=(0, 1, 2)),
    ):
        torch.testing.assert_close(call(x).cpu(), call(x.cpu()))


def test_a_view_in_channel_shuffle_is_refused() -> None:
    x = torch.randn(2, 8, 6, 4, device="cuda").transpose(2, 3)
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        F.channel_shuffle(x, 2)


def test_indices_lie_side_by_side() -> None:
    x = torch.tensor([[1, 0], [2, 3]], device="cuda")
    assert x.nonzero().stride() == (1, 3) and torch.argwhere(x).stride() == (1, 3)
    assert torch.zeros(3, device="cuda").nonzero().stride() == (1, 1)
    number = torch.tensor(1.0, device="cuda")
    assert torch.nonzero_static(number, size=3).stride() == (1, 3)


def test_transforms_put_their_dimensions_last() -> None:
    x = torch.randn(5, 6, 7, device="cuda")
    assert torch.fft.rfftn(x).stride() == (6, 1, 30)
    assert torch.fft.rfft(x, dim=0).stride() == (1, 21, 3)
    assert torch.fft.fft(x.to(torch.complex64), dim=1).stride() == (42, 1, 6)
    assert torch.fft.irfft(x.to(torch.complex64), dim=1).stride() == (70, 1, 10)


def test_an_expanded_gradient_of_another_type_gives_no_layout() -> None:
    x = torch.randn(4, 6, device="cuda", dtype=torch.complex64, requires_grad=True)
    (gradient,) = torch.autograd.grad(x.T.abs().sum(), x)
    assert gradient.stride() == (6, 1)
    ones = torch.ones((), device="cuda").expand(6, 4)
    assert torch.mul(ones, x.detach().T).stride() == (1, 6)


def test_rms_norm_is_one_kernel() -> None:
    layer = nn.RMSNorm(12, device="cuda", dtype=torch.float16)
    nn.init.uniform_(layer.weight)
    x = torch.randn(3, 5, 12, device="cuda", dtype=torch.float16, requires_grad=True)
    before = torch.cuda.memory_allocated()
    found = layer(x)
    assert type(found.grad_fn).__name__ == "FusedRmsNormBackward0"
    assert torch.cuda.memory_allocated() - before == 1024
    host, y = nn.RMSNorm(12), x.detach().cpu().float().requires_grad_()
    host.weight.data = layer.weight.detach().cpu().float()
    found.square().sum().backward()
    host(y).square().sum().backward()
    close = {"rtol": 4e-3, "atol": 4e-3}
    torch.testing.assert_close(found.cpu().float(), host(y), **close)
    torch.testing.assert_close(x.grad.cpu().float(), y.grad, **close)
    torch.testing.assert_close(layer.weight.grad.cpu().float(), host.weight.grad, **close)
    twice = torch.randn(2, 3, device="cuda", dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda t: F.rms_norm(t, (3,)), twice)


def test_statistics_of_half_types_are_float32() -> None:
    x = torch.randn(64, 32, device="cuda", dtype=torch.bfloat16)
    ones = torch.ones(32, device="cuda", dtype=torch.bfloat16)
    _, mean, inverse = torch.native_layer_norm(x, (32,), ones, ones, 1e-5)
    assert mean.dtype == inverse.dtype == torch.float32
    wide = x.float().requires_grad_()
    layer = nn.LayerNorm(32, device="cuda")
    layer(wide).pow(3).sum().backward()
    half = nn.LayerNorm(32, device="cuda", dtype=torch.bfloat16)
    narrow = x.clone().requires_grad_()
    half(narrow).pow(3).sum().backward()
    torch.testing.assert_close(narrow.grad.float(), wide.grad, rtol=0.05, atol=0.05)
    assert narrow.grad.dtype == half.weight.grad.dtype == torch.bfloat16


def test_statistics_of_batches_are_float32_and_those_of_the_layer() -> None:
    x = torch.randn(16, 5, 4, device="cuda", dtype=torch.float16)
    mean, variance = torch.zeros(5, device="cuda"), torch.ones(5, device="cuda")
    _, saved, inverse = torch.native_batch_norm(x, None, None, mean, variance, True, 0.5, 1e-5)
    assert saved.dtype == inverse.dtype == torch.float32
    torch.testing.assert_close(saved, x.float().mean((0, 2)))
    torch.testing.assert_close(mean, saved / 2)
    for dtype in (torch.float16, torch.float32):
        _, saved, inverse = torch.native_batch_norm(
            x.to(dtype), None, None, mean, variance, False, 0.5, 1e-5
        )
        assert torch.equal(saved, mean)
        torch.testing.assert_close(inverse, (variance + 1e-5).rsqrt())
    layer = nn.BatchNorm1d(5, device="cuda", dtype=torch.float16)
    layer(x).sum().backward()
    assert layer.weight.grad.dtype == torch.float16 and layer.running_mean.abs().sum() > 0
    wide = nn.BatchNorm1d(5, device="cuda")
    wide(x.float())
    torch.testing.assert_close(layer.running_var.float(), wide.running_var, rtol=2e-3, atol=2e-3)


def test_gradients_of_batches_have_the_noise_of_the_type() -> None:
    """A warp's lanes exchange rounded sums, so that what is 0 is not: the numbers of an H200."""
    numbers = (torch.arange(4 * 8 * 10 * 12) * 7919 % 1009).double() / 1009 - 0.5
    expected = {
        torch.bfloat16: [-0.204102, -0.550781, -0.808594, 0.152344, 0.259766, -0.455078],
        torch.float16: [0.0753784, 0.0357361, 0.0318909, -0.0456848, -0.0686035, 0.0963135],
    }
    for dtype, weights in expected.items():
        x = numbers.reshape(4, 8, 10, 12).to("cuda", dtype).requires_grad_()
        layer = nn.BatchNorm2d(8, track_running_stats=False, device="cuda", dtype=dtype)
        layer(x).sum().backward()
        found = layer.weight.grad[[0, 1, 2, 4, 5, 7]].tolist()
        assert found == pytest.approx(weights, rel=1e-5)
        assert layer.bias.grad.tolist() == [480] * 8
        # Sums of float32: of channels_last, and of cuDNN.
        ordered = x.detach().to(memory_format=torch.channels_last)
        layer.zero_grad()
        y = layer(ordered)
        y.backward(torch.ones_like(y))
        assert layer.weight.grad.abs().max().item() < 1e-3
    x = numbers.reshape(4, 8, 10, 12).to("cuda", torch.float16)
    mixed = nn.BatchNorm2d(8, device="cuda")
    mixed(x).sum().backward()
    assert mixed.weight.grad.abs().max().item() < 1e-3
    with torch.backends.cudnn.flags(enabled=False):
        mixed.zero_grad()
        mixed(x).sum().backward()
    assert mixed.weight.grad.abs().max().item() > 1e-2


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    "size", [(16, 5), (3, 4, 33), (2, 3, 5, 7), (2, 3, 40, 40), (2, 3, 4, 5, 6)]
)
def test_batch_norms_of_half_types_are_those_of_float64(size, dtype) -> None:
    channels = size[1]
    torch.manual_seed(1)
    for training in (True, False):
        for affine in (True, False):
            found, exact = [], []
            host = nn.BatchNorm1d(channels, affine=affine, dtype=torch.float64).train(training)
            host._check_input_dim = lambda _: None
            host.running_mean.normal_()
            x, grad = torch.randn(size).to(dtype), torch.randn(size).to(dtype)
            if affine:
                nn.init.normal_(host.weight)
            for module, to in (
                (host, {}),
                (copy.deepcopy(host), {"device": "cuda", "dtype": dtype}),
            ):
                into = found if to else exact
                module.to(**to)
                given = x.to(to.get("device", "cpu"), to.get("dtype", torch.float64))
                given.requires_grad_()
                y = module(given)
                y.backward(grad.to(y))
                into += [y, given.grad, module.running_mean, module.running_var]
                into += [p.grad for p in module.parameters()]
            for one, other in zip(found, exact, strict=True):
                assert one.dtype == dtype
                close = 0.02 if dtype == torch.float16 else 0.15
                torch.testing.assert_close(one.double().cpu(), other, rtol=close, atol=close)


def test_logsigmoid_saves_nothing_but_its_input() -> None:
    x = torch.randn(1000, device="cuda", requires_grad=True)
    before = torch.cuda.memory_allocated()
    found = F.logsigmoid(x)
    assert torch.cuda.memory_allocated() - before == 4096
    found.sum().backward()
    torch.testing.assert_close(x.grad, torch.sigmoid(-x.detach()))


def peak_of(call) -> int:
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    result = call()
    peak = torch.cuda.max_memory_allocated() - before
    del result
    return peak


def test_kernels_take_memory_while_they_compute() -> None:
    x, y = torch.randn(2, 1024, device="cuda"), torch.randn(2, 1024, device="cuda")
    mask = x > 0
    assert peak_of(lambda: F.mse_loss(x, y)) == 2 * 8192  # its result is a part of as many bytes
    assert peak_of(lambda: F.mse_loss(x, y, reduction="none")) == 8192
    assert peak_of(lambda: F.smooth_l1_loss(x, y)) == 2 * 8192
    assert peak_of(lambda: F.huber_loss(x, y)) == 8192 + 512
    assert peak_of(lambda: torch.equal(x, y)) == 2048 + 512
    assert peak_of(lambda: mask.sum()) == 8 * 2048 + 512
    assert peak_of(lambda: mask.cumsum(1)) == 2 * 8 * 2048
    assert peak_of(lambda: x.sum()) == 512
    assert peak_of(lambda: x.half().sum(dtype=torch.float32)) == 4096 + 512
    backward = torch.ops.aten._softmax_backward_data
    assert peak_of(lambda: backward(x, y, 1, x.dtype)) == 16384
    assert peak_of(lambda: x.half().renorm(2, 1, 1.0)) == 2 * 4096 + 4096 + 2048
    means = lambda: x.index_reduce(0, torch.tensor([0, 1], device="cuda"), y, "mean")  # noqa: E731
    means()
    assert peak_of(means) == 3 * 8192 + 512
    norm = nn.GroupNorm(4, 8, device="cuda")
    image = torch.randn(2, 8, 6, 6, device="cuda")
    assert peak_of(lambda: norm(image).detach()) == 2560 + 4 * 512


def test_sorts_and_indices_take_memory_as_on_an_h200() -> None:
    x = torch.arange(1 << 18, device="cuda", dtype=torch.float32)
    mask, places = x > 5, x.long()
    sorting = 2097152 + 3204608  # the indices, and what CUB takes
    assert peak_of(lambda: x.sort().values) == 3 * 1048576 + sorting
    assert peak_of(lambda: x.median()) == 3 * 1048576 + sorting
    assert peak_of(lambda: x[mask]) == 1048576 + 2097152
    assert peak_of(lambda: x.masked_select(mask)) == 1048576 + 2097152
    assert peak_of(lambda: x.index_put((places,), x, accumulate=True)) == 1048576 + 12647936
    assert peak_of(lambda: x.index_put((places,), x)) == 1048576
    assert peak_of(x.unique) == 2144768
    assert peak_of(lambda: torch.randperm(1 << 18, device="cuda")) == 12652032
    assert peak_of(lambda: torch.where(mask, x, x)) == 1048576
    small = torch.rand(20, 20, 20, device="cuda")
    assert peak_of(lambda: small.sort()) == 32256 + 64000 + 512
    assert peak_of(lambda: small.flatten().sort()) == 267264  # as the recording's sample


def test_results_of_unique_keep_the_memory_of_the_input() -> None:
    x = torch.arange(4096, device="cuda") % 7
    values, inverse, counts = x.unique(return_inverse=True, return_counts=True)
    assert values.tolist() == list(range(7)) and counts.sum() == 4096
    assert values.untyped_storage().nbytes() == counts.untyped_storage().nbytes() == 8 * 4096
    assert torch.equal(values[inverse], x)
    values = x.sort().values.unique_consecutive()
    assert values.shape == (7,) and values.untyped_storage().nbytes() == 8 * 4096
    assert (x > 3).unique().untyped_storage().nbytes() == 2
    rows = torch.unique(x.reshape(-1, 2), dim=0)
    assert rows.untyped_storage().nbytes() == rows.numel() * 8


def test_what_a_kernel_makes_on_its_way() -> None:
    x, index = torch.ones(2048, device="cuda"), torch.zeros(2048, dtype=torch.long, device="cuda")
    means = lambda: x.scatter_reduce(0, index, x, "mean")  # noqa: E731
    assert peak_of(means) == 3 * 8192 + 2048
    assert peak_of(lambda: x.scatter_reduce(0, index, x, "sum")) == 8192
    assert peak_of(lambda: torch.ldexp(x, x)) == 2 * 8192
    a = torch.eye(64, device="cuda")
    assert peak_of(lambda: torch.cholesky_inverse(a)) == 2 * 16384 + 512
    assert peak_of(lambda: torch.cholesky_solve(a, a)) == 2 * 16384 + 512


def test_sorts_of_other_layouts_take_their_copies() -> None:
    """Within a tenth: a block of the allocator may be larger than what is asked for."""
    x = torch.rand(5000, 200, device="cuda")
    values, indices = 4_000_000, 8_000_000
    # The results, the numbers of the elements, and copies of both for CUB's segments.
    rows = values + indices + indices + values + indices
    assert peak_of(lambda: x.T.contiguous().sort(1)) == pytest.approx(rows + values, rel=0.1)
    columns = rows + values + values + indices  # rows of the columns, values and indices of these
    assert peak_of(lambda: x.sort(0)) == pytest.approx(columns, rel=0.1)
    few = torch.rand(3, 500_000, device="cuda")
    # Values and indices; pairs of both numbers, twice; sorted keys; copies of keys and pairs.
    assert peak_of(lambda: few.sort(1)) == pytest.approx(500_000 * 3 * (12 + 16 + 4 + 12), rel=0.1)
    masked = torch.zeros(4, 5000, device="cuda")
    assert peak_of(lambda: masked.masked_scatter_(masked == 0, masked + 1)) >= 8 * 20000
    assert peak_of(lambda: torch.rand(0, device="cuda").sort()) == 0


@pytest.mark.parametrize(
    ("sizes", "channels", "groups"),
    [
        ((1, 16, 18, 18, 18), 16, 1),
        ((2, 8, 4, 4, 4), 4, 1),
        ((1, 16, 9, 9), 16, 1),
        ((2, 8, 9, 9), 4, 2),
    ],
)
@pytest.mark.parametrize("transposed", [False, True])
def test_a_convolution_keeps_channels_last(sizes, channels, groups, transposed) -> None:
    """As cuDNN's, whatever the CPU's kernel for the sizes."""
    three = len(sizes) == 5
    name = ("conv_transpose" if transposed else "conv") + ("3d" if three else "2d")
    weight = (sizes[1], channels // groups) if transposed else (channels, sizes[1] // groups)
    format = torch.channels_last_3d if three else torch.channels_last
    x = torch.randn(sizes, device="cuda").to(memory_format=format).requires_grad_()
    w = torch.randn(*weight, *[3] * (len(sizes) - 2), device="cuda", requires_grad=True)
    for weights in (w, w.detach().to(memory_format=format).requires_grad_()):
        for inputs in (x, x.detach().contiguous().requires_grad_()):
            plain = inputs is not x and weights is w
            result = getattr(torch.nn.functional, name)(inputs, weights, groups=groups)
            for each in (result, *torch.autograd.grad(result.sum(), (inputs, weights))):
                assert each.is_contiguous(
                    memory_format=torch.contiguous_format if plain else format
                )
    double = getattr(torch.nn.functional, name)(x.double(), w.double(), groups=groups)
    assert double.is_contiguous()
