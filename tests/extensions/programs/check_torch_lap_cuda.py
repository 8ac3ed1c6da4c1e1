"""Linear assignment by the Hungarian method: as cheap as the best of all permutations, in each type."""

from itertools import permutations

import torch
from torch_lap_cuda import solve_lap

torch.manual_seed(0)
ways = torch.tensor(list(permutations(range(6))), device="cuda")
rows = torch.arange(6, device="cuda")
for dtype in (torch.float, torch.double, torch.int, torch.long):
    cost = (torch.rand(5, 6, 6, dtype=torch.double, device="cuda") * 1000).to(dtype)
    chosen = solve_lap(cost, "cuda").long()
    assert torch.equal(chosen.sort(1)[0], rows.expand(5, -1)), chosen
    found = cost.gather(2, chosen.unsqueeze(2)).sum((1, 2))
    torch.testing.assert_close(found, cost[:, rows, ways].sum(-1).amin(1))

# Larger problems whose best assignment is known: a permutation's costs are the least of their rows.
for n in (64, 200):
    best = torch.stack([torch.randperm(n, device="cuda") for _ in range(3)])
    cost = torch.rand(3, n, n, device="cuda") + 1
    cost.scatter_(2, best.unsqueeze(2), torch.rand(3, n, 1, device="cuda"))
    assert torch.equal(solve_lap(cost, "cuda").long(), best)
print("right")
