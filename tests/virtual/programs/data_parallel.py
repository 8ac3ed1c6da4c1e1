"""DistributedDataParallel and fully_shard over two processes, against the same steps in one."""

from __future__ import annotations

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from ranks import spawn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

STEPS, BATCH = 5, 8


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.norm = nn.BatchNorm2d(8)
        self.blocks = nn.Sequential(*(nn.Linear(8, 8) for _ in range(3)))
        self.head = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.norm(self.conv(x))).mean((2, 3))
        return self.head(torch.tanh(self.blocks(x)))


def model() -> Net:
    torch.manual_seed(1)
    net = Net().cuda()
    net.norm.eval()  # a batch of half the size has other statistics
    return net


def batches() -> list[tuple[torch.Tensor, torch.Tensor]]:
    chance = torch.Generator().manual_seed(2)
    return [
        (
            torch.randn(BATCH, 3, 10, 10, generator=chance).cuda(),
            torch.randint(0, 5, (BATCH,), generator=chance).cuda(),
        )
        for _ in range(STEPS)
    ]


def train(net: nn.Module, rank: int | None) -> list[float]:
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    losses = []
    for x, y in batches():
        if rank is not None:
            half = slice(rank * BATCH // 2, (rank + 1) * BATCH // 2)
            x, y = x[half], y[half]
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def mean_over_ranks(losses: list[float]) -> torch.Tensor:
    every = torch.tensor(losses, device="cuda")
    dist.all_reduce(every, dist.ReduceOp.AVG)
    return every.cpu()


def check(name: str, losses: list[float], alone: list[float], got: dict, want: dict) -> None:
    # Two halves are summed in another order than a whole: equal but for rounding.
    torch.testing.assert_close(mean_over_ranks(losses), torch.tensor(alone))
    for key, value in want.items():
        ours = got[key].full_tensor() if isinstance(got[key], DTensor) else got[key]
        assert ours.is_cuda
        torch.testing.assert_close(ours, value, rtol=1e-4, atol=1e-5)
    if dist.get_rank() == 0:
        print("passed:", name, flush=True)


def body(rank: int) -> None:
    single = model()
    alone = train(single, None)
    want = single.state_dict()

    net = model()
    ddp = DistributedDataParallel(net, device_ids=[rank], gradient_as_bucket_view=True)
    check("ddp", train(ddp, rank), alone, net.state_dict(), want)

    net = model()
    ddp = DistributedDataParallel(net, device_ids=[rank], find_unused_parameters=True)
    seen = []

    def hook(state, bucket):  # type: ignore[no-untyped-def]  # annotations would have to be types
        seen.append(bucket.buffer().device)
        work = dist.all_reduce(bucket.buffer(), dist.ReduceOp.AVG, async_op=True)
        return work.get_future().then(lambda done: done.value()[0])

    ddp.register_comm_hook(None, hook)
    check("ddp with a hook", train(ddp, rank), alone, net.state_dict(), want)
    assert seen and all(device == torch.device("cuda", rank) for device in seen)

    net = model()
    before = torch.cuda.memory_allocated()
    for layer in (*net.blocks, net.head):
        fully_shard(layer)
    fully_shard(net)
    assert torch.cuda.memory_allocated() <= before
    assert all(isinstance(p, DTensor) for p in net.parameters())
    assert net.head.weight.to_local().shape[0] in (3, 2)
    check("fully_shard", train(net, rank), alone, net.state_dict(), want)

    net, reference = model(), model()
    net.norm, reference.norm = nn.Identity(), nn.Identity()
    alone = train(reference, None)
    fully_shard(net, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
    losses = mean_over_ranks(train(net, rank))
    torch.testing.assert_close(losses, torch.tensor(alone), rtol=0.1, atol=0.1)
    if rank == 0:
        print("passed:", "fully_shard in bfloat16", flush=True)


if __name__ == "__main__":
    spawn(body)
