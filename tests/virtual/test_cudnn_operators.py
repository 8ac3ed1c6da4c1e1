"""cuDNN's operators by name: what they compute is what other operators compute on the CPU."""

import pytest
import torch
import torch.nn.functional as F

pytestmark = [pytest.mark.devices("cuda:2"), pytest.mark.usefixtures("seeded")]


torch.manual_seed(0)


def compare(got, want):
    for mine, other in zip(got, want, strict=True):
        assert mine.device == torch.device("cuda:0")
        torch.testing.assert_close(mine.cpu(), other)


def grads(call, *tensors):
    """The result and the gradients of all tensors."""
    leaves = [tensor.detach().requires_grad_() for tensor in tensors]
    result = call(*leaves)
    return [result.detach(), *torch.autograd.grad(result.square().sum(), leaves)]


def both(named, plain, *tensors):
    compare(grads(named, *(tensor.cuda() for tensor in tensors)), grads(plain, *tensors))


x, w = torch.randn(2, 4, 9, 8), torch.randn(6, 2, 3, 3)
stride, padding, dilation, flags = [2, 1], [1, 0], [1, 2], (False, False, True)


def test_convolutions() -> None:
    both(
        lambda x, w: torch.cudnn_convolution(x, w, padding, stride, dilation, 2, *flags),
        lambda x, w: F.conv2d(x, w, None, stride, padding, dilation, 2),
        x, w,
    )  # fmt: skip
    out = torch.empty(0, device="cuda")
    torch.cudnn_convolution(
        x.cuda(), w.cuda(), padding, stride, dilation, 2, *flags, out=out
    )  # fmt: skip
    compare([out], [F.conv2d(x, w, None, stride, padding, dilation, 2)])
    both(
        lambda x, w: torch.cudnn_convolution_transpose(
            x, w, padding, [1, 0], stride, dilation, 2, *flags
        ),
        lambda x, w: F.conv_transpose2d(x, w, None, stride, padding, [1, 0], 2, dilation),
        x, torch.randn(4, 3, 3, 3),
    )  # fmt: skip


def test_convolutions_with_relu() -> None:
    bias = torch.randn(6)
    want = F.conv2d(x, w, bias, stride, padding, dilation, 2)
    z = torch.randn_like(want)
    x_, w_, bias_, z_ = (tensor.cuda() for tensor in (x, w, bias, z))
    compare(
        [
            torch.cudnn_convolution_relu(x_, w_, bias_, stride, padding, dilation, 2),
            torch.cudnn_convolution_add_relu(x_, w_, z_, 0.5, bias_, stride, padding, dilation, 2),
            torch.cudnn_convolution_add_relu(x_, w_, z_, None, None, stride, padding, dilation, 2),
        ],
        [want.relu(), (want + 0.5 * z).relu(), (want - bias[:, None, None] + z).relu()],
    )


def test_batch_norm() -> None:
    x_ = x.cuda()
    scale, shift = torch.rand(4), torch.randn(4)
    mean, var = torch.randn(4), torch.rand(4)
    mean_, var_ = mean.cuda(), var.cuda()
    both(
        lambda x, s, b: torch.cudnn_batch_norm(x, s, b, mean_, var_, True, 0.3, 1e-5)[0],
        lambda x, s, b: F.batch_norm(x, mean, var, s, b, True, 0.3, 1e-5),
        x, scale, shift,
    )  # fmt: skip
    compare([mean_, var_], [mean, var])
    compare(
        [torch.cudnn_batch_norm(x_, scale.cuda(), shift.cuda(), mean_, var_, False, 0.3, 1e-5)[0]],
        [F.batch_norm(x, mean, var, scale, shift, False)],
    )


def test_grids() -> None:
    theta = torch.randn(2, 2, 3)
    both(
        lambda theta: torch.cudnn_affine_grid_generator(theta, 2, 4, 5, 6),
        lambda theta: F.affine_grid(theta, [2, 4, 5, 6], align_corners=True),
        theta,
    )
    both(
        lambda x, grid: torch.cudnn_grid_sampler(x, grid),
        lambda x, grid: F.grid_sample(x, grid, align_corners=True),
        x, torch.rand(2, 5, 6, 2) * 2.2 - 1.1,
    )  # fmt: skip
