"""DTensor over a device mesh, functional collectives and distributed checkpoints, in two processes."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as collectives
import torch.distributed.checkpoint as checkpoint
import torch.nn as nn
from ranks import spawn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)


def placements(mesh: DeviceMesh, rank: int) -> None:
    whole = torch.arange(24.0, device="cuda").reshape(6, 4)
    for start in (Shard(0), Shard(1), Replicate()):
        tensor = distribute_tensor(whole, mesh, [start])
        assert tensor.to_local().device == torch.device("cuda", rank)
        for end in (Shard(0), Shard(1), Replicate()):
            moved = tensor.redistribute(mesh, [end])
            assert torch.equal(moved.full_tensor(), whole), (start, end)
    partial = DTensor.from_local(whole, mesh, [Partial()])
    assert torch.equal(partial.full_tensor(), whole * 2)
    assert torch.equal(
        partial.redistribute(mesh, [Shard(0)]).to_local(), (whole * 2)[rank * 3 : rank * 3 + 3]
    )
    left = distribute_tensor(whole, mesh, [Shard(1)])
    right = distribute_tensor(whole.t().contiguous(), mesh, [Shard(0)])
    torch.testing.assert_close((left @ right).full_tensor(), whole @ whole.t())
    gathered = collectives.all_gather_tensor(whole[rank : rank + 1], 0, mesh)
    assert torch.equal(gathered + 0, whole[:2])
    summed = collectives.all_reduce(whole, "sum", mesh)
    assert torch.equal(summed + 0, whole * 2)
    part = collectives.reduce_scatter_tensor(whole, "avg", 0, mesh)
    assert torch.equal(part + 0, whole[rank * 3 : rank * 3 + 3])


def tensor_parallel(mesh: DeviceMesh, rank: int) -> None:
    def net() -> nn.Module:
        torch.manual_seed(4)
        return nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8)).cuda()

    whole, split = net(), net()
    parallelize_module(split, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    assert split[0].weight.to_local().shape == (8, 8)
    x = torch.randn(4, 8, device="cuda", generator=torch.Generator("cuda").manual_seed(5))
    (whole(x) ** 2).sum().backward()
    (split(x) ** 2).sum().backward()
    torch.testing.assert_close(split(x), whole(x))
    for mine, theirs in zip(split.parameters(), whole.parameters(), strict=True):
        torch.testing.assert_close(mine.grad.full_tensor(), theirs.grad)


def checkpoints(mesh: DeviceMesh, rank: int, folder: str) -> None:
    def sharded(seed: int) -> tuple[nn.Module, torch.optim.Optimizer]:
        torch.manual_seed(seed)
        net = nn.Sequential(nn.Linear(6, 10), nn.Linear(10, 4)).cuda()
        fully_shard(net, mesh=mesh)
        return net, torch.optim.Adam(net.parameters(), lr=0.1)

    net, optimizer = sharded(6)
    x = torch.ones(3, 6, device="cuda")
    for _ in range(2):
        net(x).sum().backward()
        optimizer.step()
    model_state, optimizer_state = get_state_dict(net, optimizer)
    checkpoint.save({"model": model_state, "optimizer": optimizer_state}, checkpoint_id=folder)
    want = net(x)

    other, other_optimizer = sharded(7)
    assert not torch.equal(other(x), want)
    model_state, optimizer_state = get_state_dict(other, other_optimizer)
    state = {"model": model_state, "optimizer": optimizer_state}
    checkpoint.load(state, checkpoint_id=folder)
    set_state_dict(
        other,
        other_optimizer,
        model_state_dict=state["model"],
        optim_state_dict=state["optimizer"],
    )
    assert torch.equal(other(x), want)
    for one, two in zip(optimizer.state.values(), other_optimizer.state.values(), strict=True):
        assert torch.equal(one["exp_avg"].full_tensor(), two["exp_avg"].full_tensor())


def body(rank: int) -> None:
    warnings.filterwarnings("ignore")
    mesh = init_device_mesh("cuda", (2,), mesh_dim_names=("all",))
    parts = (
        ("placements", lambda: placements(mesh, rank)),
        ("tensor parallel", lambda: tensor_parallel(mesh, rank)),
        ("checkpoints", lambda: checkpoints(mesh, rank, str(Path(sys.argv[1], "saved")))),
    )
    for name, part in parts:
        part()
        dist.barrier()
        if rank == 0:
            print("passed:", name, flush=True)


if __name__ == "__main__":
    spawn(body)
