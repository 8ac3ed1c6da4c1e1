"""Models and inputs that the tests export; `name: why it is here`."""

from __future__ import annotations

import torch
from torch import nn


class Net(nn.Module):
    """Two inputs, one of them by name only; nested outputs, one None; an unregistered tensor; dropout."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.bn = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8, 10)
        self.drop = nn.Dropout(0.5)
        self.shift = torch.ones(8)

    def forward(self, x, *, scale=None):
        y = self.bn(self.conv(x)).relu().mean((2, 3)) + self.shift.to(x.dtype)
        if scale is not None:
            y = y * scale
        return {"logits": self.fc(self.drop(y)), "parts": (y, None)}


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))

    def forward(self, x):
        return self.layers(x)


class Dropping(Plain):
    """Draws numbers in evaluation mode, too: no artefact computes the same."""

    def forward(self, x):
        hidden = self.layers[0](x).relu()
        return self.layers[2](nn.functional.dropout(hidden, training=True))


class Keeper(Plain):
    """Tensors in a list and on the class: none of them is in the registry."""

    scale = torch.full((4,), 2.0)

    def __init__(self):
        super().__init__()
        self.tables = [torch.arange(4.0), torch.ones(4)]

    def forward(self, x):
        return self.layers(x) * self.scale + self.tables[0] - self.tables[1]


class OnTwoDevices(Plain):
    def forward(self, x):
        bias = torch.ones(4)  # on the CPU, whatever x is on
        return self.layers(x) + bias


class Branching(Plain):
    """Takes one of two ways by what the data is: a trace has one of them."""

    def forward(self, x):
        if x.sum() > 0:
            return self.layers(x)
        return -self.layers(x)


@torch.library.custom_op("mine::twice", mutates_args=())
def _twice(x: torch.Tensor) -> torch.Tensor:
    return 2 * x


@_twice.register_fake
def _(x):
    return torch.empty_like(x)


class Twice(Plain):
    """Calls an operator that is defined in Python."""

    def forward(self, x):
        return torch.ops.mine.twice(self.layers(x))


class Keeping(nn.Module):
    """As detectors do: scores, a threshold, as many results as there are."""

    def __init__(self):
        super().__init__()
        self.features = nn.Conv2d(3, 8, 3, stride=4)
        self.head = nn.Conv2d(8, 5, 1)

    def forward(self, x):
        found = self.head(self.features(x).relu()).flatten(2).transpose(1, 2)[0]
        kept = found[found[:, 0].sigmoid() > 0.5]
        return kept[:, 1:], kept[:, 0]


class Table(nn.Module):
    """A position for each token, of which there are 16."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(20, 8)
        self.register_buffer("positions", torch.arange(16), persistent=False)
        self.places = nn.Embedding(16, 8)

    def forward(self, ids):
        return self.tokens(ids) + self.places(self.positions[: ids.shape[1]])


class Flat(nn.Module):
    """Fixed to its batch by a number in Python."""

    def forward(self, x):
        return x.reshape(4, 6)


class NotNumbers(Plain):
    def forward(self, x):
        return self.layers(x) / 0.0


class Failing(Plain):
    def forward(self, x):
        return self.layers(x.reshape(-1, 7))


class Slow(Plain):
    """Long enough for a signal to come while it is exported."""

    def forward(self, x):
        for _ in range(500):
            x = torch.sin(x) + 1
        return self.layers(x)


def _seeded(kind):
    def make():
        torch.manual_seed(0)
        return kind()

    return make


net, plain, dropping, two_devices, branching, twice, keeping, table, flat, nan, failing, slow = map(
    _seeded,
    (
        Net,
        Plain,
        Dropping,
        OnTwoDevices,
        Branching,
        Twice,
        Keeping,
        Table,
        Flat,
        NotNumbers,
        Failing,
        Slow,
    ),
)


def raising():
    raise RuntimeError("no data set here")


def net_half():
    return net().half()


def picture():
    return torch.randn(2, 3, 16, 16, generator=torch.Generator().manual_seed(1))


def rows():
    return torch.randn(4, 6, generator=torch.Generator().manual_seed(1))


def ids():
    return torch.randint(20, (2, 5), generator=torch.Generator().manual_seed(1))


def nothing():
    return torch.randn(0, 6)
