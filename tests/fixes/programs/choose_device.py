"""The usual choice between CUDA and the CPU, written in four ways."""

import torch

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
dev = "cuda" if torch.cuda.is_available() else "cpu"
use_cuda = torch.cuda.is_available()
if torch.cuda.is_available():
    place = torch.device("cuda")
else:
    place = torch.device("cpu")

a = torch.arange(4).float().to(device)
b = torch.ones(4, device=dev)
c = torch.ones(4).to(place)
if use_cuda:
    d = torch.ones(4).cuda()
else:
    d = torch.ones(4)
print((a + b + c).tolist(), d.sum().item())
if device.type == "cuda":
    torch.cuda.synchronize()
scale = 2.0 if a.is_cuda or not a.is_cuda else 1.0
print((a * scale).sum().item())
