"""Halves of a network on two devices, if there are two."""

import torch
import torch.nn as nn


class Split(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4).to("cuda:0")
        self.second = nn.Linear(4, 2).to("cuda:%d" % (torch.cuda.device_count() - 1))

    def forward(self, x):
        x = torch.relu(self.first(x.to("cuda:0")))
        return self.second(x.to(self.second.weight.device))


torch.manual_seed(0)
model = Split()
print("%.4f" % model(torch.ones(2, 4)).sum().cpu().item())
