"""NeRF's sums along rays, samples of densities, and rays through grids."""

import nerfacc
import torch
from nerfacc.data_specs import RayIntervals

torch.manual_seed(0)

# Sums and products of pieces of different lengths, and their gradients.
lengths = torch.tensor([3, 0, 1, 70, 200, 33], device="cuda")
packed = torch.stack([lengths.cumsum(0) - lengths, lengths], 1)
x = (torch.rand(int(lengths.sum()), device="cuda") + 0.5).requires_grad_()
for ours, plain in (
    (nerfacc.inclusive_sum, lambda part: part.cumsum(0)),
    (nerfacc.exclusive_sum, lambda part: part.cumsum(0) - part),
    (nerfacc.inclusive_prod, lambda part: part.cumprod(0)),
    (
        nerfacc.exclusive_prod,
        lambda part: torch.cat([part.new_ones(1), part[:-1].cumprod(0)])[: len(part)],
    ),
):
    one = ours(x, packed)
    two = torch.cat([plain(part) for part in x.split(lengths.tolist())])
    torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-5)
    factors = torch.randn_like(one)
    first, second = (torch.autograd.grad((y * factors).sum(), x)[0] for y in (one, two))
    torch.testing.assert_close(first, second, rtol=1e-3, atol=1e-3)

# The weights of densities along rays.
starts = torch.rand(len(x), device="cuda").sort()[0]
densities = torch.rand(len(x), device="cuda", requires_grad=True)
rays = torch.repeat_interleave(torch.arange(6, device="cuda"), lengths)
weights, transmittance, alphas = nerfacc.render_weight_from_density(
    starts, starts + 0.1, densities, packed_info=packed
)
for ray, part in enumerate((densities * 0.1).split(lengths.tolist())):
    seen = torch.exp(-(part.cumsum(0) - part))
    torch.testing.assert_close(transmittance[rays == ray], seen)
    torch.testing.assert_close(weights[rays == ray], seen * (1 - torch.exp(-part)))

# Samples of distributions, and where values lie.
edges = torch.rand(5, 41, device="cuda").sort(1)[0]
cdfs = torch.rand(5, 41, device="cuda").sort(1)[0]
cdfs[:, 0], cdfs[:, -1] = 0.0, 1.0
intervals, samples = nerfacc.importance_sampling(RayIntervals(vals=edges), cdfs, 16)
quantiles = ((torch.arange(16, device="cuda") + 0.5) / 16).expand(5, -1).contiguous()
right = torch.searchsorted(cdfs, quantiles, right=True).clamp(1, 40)
low, high = cdfs.gather(1, right - 1), cdfs.gather(1, right)
left_edge, right_edge = edges.gather(1, right - 1), edges.gather(1, right)
plain = left_edge + (quantiles - low) / (high - low) * (right_edge - left_edge)
torch.testing.assert_close(samples.vals, plain, rtol=1e-4, atol=1e-5)
middles = (samples.vals[:, 1:] + samples.vals[:, :-1]) / 2
torch.testing.assert_close(intervals.vals[:, 1:-1], middles)
keys, queries = (RayIntervals(vals=torch.rand(4, n, device="cuda").sort(1)[0]) for n in (50, 30))
left, right = nerfacc.searchsorted(keys, queries)
plain = torch.searchsorted(keys.vals, queries.vals, right=True).clamp(0, 49)
assert torch.equal(right % 50, plain)
assert torch.equal((left % 50)[plain > 0], (plain - 1).clamp(0, 49)[plain > 0])

# Rays and boxes.
origins = torch.rand(200, 3, device="cuda")
directions = torch.nn.functional.normalize(torch.randn(200, 3, device="cuda"), dim=1)
lows = torch.rand(9, 3, device="cuda")
boxes = torch.cat([lows, lows + torch.rand_like(lows)], 1)
near, far, hits = nerfacc.ray_aabb_intersect(origins, directions, boxes)
one = (boxes[None, :, :3] - origins[:, None]) / directions[:, None]
two = (boxes[None, :, 3:] - origins[:, None]) / directions[:, None]
first, last = torch.minimum(one, two).amax(2), torch.maximum(one, two).amin(2)
plain = (last > first) & (last > 0)
assert 100 < plain.sum() < 1500
assert torch.equal(hits, plain)
torch.testing.assert_close(near[hits], first[hits])
torch.testing.assert_close(far[hits], last[hits])

# Every sample of a grid lies in a cell that is taken; together they are as long as the rays' way through those.
grid = torch.rand(1, 8, 8, 8, device="cuda") > 0.5
box = torch.tensor([[-1.0, -1, -1, 1, 1, 1]], device="cuda")
origins = torch.randn(20, 3, device="cuda") * 0.3
intervals, samples, _ = nerfacc.traverse_grids(
    origins, directions[:20].contiguous(), grid, box, step_size=1e-3
)
starts, ends = intervals.vals[intervals.is_left], intervals.vals[intervals.is_right]
points = (
    origins[samples.ray_indices] + directions[samples.ray_indices] * ((starts + ends) / 2)[:, None]
)
cells = ((points + 1) * 4).long().clamp(0, 7)
taken = grid[0, cells[:, 0], cells[:, 1], cells[:, 2]]
assert taken.float().mean() > 0.99, taken.float().mean()
steps = torch.arange(0, 4, 1e-3, device="cuda") + 5e-4
points = origins[:, None] + directions[:20, None] * steps[None, :, None]
inside = (points.abs() < 1).all(2)
cells = ((points + 1) * 4).long().clamp(0, 7)
lengths = (grid[0, cells[..., 0], cells[..., 1], cells[..., 2]] & inside).sum(1) * 1e-3
sums = torch.zeros(20, device="cuda").index_add_(0, samples.ray_indices, ends - starts)
torch.testing.assert_close(sums, lengths, rtol=0.05, atol=0.03)
print("right")
