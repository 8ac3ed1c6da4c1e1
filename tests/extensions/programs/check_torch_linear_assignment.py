"""Batched linear assignment: the kernel's answer costs as little as the best of all permutations."""

from itertools import permutations

import torch
from torch_linear_assignment import _backend

assert _backend.has_cuda()
torch.manual_seed(0)


def least(cost):
    """The cost of the best assignment of each [W, T] problem with W <= T."""
    workers, tasks = cost.shape[1:]
    ways = torch.tensor(list(permutations(range(tasks), workers)), device=cost.device)
    return cost[:, torch.arange(workers, device=cost.device), ways].sum(-1).amin(1)


for dtype in (torch.float, torch.double):
    for workers, tasks in ((6, 6), (3, 7), (1, 5), (5, 1)):
        cost = torch.randn(8, workers, tasks, dtype=dtype, device="cuda")
        wide = cost if workers <= tasks else cost.transpose(1, 2).contiguous()
        of_worker, of_task = (answer.long() for answer in _backend.batch_linear_assignment(wide))
        assert of_worker.shape == wide.shape[:2]
        assert of_task.shape == (8, wide.shape[2])
        found = wide.gather(2, of_worker.unsqueeze(2)).sum((1, 2))
        torch.testing.assert_close(found, least(wide), rtol=1e-5, atol=1e-5)
        # Both answers tell of one matching.
        there_and_back = of_task.gather(1, of_worker)
        assert torch.equal(there_and_back, torch.arange(wide.shape[1], device="cuda").expand(8, -1))
        assert ((of_task >= 0).sum(1) == wide.shape[1]).all()
print("right")
