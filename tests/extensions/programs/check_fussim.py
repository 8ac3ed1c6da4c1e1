"""Structural similarity of images with windows of three sizes, in float and half, and its gradients."""

import torch
from fussim import fused_ssim
from torch.nn.functional import conv2d

torch.manual_seed(0)


# The package's own numbers: those of 7 have deviation 1, and those of 9 do not add up to 1.
HALVES = {
    7: [0.00443304609, 0.05400558188, 0.24203622937, 0.39905029535],
    9: [0.00098442685, 0.00971502065, 0.04529544711, 0.11722830242, 0.19355361462],
}


def expected(one, two, window, padding):
    """The mean of the map of Wang et al., 2004, with a Gaussian window: of 11 with deviation 1.5."""
    steps = torch.arange(window, dtype=one.dtype, device=one.device) - window // 2
    line = torch.exp(-(steps**2) / (2 * 1.5**2))
    line = line / line.sum()
    if window in HALVES:
        half = torch.tensor(HALVES[window], dtype=one.dtype, device=one.device)
        line = torch.cat([half, half[:-1].flip(0)])
    channels = one.shape[1]
    kernel = (line[:, None] * line[None]).expand(channels, 1, -1, -1)

    def blurred(image):
        return conv2d(image, kernel, padding=window // 2, groups=channels)

    mean_one, mean_two = blurred(one), blurred(two)
    variance_one = blurred(one * one) - mean_one**2
    variance_two = blurred(two * two) - mean_two**2
    covariance = blurred(one * two) - mean_one * mean_two
    c1, c2 = 0.01**2, 0.03**2
    ratios = (2 * mean_one * mean_two + c1) * (2 * covariance + c2)
    ratios = ratios / ((mean_one**2 + mean_two**2 + c1) * (variance_one + variance_two + c2))
    if padding == "valid":
        edge = window // 2
        ratios = ratios[:, :, edge:-edge, edge:-edge]
    return ratios.mean()


for window in (7, 9, 11):
    for padding in ("same", "valid"):
        one = torch.rand(2, 3, 45, 70, device="cuda", requires_grad=True)
        two = (one.detach() * 0.7 + 0.3 * torch.rand_like(one)).requires_grad_()
        plain = expected(one.double(), two.double(), window, padding)
        (wanted,) = torch.autograd.grad(plain, one)
        ours = fused_ssim(one, two.detach(), padding, window_size=window)
        torch.testing.assert_close(ours.double(), plain, rtol=1e-5, atol=1e-6)
        (gradient,) = torch.autograd.grad(ours, one)
        torch.testing.assert_close(gradient, wanted, rtol=1e-3, atol=1e-8)
        with torch.no_grad():
            torch.testing.assert_close(fused_ssim(one, two, padding, window_size=window), ours)
        with torch.autocast("cuda"):
            ours = fused_ssim(one, two.detach(), padding, window_size=window)
        torch.testing.assert_close(ours.double(), plain, rtol=2e-3, atol=1e-3)
        (gradient,) = torch.autograd.grad(ours, one)
        assert (gradient - wanted).norm() < 0.03 * wanted.norm()
print("right")
