"""Catches out of memory, and shows what is used."""

import torch


def compute(size):
    return (torch.ones(size, device="cuda") * 2).sum().item()


def compute_safely(size):
    try:
        return compute(size)
    except torch.cuda.OutOfMemoryError:
        torch.cuda.empty_cache()
        return compute(size // 2)


def show(stage):
    free = torch.cuda.get_device_properties(0).total_memory - torch.cuda.memory_reserved(0)
    print(stage, free >= 0)


show("before")
print(compute_safely(8))
show("after")
