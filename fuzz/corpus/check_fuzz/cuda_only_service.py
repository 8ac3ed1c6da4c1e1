import torch


def log(name):
    return name, torch.cuda.memory_allocated() / 1e6, torch.cuda.max_memory_allocated()


for i in range(torch.cuda.device_count()):
    log(i)
torch.cuda.empty_cache()
