"""training_step.py PROGRAM DEVICE: obeys the commands `step`, `peak` and `loss` on standard input.

`step`: seconds that one training step took (the mean of several of a small program); `peak`: the most memory of this process, in KiB;
`loss`: the last step's loss.
"""

from __future__ import annotations

import resource
import sys
import time

import torch
from torch import nn


class Bottleneck(nn.Module):
    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        out = width * 4
        self.body = nn.Sequential(
            nn.Conv2d(channels, width, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, out, 1, bias=False),
            nn.BatchNorm2d(out),
        )
        self.short = (
            nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))
            if stride != 1 or channels != out
            else nn.Identity()
        )

    def forward(self, x):
        return torch.relu(self.body(x) + self.short(x))


def resnet50() -> nn.Module:
    """The layout of He et al. 2016, table 1, 50 layers."""
    layers = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
    ]
    channels = 64
    for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(count):
            layers.append(Bottleneck(channels, width, stride if i == 0 else 1))
            channels = width * 4
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(8000, 256)
        layer = nn.TransformerEncoderLayer(256, 8, 1024, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 4)
        self.out = nn.Linear(256, 8000)

    def forward(self, tokens):
        return self.out(self.layers(self.embed(tokens))).flatten(0, 1)


class Lstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(8000, 256)
        self.lstm = nn.LSTM(256, 512, num_layers=2, batch_first=True)
        self.out = nn.Linear(512, 8000)

    def forward(self, tokens):
        return self.out(self.lstm(self.embed(tokens))[0]).flatten(0, 1)


class Dlrm(nn.Module):
    """Embedding tables and dense features, dot interaction, as in Naumov et al. 2019."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(
            nn.EmbeddingBag(100_000, 64, mode="sum", sparse=True) for _ in range(8)
        )
        self.bottom = nn.Sequential(nn.Linear(13, 256), nn.ReLU(), nn.Linear(256, 64), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(64 + 36, 512), nn.ReLU(), nn.Linear(512, 2))

    def forward(self, features):
        dense, sparse = features
        x = self.bottom(dense)
        rows = torch.stack([x] + [t(i) for t, i in zip(self.tables, sparse, strict=True)], 1)
        i, j = torch.triu_indices(9, 9, 1, device=x.device)
        return self.top(torch.cat((x, torch.bmm(rows, rows.transpose(1, 2))[:, i, j]), 1))


class LastOfLstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(128, 128, batch_first=True)
        self.out = nn.Linear(128, 10)

    def forward(self, steps):
        return self.out(self.lstm(steps)[0][:, -1])


def small_cnn() -> nn.Module:
    layers: list[nn.Module] = []
    for channels, out in ((3, 16), (16, 32)):
        layers += [nn.Conv2d(channels, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU()]
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))


def small_transformer() -> nn.Module:
    layer = nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True)
    return nn.Sequential(nn.TransformerEncoder(layer, 2), nn.Flatten(), nn.Linear(32 * 128, 10))


# Programs whose operators take microseconds each, so that the cost of a call shows.
SMALL = {
    "small cnn": (small_cnn, (4, 3, 64, 64)),
    "small transformer": (small_transformer, (4, 32, 128)),
    "small lstm": (LastOfLstm, (4, 32, 128)),
}
REPEATS = 20  # of a small program's step


def make(program: str, device: str):
    """The model, its input and its target, drawn on the CPU so that both devices see the same."""
    torch.manual_seed(0)
    if program == "resnet50":
        return resnet50(), torch.randn(8, 3, 128, 128), torch.randint(1000, (8,))
    if program == "transformer":
        tokens = torch.randint(8000, (8, 128))
        return Transformer(), tokens, tokens.flatten()
    if program == "lstm":
        tokens = torch.randint(8000, (16, 64))
        return Lstm(), tokens, tokens.flatten()
    if program == "dlrm":
        sparse = [torch.randint(100_000, (2048, 10)).to(device) for _ in range(8)]
        return Dlrm(), (torch.randn(2048, 13).to(device), sparse), torch.randint(2, (2048,))
    if program in SMALL:
        model, size = SMALL[program]
        return model(), torch.randn(size), torch.randint(10, (4,))
    raise SystemExit(f"unknown program: {program}")


def main() -> None:
    program, device = sys.argv[1:]
    model, features, target = make(program, device)
    model.to(device)
    if isinstance(features, torch.Tensor):
        features = features.to(device)
    target = target.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_of = nn.CrossEntropyLoss()
    last = 0.0
    for word in map(str.strip, sys.stdin):
        if word == "step":
            repeats = REPEATS if program in SMALL else 1
            # The processor's time: what else runs on the machine counts for more in a short step.
            clock = time.process_time if program in SMALL else time.perf_counter
            start = clock()
            for _ in range(repeats):
                optimizer.zero_grad()
                loss = loss_of(model(features), target)
                loss.backward()
                optimizer.step()
            last = loss.item()
            print((clock() - start) / repeats, flush=True)
        elif word == "peak":
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, flush=True)
        elif word == "loss":
            print(last, flush=True)


if __name__ == "__main__":
    main()
