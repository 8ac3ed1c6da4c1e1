"""Models of four kinds, trained some steps on the device named: prints each loss, exactly.

The CPU and a virtual device are to print the same: it is the same kernels on the same bytes. What
is random while training (dropout) is left out: the generators of CUDA and of the CPU differ.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import torch
import torch.nn as nn
import torch.nn.functional as F

Batches = Iterator[tuple[torch.Tensor, ...]]


class Bottleneck(nn.Module):
    def __init__(self, inner: int, outer: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inner, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outer, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outer)
        self.skip = (
            nn.Sequential(nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer))
            if stride != 1 or inner != outer
            else nn.Identity()
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = F.relu(self.bn1(self.conv1(x)), inplace=True)
        out = F.relu(self.bn2(self.conv2(out)), inplace=True)
        return F.relu(self.bn3(self.conv3(out)) + self.skip(x), inplace=True)


class ResNet(nn.Module):
    """ResNet-50 at width 64 and depths (3, 4, 6, 3)."""

    def __init__(self, width: int, depths: tuple[int, ...], classes: int = 10) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 7, 2, 3, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, 1),
        )
        layers: list[nn.Module] = []
        inner = width
        for i, depth in enumerate(depths):
            outer = width * 4 * 2**i
            for j in range(depth):
                stride = 2 if i > 0 and j == 0 else 1
                layers.append(Bottleneck(inner, outer, outer // 4, stride))
                inner = outer
        self.layers = nn.Sequential(*layers)
        self.head = nn.Linear(inner, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(self.stem(x)).mean((2, 3)))


class Transformer(nn.Module):
    def __init__(self, words: int = 50, width: int = 32) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.place = nn.Parameter(torch.zeros(16, width))
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(width, words)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(x.size(1), device=x.device)
        return self.head(self.layers(self.embed(x) + self.place, mask, is_causal=True))


class LanguageModel(nn.Module):
    def __init__(self, words: int = 50, width: int = 32) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, 2, batch_first=True)
        self.head = nn.Linear(width, words)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.lstm(self.embed(x))[0])


class Clicks(nn.Module):
    """Like DLRM: bags of embeddings and dense features, with their products."""

    def __init__(self, tables: int = 4, rows: int = 100, width: int = 8) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, width))
        pairs = (tables + 1) * tables // 2
        self.top = nn.Sequential(nn.Linear(width + pairs, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, dense: torch.Tensor, sparse: torch.Tensor) -> torch.Tensor:
        x = self.bottom(dense)
        all_ = torch.stack([x, *(table(sparse[:, i]) for i, table in enumerate(self.tables))], 1)
        products = torch.bmm(all_, all_.transpose(1, 2))
        i, j = torch.tril_indices(all_.size(1), all_.size(1), -1, device=dense.device)
        return self.top(torch.cat([x, products[:, i, j]], 1)).squeeze(1)


def images(chance: torch.Generator) -> Batches:
    while True:
        kinds = torch.randint(0, 3, (8,), generator=chance)
        noise = torch.randn(8, 3, 32, 32, generator=chance)
        yield noise + 2 * F.one_hot(kinds, 3).view(8, 3, 1, 1), kinds


def words(chance: torch.Generator) -> Batches:
    while True:
        first = torch.randint(0, 50, (8, 1), generator=chance)
        text = (first + 7 * torch.arange(17)) % 50
        yield text[:, :-1], text[:, 1:].contiguous()


def clicks(chance: torch.Generator) -> Batches:
    while True:
        dense = torch.randn(32, 6, generator=chance)
        sparse = torch.randint(0, 100, (32, 4, 3), generator=chance)
        yield dense, sparse, (dense.sum(1) > 0).float()


def on_words(out: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(out.flatten(0, 1), target.flatten())


Task = tuple[Callable[[], nn.Module], Callable[[torch.Generator], Batches], Callable]
TASKS: dict[str, Task] = {
    "resnet": (lambda: ResNet(8, (1, 1, 1, 1)), images, F.cross_entropy),
    "transformer": (Transformer, words, on_words),
    "lstm": (LanguageModel, words, on_words),
    "dlrm": (Clicks, clicks, F.binary_cross_entropy_with_logits),
}


def train(name: str, device: str, steps: int = 15) -> list[float]:
    make, batches, loss_of = TASKS[name]
    torch.manual_seed(0)
    net = make().to(device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    source = batches(torch.Generator().manual_seed(1))
    losses = []
    for _ in range(steps):
        *inputs, target = (t.to(device) for t in next(source))
        optimizer.zero_grad()
        loss = loss_of(net(*inputs), target)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    net.eval()
    with torch.inference_mode():
        *inputs, target = (t.to(device) for t in next(source))
        losses.append(loss_of(net(*inputs), target).item())
    return losses


if __name__ == "__main__":
    for name in TASKS:
        print(name, *(loss.hex() for loss in train(name, sys.argv[1])))
