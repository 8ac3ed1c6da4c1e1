"""Counts, names, measures and frees: the services of torch.cuda around a computation."""

import time

import torch

torch.cuda.empty_cache()
torch.cuda.reset_peak_memory_stats()
begin = time.time()
x = torch.ones(64, 64).cuda()
y = x @ x
torch.cuda.synchronize()
print(time.time() >= begin)
print(y.sum().item())
print(torch.cuda.max_memory_allocated() >= 0, torch.cuda.memory_allocated() >= 0)
name = torch.cuda.get_device_name(0)
print(isinstance(name, str))
print(torch.cuda.device_count() >= 0)
workers = max(1, torch.cuda.device_count())
print(workers > 0)
torch.cuda.ipc_collect()
