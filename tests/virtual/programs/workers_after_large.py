"""Workers of a DataLoader start after the program held more than the host's memory, untouched."""

import os

import torch

host = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
blocks = [torch.empty(host // 4, dtype=torch.uint8, device="cuda") for _ in range(6)]
assert torch.cuda.memory_allocated() > host
data = torch.utils.data.TensorDataset(torch.arange(8.0))
loader = torch.utils.data.DataLoader(data, batch_size=4, num_workers=2)
assert sum(batch.sum().item() for (batch,) in loader) == 28
del blocks
assert sum(batch.cuda().sum().item() for (batch,) in loader) == 28
