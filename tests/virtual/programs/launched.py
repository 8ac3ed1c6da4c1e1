"""A training script as torchrun starts it: ranks from the environment, one device each."""

import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group()  # the default: nccl for CUDA, gloo for the CPU
    assert dist.get_backend(dist.group.WORLD) in ("nccl", "undefined", "cpu:gloo,cuda:nccl")

    torch.manual_seed(0)
    x = torch.randn(64, 10)
    data = TensorDataset(x, x @ torch.randn(10, 1))
    loader = DataLoader(
        data, batch_size=8, sampler=DistributedSampler(data), num_workers=1, pin_memory=True
    )
    model = DistributedDataParallel(nn.Linear(10, 1).cuda(), device_ids=[local_rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(4):
        loader.sampler.set_epoch(epoch)
        for x, y in loader:
            x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    total = loss.detach()
    dist.all_reduce(total, dist.ReduceOp.AVG)
    dist.barrier()
    if dist.get_rank() == 0:
        print(f"devices {torch.cuda.device_count()} world {dist.get_world_size()} loss {total:.3f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
