"""What is seen where there is no device but the CPU."""

import torch
import torchport
from cases import case, run_all
from torch import nn


class Reads(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        y = self.linear(x)
        return y + 1 if y.sum() > 0 else y


@case
def reads():
    return torchport.verify(Reads(), torch.randn(2, 4), evaluate=True)


@case
def meta():
    return torchport.verify(nn.Linear(4, 4, device="meta"), torch.randn(2, 4))


class Tree(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        self.second = nn.Linear(8, 2)
        self.register_buffer("mean", torch.zeros(2, dtype=torch.float64))
        self.table = torch.arange(6, dtype=torch.int16).view(2, 3)

    def forward(self, x):
        return self.second(self.first(x)).double() - self.mean


@case
def tree():
    return torchport.verify(Tree(), torch.randn(3, 4), evaluate=True)


@case
def uses_the_same_layer_twice():
    layer = nn.Linear(4, 4)
    return torchport.verify(nn.Sequential(layer, nn.ReLU(), layer), torch.randn(3, 4))


@case
def a_long_run():
    class Long(nn.Module):
        def forward(self, x):
            for _ in range(2000):
                x = x * 1.0001
            return x

    return torchport.verify(Long(), torch.randn(3))


@case
def drivers():
    """Real devices, as far as the questions ask for them."""
    from dataclasses import asdict

    from torchport.observe import checklist

    torch.version.cuda = "12.8"
    answers = {}
    for name, version in (("older", 11080), ("same major", 12040), ("newer", 13000)):
        torch._C._cuda_getDriverVersion = lambda version=version: version
        answers[name] = asdict(checklist.driver(torch.device("cuda:0"), virtual=False))
    answers["cpu"] = asdict(checklist.driver(torch.device("cpu"), virtual=False))
    return answers


@case
def memory_that_is_short():
    from dataclasses import asdict

    from torchport.observe import checklist

    checklist.peak_of = lambda device: (95, 100)
    return asdict(checklist.memory(torch.device("cpu"), []))


if __name__ == "__main__":
    run_all()
