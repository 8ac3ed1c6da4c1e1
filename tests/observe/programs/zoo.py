"""Models and inputs for the command."""

import sys

import torch
from torch import nn


class Masked(nn.Module):
    """Has its mask on the host, and a name that is no markup."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 8)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), nn.ReLU()) for _ in range(3))
        self.head = nn.Linear(8, 4)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        if x.sum() > 0:
            x = x.cpu().to(x.device)
        mask = torch.ones(x.shape[1], 1) > 0  # <script>document.title = "owned"</script>
        return self.head(x * mask)


class Fine(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 4)

    def forward(self, x):
        return self.linear(x)


def masked():
    print("made by the factory")
    return Masked()


def tokens():
    return torch.ones(2, 5, dtype=torch.long)


def fine():
    return Fine()


def x():
    return torch.randn(3, 8)


def keywords():
    return {"x": torch.randn(3, 8)}


def step(model, x):
    model(x).sum().backward()


def loader():
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(8, 8)), 4)


def broken():
    raise OSError("no such weights")


def no_model():
    return 3


class Raises(nn.Module):
    def forward(self, x):
        raise ValueError("wrong in forward")


def raises():
    return Raises()


class Interrupted(nn.Module):
    def forward(self, x):
        raise KeyboardInterrupt


def interrupted():
    return Interrupted()


def exits():
    sys.exit(7)
