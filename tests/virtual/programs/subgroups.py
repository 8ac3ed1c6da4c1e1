"""Groups of some of four ranks: split off, and as dimensions of a mesh."""

from __future__ import annotations

import re

import torch
import torch.distributed as dist
from ranks import spawn
from torch.distributed.device_mesh import init_device_mesh

# Before torch 2.12, the wrapper that DETAIL puts around a group cannot be split, as on a real device.
RELEASE = tuple(int(number) for number in torch.__version__.split(".")[:2])


def total(group: dist.ProcessGroup | None = None) -> int:
    x = torch.tensor([2 ** dist.get_rank()], device="cuda")
    dist.all_reduce(x, group=group)
    return int(x.item())


def body(rank: int) -> None:
    assert total() == 0b1111
    some = dist.new_group([0, 1])  # from here on the ranks are in different numbers of groups
    assert rank > 1 or total(some) == 0b0011
    if dist.get_debug_level() != dist.DebugLevel.DETAIL or RELEASE >= (2, 12):
        split = dist.split_group(split_ranks=[[0, 2], [1, 3]])
        assert total(split) == (0b0101 if rank % 2 == 0 else 0b1010)
        mesh = init_device_mesh("cuda", (2, 2), mesh_dim_names=("data", "model"))
        assert total(mesh["model"].get_group()) == (0b0011 if rank < 2 else 0b1100)
        assert total(mesh["data"].get_group()) == (0b0101 if rank % 2 == 0 else 0b1010)
    else:
        try:
            init_device_mesh("cuda", (2, 2), mesh_dim_names=("data", "model"))
        except RuntimeError as error:
            assert re.search("missing implementation of split|not support splitting", str(error))
    got = torch.empty(1, device="cuda")
    ring = [
        dist.P2POp(dist.isend, torch.ones(1, device="cuda") * rank, (rank + 1) % 4),
        dist.P2POp(dist.irecv, got, (rank - 1) % 4),
    ]
    for request in dist.batch_isend_irecv(ring):
        request.wait()
    assert got.item() == (rank - 1) % 4
    if rank == 0:
        print("passed")


if __name__ == "__main__":
    spawn(body, size=4, bound=True)
