"""Measures with events."""

import torch

start = torch.cuda.Event(enable_timing=True)
end = torch.cuda.Event(enable_timing=True)
start.record()
x = torch.ones(8, 8).cuda()
y = x @ x
end.record()
torch.cuda.synchronize()
print(start.elapsed_time(end) >= 0, y.sum().item())
