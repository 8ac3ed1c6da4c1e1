"""Models whose result depends on more than their tensors: branches on values, state, constants."""

from __future__ import annotations

from collections import namedtuple

import torch
from models import Plain
from torch import nn


class Counting(Plain):
    """Adds the number of its calls."""

    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(()))

    def forward(self, x):
        self.n += 1
        return self.layers(x) + self.n


class CountingByAssignment(Counting):
    def forward(self, x):
        self.n = self.n + 1
        return self.layers(x) + self.n


class CountingInPython(Plain):
    calls = 0

    def forward(self, x):
        self.calls += 1
        return self.layers(x) * self.calls


class Remembering(Plain):
    """Averages with what came before; the memory is a list in an object of its own."""

    class Memory:
        def __init__(self):
            self.seen = []

    def __init__(self):
        super().__init__()
        self.memory = self.Memory()

    def forward(self, x):
        self.memory.seen.append(self.layers(x).detach())
        return torch.stack(self.memory.seen).mean(0)


class ReturnsItsBuffer(Counting):
    def forward(self, x):
        self.n.add_(x.sum())
        return self.n


class LogsCalls(Counting):
    """Counts for a log, and keeps what it saw last; the result is the same each time."""

    def forward(self, x):
        self.n += 1
        self.last = x
        return self.layers(x)


class Overwrites(Plain):
    """Works in a buffer that it fills anew in each call."""

    def __init__(self):
        super().__init__()
        self.register_buffer("work", torch.zeros(4, 6))

    def forward(self, x):
        self.work.copy_(x)
        return self.layers(self.work) * 2


class Cache(nn.Module):
    """Writes at a position, and reads all positions: equal calls give equal results."""

    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.zeros(8, 6))

    def forward(self, x, at):
        self.keys.index_copy_(0, at, x)
        return self.keys.sum(0)


class ChangesItsInput(Plain):
    def forward(self, x):
        x.mul_(2)
        return self.layers(x)


class ChangesItsWeights(Plain):
    def forward(self, x):
        self.layers[0].weight.data.mul_(0.5)
        return self.layers(x)


class Settings(Plain):
    def forward(self, x, scale=2.0, flag=False, *, mode="plain", mask=None):
        y = self.layers(x) * scale
        return -y if flag else y


Pair = namedtuple("Pair", "first second")
torch.utils._pytree._register_namedtuple(Pair, serialized_type_name="models_with_memory.Pair")


class InATuple(Plain):
    def forward(self, x):
        return (self.layers(x),)


class InAPair(Plain):
    def forward(self, x):
        return Pair(self.layers(x), [x, None])


# Reads of values in Python; each returns something that depends on what was read.
def branch(self, x):
    return x + 1 if x.sum() > 0 else x - 1


def number(self, x):
    return x * int(x.abs().max() * 10)


def item(self, x):
    return x + x.mean().item()


def in_numpy(self, x):
    return x + torch.from_numpy(x.detach().numpy().cumsum(0))


def as_list(self, x):
    return x + torch.tensor(x[0].tolist())


def equal(self, x):
    return x if torch.equal(x, x.abs()) else -x


def is_nonzero(self, x):
    return x if torch.is_nonzero(x.sum().clamp(min=0)) else -x


def size_of_values(self, x):
    return x.sum() if x[x > 0].shape[0] > 3 else x.mean()


def length_of_values(self, x):
    return x.sum() if len(torch.nonzero(x > 0)) > 3 else x.mean()


def index(self, x):
    return x[:, : x.abs().argmax() % 3 + 1]


VALUES = [branch, number, item, in_numpy, as_list, equal, is_nonzero, size_of_values,
          length_of_values]  # fmt: skip


# Reads of what is no value of an input: a trace of them is right.
def of_weights(self, x):
    return x if self.layers[0].weight.sum() > 100 else self.layers(x)


def of_a_constant(self, x):
    return x if torch.ones(3).sum() > 2 else -x


def of_a_size(self, x):
    return x[1:] if x.shape[0] > 3 else x


def of_a_rank(self, x):
    return self.layers(x) if x.dim() == 2 and len(x.shape) == 2 else x


# A trace records the end of a slice as a tensor.
HARMLESS = [of_weights, of_a_constant, of_a_size, of_a_rank, index]


def with_forward(function):
    return type(function.__name__, (Plain,), {"forward": function})().eval()
