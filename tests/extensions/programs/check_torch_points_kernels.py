"""Operators on point clouds, by distances of all pairs, in the types that each has."""

import importlib.util
import sys
from pathlib import Path

import torch

# The package's __init__.py asks for numba; the kernels are in this module of it.
(path,) = [
    file
    for folder in sys.path
    for file in Path(folder, "torch_points_kernels").glob("points_cuda*.so")
]
spec = importlib.util.spec_from_file_location("torch_points_kernels.points_cuda", path)
kernels = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernels)

torch.manual_seed(0)
xyz = torch.randn(2, 90, 3, device="cuda")
centers = torch.randn(2, 20, 3, device="cuda")
squares = (centers[:, :, None] - xyz[:, None]).square().sum(3)

# Farthest points; from the third on the kernel has a race: thread 0 may write the place of the last one before others
# read it (cuda/src/sampling_gpu.cu:140).
chosen = kernels.furthest_point_sampling(xyz, 2)
for cloud, answer in zip(xyz, chosen.tolist(), strict=True):
    nearest = torch.full((90,), float("inf"), device="cuda")
    at = 0
    for number in answer:
        assert number == at
        nearest = torch.minimum(nearest, (cloud - cloud[at]).square().sum(1))
        at = int(nearest.argmax())

# Three neighbours, and what is between them.
distances, places = kernels.three_nn(centers, xyz)
plain = squares.topk(3, 2, largest=False)
torch.testing.assert_close(distances, plain.values)
assert torch.equal(places.long(), plain.indices)
features = torch.randn(2, 5, 90, device="cuda", requires_grad=True)
weights = torch.rand(2, 20, 3, device="cuda")
ours = kernels.three_interpolate(features.detach(), places, weights)
wide = plain.indices[:, None].expand(-1, 5, -1, -1)
plain = (features[..., None].expand(-1, -1, -1, 3).gather(2, wide) * weights[:, None]).sum(3)
torch.testing.assert_close(ours, plain)
factors = torch.randn_like(ours)
(wanted,) = torch.autograd.grad((plain * factors).sum(), features)
torch.testing.assert_close(kernels.three_interpolate_grad(factors, places, weights, 90), wanted)

# Those within a radius: the first of them, again where there are fewer.
radius, count = 0.9, 6
places, distances = kernels.ball_query_dense(centers, xyz, radius, count)
for found, far, row in zip(
    places.flatten(0, 1).tolist(), distances.flatten(0, 1), squares.flatten(0, 1), strict=True
):
    inside = torch.nonzero(row < radius**2)[:count, 0].tolist()
    assert found[: len(inside)] == inside
    assert found[len(inside) :] == [inside[0] if inside else 0] * (count - len(inside))
    torch.testing.assert_close(far[: len(inside)], row[inside])
    assert (far[len(inside) :] == -1).all()
batch_x = torch.arange(2, device="cuda").repeat_interleave(90)
batch_y = torch.arange(2, device="cuda").repeat_interleave(20)
places, distances = kernels.ball_query_partial_dense(
    xyz.flatten(0, 1), centers.flatten(0, 1), batch_x, batch_y, radius, count
)
for number, (found, far) in enumerate(zip(places.tolist(), distances, strict=True)):
    row = squares.flatten(0, 1)[number]
    inside = torch.nonzero(row <= radius**2)[:count, 0]
    assert found[: len(inside)] == (inside + number // 20 * 90).tolist()
    torch.testing.assert_close(far[: len(inside)], row[inside])
    assert (far[len(inside) :] == -1).all()

for dtype, tolerance in ((torch.float, 1e-4), (torch.double, 1e-9)):
    # The nearest of the other cloud, both ways; more than one tile of shared memory.
    one = torch.randn(2, 150, 3, dtype=dtype, device="cuda", requires_grad=True)
    two = torch.randn(2, 700, 3, dtype=dtype, device="cuda", requires_grad=True)
    pairs = (one[:, :, None] - two[:, None]).square().sum(3)
    first, second, index1, index2 = kernels.chamfer_dist(one.detach(), two.detach())
    torch.testing.assert_close(first, pairs.amin(2), rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(second, pairs.amin(1), rtol=tolerance, atol=tolerance)
    assert torch.equal(index1.long(), pairs.argmin(2))
    assert torch.equal(index2.long(), pairs.argmin(1))
    left, right = torch.randn_like(first), torch.randn_like(second)
    gradients = kernels.chamfer_dist_grad(one.detach(), two.detach(), index1, index2, left, right)
    plain = (pairs.amin(2) * left).sum() + (pairs.amin(1) * right).sum()
    for a, b in zip(gradients, torch.autograd.grad(plain, (one, two)), strict=True):
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)

    # Points onto the corners of a grid, and features of the corners around points.
    points = ((torch.rand(2, 40, 3, dtype=dtype, device="cuda") - 0.5) * 6).requires_grad_()
    grid, weights, places = kernels.gridding(-4, 3, -4, 3, -4, 3, points.detach())
    low = points.detach().floor()
    plain = torch.zeros(2, 8**3, dtype=dtype, device="cuda")
    for corner in range(8):
        offset = torch.tensor([corner >> 2, corner >> 1 & 1, corner & 1], device="cuda")
        at = low + offset
        shares = (1 - (points - at).abs()).prod(2)
        cells = ((at + 4) * torch.tensor([64, 8, 1], device="cuda")).sum(2).long()
        plain = plain.scatter_add(1, cells, shares)
    torch.testing.assert_close(grid, plain, rtol=tolerance, atol=tolerance)
    factors = torch.randn_like(plain)
    (wanted,) = torch.autograd.grad((plain * factors).sum(), points)
    torch.testing.assert_close(
        kernels.gridding_grad(weights, places, factors), wanted, rtol=tolerance, atol=tolerance
    )

    cube = torch.randn(2, 3, 8, 8, 8, dtype=dtype, device="cuda", requires_grad=True)
    inside = points.detach() + 4
    ours, places = kernels.cubic_feature_sampling(8, 1, inside, cube.detach())
    around = torch.tensor(
        [[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)], device="cuda"
    )
    at = inside.floor().long()[:, :, None] + around
    plain = torch.stack(
        [cube[n][:, at[n, ..., 0], at[n, ..., 1], at[n, ..., 2]].permute(1, 2, 0) for n in range(2)]
    )
    torch.testing.assert_close(ours, plain)
    factors = torch.randn_like(ours)
    (wanted,) = torch.autograd.grad((plain * factors).sum(), cube)
    _, gradient = kernels.cubic_feature_sampling_grad(8, 1, factors, places)
    torch.testing.assert_close(gradient.view_as(wanted), wanted, rtol=tolerance, atol=tolerance)

# Shares of proposed instances and true ones.
labels = torch.randint(0, 4, (60,), device="cuda")
proposed = [torch.randperm(60, device="cuda")[:n] for n in (5, 17, 30)]
flat = torch.cat(proposed)
ends = torch.tensor([0, 5, 22, 52], device="cuda")
sizes = torch.bincount(labels, minlength=4)[1:]
numbers = torch.tensor([3], device="cuda")
ours = kernels.instance_iou_cuda(
    flat, ends, labels, sizes, numbers, torch.zeros(60, dtype=torch.long, device="cuda")
)
for row, members in zip(ours, proposed, strict=True):
    both = torch.stack([(labels[members] == label).sum() for label in (1, 2, 3)])
    torch.testing.assert_close(row, both / (len(members) + sizes - both))
print("right")
