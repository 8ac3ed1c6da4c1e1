"""Multi-scale deformable attention (Zhu et al., 2020) as bilinear samples of each level."""

import torch
from torch.nn.functional import grid_sample
from torch_ms_deform_attn import ms_deform_attn

torch.manual_seed(0)
batch, heads, width, queries, points = 2, 3, 8, 7, 4
sizes = [(6, 5), (3, 4), (1, 2)]


def expected(value, locations, weights):
    """[N, queries, heads * width]"""
    answers = 0
    for level, part in enumerate(value.split([h * w for h, w in sizes], 1)):
        image = part.permute(0, 2, 3, 1).reshape(batch * heads, width, *sizes[level])
        grid = (2 * locations[:, :, :, level] - 1).transpose(1, 2).flatten(0, 1)
        sampled = grid_sample(image, grid, padding_mode="zeros", align_corners=False)
        factors = weights[:, :, :, level].transpose(1, 2).reshape(batch * heads, 1, queries, points)
        answers = answers + (sampled * factors).sum(-1)
    return answers.view(batch, heads * width, queries).transpose(1, 2)


shapes = torch.tensor(sizes, device="cuda")
starts = torch.tensor([0, 30, 42], device="cuda")
for dtype, tolerance in (
    (torch.double, 1e-9),
    (torch.float, 1e-4),
    (torch.half, 2e-2),
    (torch.bfloat16, 1e-1),
):
    value = torch.randn(batch, 44, heads, width, device="cuda", dtype=dtype, requires_grad=True)
    locations = torch.rand(batch, queries, heads, 3, points, 2, device="cuda") * 1.2 - 0.1
    locations = locations.to(dtype).requires_grad_()
    weights = torch.randn(batch, queries, heads, 3 * points, device="cuda").softmax(-1)
    weights = weights.view(batch, queries, heads, 3, points).to(dtype).requires_grad_()
    ours = ms_deform_attn(value, shapes, starts, locations, weights)
    assert ours.dtype is dtype
    plain = expected(value.double(), locations.double(), weights.double())
    torch.testing.assert_close(ours.double(), plain, rtol=tolerance, atol=tolerance)
    factors = torch.randn_like(ours)
    inputs = (value, locations, weights)
    gradients = torch.autograd.grad((ours * factors).sum(), inputs)
    wanted = torch.autograd.grad((plain * factors).sum(), inputs)
    for a, b in zip(gradients, wanted, strict=True):
        assert (a - b).double().norm() <= 2 * tolerance * b.double().norm(), (
            dtype,
            (a - b).norm(),
            b.norm(),
        )
print("right")
