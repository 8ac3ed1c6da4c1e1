"""Where PyTorch takes cuDNN: batch norms, the CTC loss, convolutions. Answers of an NVIDIA H200."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

pytestmark = [pytest.mark.devices("cuda:1"), pytest.mark.usefixtures("seeded")]


def test_batch_norm() -> None:
    x = torch.randn(4, 8, 10, 12, device="cuda").transpose(2, 3).contiguous().transpose(2, 3)
    for dtype, kernel, strides in (
        (torch.float32, "CudnnBatchNormBackward0", (960, 120, 12, 1)),
        (torch.float16, "NativeBatchNormBackward0", (960, 120, 1, 10)),
        (torch.bfloat16, "NativeBatchNormBackward0", (960, 120, 1, 10)),
    ):
        for layer in (nn.BatchNorm2d(8), nn.BatchNorm2d(8).eval()):
            output = layer.to("cuda", dtype)(x.to(dtype))
            assert (type(output.grad_fn).__name__, output.stride()) == (kernel, strides), dtype
    i4, w = torch.ones(1, 1, 4, 4, device="cuda"), torch.ones(3, device="cuda")
    with pytest.raises(RuntimeError, match="'weight' to have 1 elements; but it actually has 3"):
        torch.cudnn_batch_norm(i4, w, w, w, w, True, 0.1, 1e-9)


def test_statistics_of_an_evaluation() -> None:
    mean, variance = torch.rand(2, 8, device="cuda")
    found = torch.native_batch_norm(
        torch.randn(4, 8, device="cuda"), None, None, mean, variance, False, 0.1, 1e-5
    )
    assert torch.equal(found[1], mean) and torch.allclose(found[2], (variance + 1e-5).rsqrt())


def test_ctc_loss() -> None:
    scores = torch.randn(5, 2, 6).log_softmax(2)
    targets = torch.tensor([1, 2, 3], dtype=torch.int32)
    host, device = scores.clone().requires_grad_(), scores.cuda().requires_grad_()
    wanted = F.ctc_loss(host, targets, (5, 5), (2, 1), reduction="none")
    found = F.ctc_loss(device, targets, (5, 5), (2, 1), reduction="none")
    assert type(found.grad_fn).__name__ == "CudnnCtcLossBackward0"
    assert torch.equal(found.cpu(), wanted)
    (wanted * wanted).sum().backward()
    (found * found).sum().backward()
    assert torch.allclose(device.grad.cpu(), host.grad, atol=1e-5)
    for given in (targets.long(), targets.cuda()):  # which cuDNN does not take
        loss = F.ctc_loss(device, given, (5, 5), (2, 1), reduction="none")
        assert type(loss.grad_fn).__name__ == "CtcLossBackward0"
    with pytest.raises(RuntimeError, match="'targets' to have scalar type Int; but got"):
        torch._cudnn_ctc_loss(device, targets.long(), [5, 5], [2, 1], 0, False, False)


def test_gradients_of_convolutions_have_the_format_of_the_input() -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # with which the CPU's kernel lays out the gradient otherwise
    try:
        x = torch.randn(4, 8, 10, 12, device="cuda").to(memory_format=torch.channels_last)
        layer = nn.Conv2d(8, 4, 1).cuda()
        layer(x.requires_grad_()).sum().backward()
    finally:
        torch.set_num_threads(threads)
    assert layer.weight.grad.stride() == (8, 1, 8, 8)
    assert x.grad.is_contiguous(memory_format=torch.channels_last)
