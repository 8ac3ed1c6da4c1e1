"""One process of a distributed training."""

import os
import tempfile

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP


def main(rank, world_size, store):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method="file://" + store, rank=rank, world_size=world_size)
    torch.manual_seed(0)
    model = nn.Linear(3, 1).cuda(rank)
    model = DDP(model, device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.ones(2, 3).cuda(rank, non_blocking=True)
    loss = model(x).pow(2).mean()
    loss.backward()
    optimizer.step()
    total = torch.tensor([loss.item()], device=f"cuda:{rank}")
    dist.all_reduce(total)
    dist.barrier()
    print("%.4f" % (total.item() / world_size), sorted(model.module.state_dict()))
    dist.destroy_process_group()


with tempfile.TemporaryDirectory() as folder:
    main(0, 1, os.path.join(folder, "store"))
