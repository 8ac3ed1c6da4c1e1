"""Depthwise convolutions of small and large images, as torch.nn.functional.conv2d with a group for each channel."""

import torch
from torch.nn.functional import conv2d
from torch_dwconv import depthwise_conv2d, dwconv

torch.manual_seed(0)
torch.backends.cudnn.allow_tf32 = False
ways = set()
for dtype, tolerance in ((torch.float, 1e-3), (torch.double, 1e-9), (torch.half, 3e-1)):
    for size, kernel, stride, padding in (
        (9, 3, 1, 1),
        (16, 5, 1, 2),
        (36, 3, 1, 1),
        (40, 5, 2, 2),
        (37, 7, 1, 3),
        (48, 31, 1, 15),
    ):
        x = torch.randn(2, 4, size, size, dtype=dtype, device="cuda", requires_grad=True)
        weight = torch.randn(4, 1, kernel, kernel, dtype=dtype, device="cuda", requires_grad=True)
        pair = ((stride, stride), (padding, padding))
        ways.add(dwconv.use_dwconv2d_small(x, weight, (1, 1), *pair))
        ours = depthwise_conv2d(x, weight, stride=stride, padding=padding)
        plain = conv2d(x.double(), weight.double(), None, stride, padding, 1, 4)
        torch.testing.assert_close(ours.double(), plain, rtol=tolerance, atol=tolerance)
        weights = torch.randn_like(ours)
        one = torch.autograd.grad((ours * weights).sum(), (x, weight))
        two = torch.autograd.grad((plain * weights).sum(), (x, weight))
        for a, b in zip(one, two, strict=True):
            torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance * kernel)
assert ways == {True, False}
print("right")
