"""Correlations of the neighbourhoods of two images, by shifted products."""

# A module that is built for torch is found once torch is there.
import torch  # isort: skip
import spatial_correlation_sampler_backend as backend
from torch.nn import functional as F

torch.manual_seed(0)


def expected(one, two, kernel, patch, stride, padding, dilation, patch_dilation):
    """[N, patch, patch, H, W]: sums over channels and the kernel of one * shifted two."""
    reach = (patch - 1) // 2 * patch_dilation
    padded = F.pad(one, (padding,) * 4)
    other = F.pad(two, (padding + reach,) * 4)
    height, width = padded.shape[2:]
    rows = []
    for i in range(patch):
        columns = []
        for j in range(patch):
            y, x = i * patch_dilation, j * patch_dilation
            products = (padded * other[:, :, y : y + height, x : x + width]).sum(1, keepdim=True)
            ones = torch.ones(1, 1, kernel, kernel, dtype=one.dtype, device=one.device)
            columns.append(F.conv2d(products, ones, stride=stride, dilation=dilation)[:, 0])
        rows.append(torch.stack(columns, 1))
    return torch.stack(rows, 1)


for dtype, tolerance in ((torch.float, 1e-4), (torch.double, 1e-10), (torch.half, 5e-2)):
    for kernel, patch, stride, padding, dilation, patch_dilation in (
        (1, 3, 1, 0, 1, 1),
        (3, 5, 2, 1, 2, 2),
        (1, 1, 1, 0, 1, 1),
        (2, 3, 1, 2, 1, 3),
    ):
        sizes = (
            [kernel] * 2
            + [patch] * 2
            + [padding] * 2
            + [dilation] * 2
            + [patch_dilation] * 2
            + [stride] * 2
        )
        one = torch.randn(2, 3, 11, 13, device="cuda", dtype=dtype, requires_grad=True)
        two = torch.randn(2, 3, 11, 13, device="cuda", dtype=dtype, requires_grad=True)
        ours = backend.forward(one.detach(), two.detach(), *sizes)
        plain = expected(one, two, kernel, patch, stride, padding, dilation, patch_dilation)
        torch.testing.assert_close(ours, plain, rtol=tolerance, atol=tolerance)
        weights = torch.randn_like(ours)
        gradients = backend.backward(one.detach(), two.detach(), weights, *sizes)
        wanted = torch.autograd.grad((plain * weights).sum(), (one, two))
        for a, b in zip(gradients, wanted, strict=True):
            torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)
print("right")
