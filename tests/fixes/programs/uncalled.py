"""Names the test for a device and does not call it."""

import torch

x = torch.ones(3)
if torch.cuda.is_available:
    x = x.cuda()
print(x.sum().item())
device = "cuda" if torch.cuda.is_available else "cpu"
print((torch.ones(3, device=device) + x).tolist())
