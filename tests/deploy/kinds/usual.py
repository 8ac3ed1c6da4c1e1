"""Usual kinds of models, each small, with random weights and a sample of its inputs."""

from __future__ import annotations

import math

import torch
from kinds import kind
from torch import nn
from torch.nn import functional as F


@kind("multilayer perceptron")
def perceptron():
    return nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 3)), torch.randn(4, 8)


@kind("convolutional classifier with batch normalization")
def convolutional():
    layers = [nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5)]
    model = nn.Sequential(*layers, *head)
    model(torch.randn(16, 3, 16, 16))  # statistics that are not those of a new module
    return model, torch.randn(4, 3, 16, 16)


class Residual(nn.Module):
    def __init__(self, wide, stride=1, groups=1):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(wide, wide, 3, stride, 1, groups=groups, bias=False),
            nn.BatchNorm2d(wide),
            nn.SiLU(),
            nn.Conv2d(wide, wide, 1, bias=False),
            nn.BatchNorm2d(wide),
        )
        self.short = nn.Identity() if stride == 1 else nn.AvgPool2d(stride)

    def forward(self, x):
        return F.relu(self.body(x) + self.short(x))


@kind("residual network")
def residual():
    stem = nn.Conv2d(3, 16, 3, 2, 1)
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 4)]
    return nn.Sequential(stem, Residual(16), Residual(16, 2), *head), torch.randn(4, 3, 32, 32)


@kind("depthwise convolutions with squeeze and excitation")
def depthwise():
    class Squeezed(nn.Module):
        def __init__(self):
            super().__init__()
            self.block = Residual(16, groups=16)
            self.gate = nn.Sequential(nn.Conv2d(16, 4, 1), nn.ReLU(), nn.Conv2d(4, 16, 1))

        def forward(self, x):
            x = self.block(x)
            return x * F.hardsigmoid(self.gate(x.mean((2, 3), keepdim=True)))

    return nn.Sequential(nn.Conv2d(3, 16, 3), Squeezed()), torch.randn(4, 3, 16, 16)


@kind("U-Net, upsampled by interpolation")
def u_net():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.Conv2d(3, 8, 3, padding=1)
            self.deep = nn.Conv2d(8, 8, 3, padding=1)
            self.up = nn.Conv2d(16, 2, 3, padding=1)

        def forward(self, image):
            wide = F.relu(self.down(image))
            deep = F.relu(self.deep(F.max_pool2d(wide, 2)))
            back = F.interpolate(deep, size=wide.shape[-2:], mode="bilinear", align_corners=False)
            return self.up(torch.cat([wide, back], 1))

    return Net(), torch.randn(4, 3, 16, 16)


@kind("generator of transposed convolutions")
def generator():
    layers = [nn.ConvTranspose2d(8, 16, 4), nn.BatchNorm2d(16), nn.ReLU()]
    return nn.Sequential(*layers, nn.ConvTranspose2d(16, 3, 4, 2, 1), nn.Tanh()), torch.randn(
        4, 8, 1, 1
    )


@kind("dilated convolutions over time")
def temporal():
    class Causal(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Conv1d(4, 4, 3, dilation=2**at) for at in range(3))

        def forward(self, x):
            for at, layer in enumerate(self.layers):
                x = x + torch.tanh(layer(F.pad(x, (2 * 2**at, 0))))
            return x

    return Causal(), torch.randn(4, 4, 20)


@kind("convolutions over volumes")
def volumes():
    return nn.Sequential(
        nn.Conv3d(1, 4, 3), nn.InstanceNorm3d(4, affine=True), nn.ReLU()
    ), torch.randn(4, 1, 8, 8, 8)


@kind("LSTM that takes and returns its state")
def lstm():
    class Stepping(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.LSTM(6, 8, batch_first=True)

        def forward(self, x, h, c):
            y, (h, c) = self.cell(x, (h, c))
            return y, h, c

    return Stepping(), {
        "x": torch.randn(4, 5, 6),
        "h": torch.zeros(1, 4, 8),
        "c": torch.zeros(1, 4, 8),
    }


@kind("bidirectional GRU")
def gru():
    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            self.of = nn.GRU(6, 8, 2, batch_first=True, bidirectional=True)

        def forward(self, x):
            return self.of(x)[0][:, -1]

    return Last(), torch.randn(4, 5, 6)


@kind("TransformerEncoder")
def encoder():
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    return nn.TransformerEncoder(layer, 2), torch.randn(4, 6, 16)


@kind("Transformer with a causal mask")
def transformer():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.of = nn.Transformer(16, 2, 1, 1, 32, batch_first=True)

        def forward(self, source, target):
            size = target.shape[1]
            mask = torch.full((size, size), -math.inf, device=target.device).triu(1)
            return self.of(source, target, tgt_mask=mask)

    return Net(), (torch.randn(4, 6, 16), torch.randn(4, 5, 16))


class Rotary(nn.Module):
    """Attention of a decoder: fewer heads for keys than for queries, rotated by their positions."""

    def __init__(self, wide=16, heads=4, keys=2):
        super().__init__()
        self.heads, self.keys, self.each = heads, keys, wide // heads
        self.q = nn.Linear(wide, wide, bias=False)
        self.kv = nn.Linear(wide, 2 * keys * self.each, bias=False)
        self.register_buffer("speed", 1.0 / 100 ** (torch.arange(0, self.each, 2) / self.each))

    def turned(self, x):
        angle = torch.arange(x.shape[2], device=x.device)[:, None] * self.speed
        a, b = x[..., ::2], x[..., 1::2]
        sin, cos = angle.sin(), angle.cos()
        return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)

    def forward(self, x):
        n, s, _ = x.shape
        q = self.q(x).view(n, s, self.heads, self.each).transpose(1, 2)
        k, v = self.kv(x).view(n, s, 2 * self.keys, self.each).transpose(1, 2).chunk(2, 1)
        k = self.turned(k).repeat_interleave(self.heads // self.keys, 1)
        v = v.repeat_interleave(self.heads // self.keys, 1)
        y = F.scaled_dot_product_attention(self.turned(q), k, v, is_causal=True)
        return x + y.transpose(1, 2).reshape(n, s, -1)


@kind("decoder with rotary positions and grouped queries")
def decoder():
    return nn.Sequential(
        nn.Embedding(50, 16), Rotary(), nn.RMSNorm(16), nn.Linear(16, 50)
    ), torch.randint(50, (4, 7))


@kind("decoder that takes and returns a cache of keys and values")
def cached():
    class Step(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v = (nn.Linear(16, 16) for _ in range(3))

        def forward(self, x, past):
            k = torch.cat([past[0], self.k(x)], 1)
            v = torch.cat([past[1], self.v(x)], 1)
            return F.scaled_dot_product_attention(self.q(x), k, v), (k, v)

    past = (torch.randn(4, 3, 16), torch.randn(4, 3, 16))
    return Step(), {"x": torch.randn(4, 1, 16), "past": past}


@kind("recommender with EmbeddingBag and offsets")
def recommender():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.bag = nn.EmbeddingBag(20, 8, mode="mean")
            self.out = nn.Linear(8, 1)

        def forward(self, ids, offsets):
            return self.out(self.bag(ids, offsets))

    return Net(), {"ids": torch.randint(20, (10,)), "offsets": torch.tensor([0, 2, 5, 7])}


@kind("graph convolution over an edge list")
def graph():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.of = nn.Linear(6, 6)

        def forward(self, nodes, edges):
            sent = self.of(nodes)[edges[0]]
            return torch.zeros_like(nodes).index_add_(0, edges[1], sent) + nodes

    return Net(), {"nodes": torch.randn(5, 6), "edges": torch.randint(5, (2, 9))}


@kind("points with a maximum over them")
def points():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.each = nn.Sequential(nn.Linear(3, 16), nn.ReLU())
            self.out = nn.Linear(16, 4)

        def forward(self, cloud):
            return F.log_softmax(self.out(self.each(cloud).max(1).values), -1)

    return Net(), torch.randn(4, 30, 3)


@kind("two towers, each row compared with each other")
def towers():
    class Clip(nn.Module):
        def __init__(self):
            super().__init__()
            self.image, self.text = nn.Linear(8, 6), nn.Linear(5, 6)
            self.scale = nn.Parameter(torch.tensor(2.0))

        def forward(self, image, text):
            image, text = (
                F.normalize(self.image(image), dim=-1),
                F.normalize(self.text(text), dim=-1),
            )
            return self.scale.exp() * image @ text.T

    return Clip(), {"image": torch.randn(4, 8), "text": torch.randn(4, 5)}


@kind("sampling by a grid (spatial transformer)")
def grid():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.where = nn.Linear(3 * 64, 6)
            nn.init.constant_(self.where.bias, 0.3)

        def forward(self, image):
            theta = self.where(image.flatten(1)).view(-1, 2, 3)
            return F.grid_sample(
                image, F.affine_grid(theta, image.shape, align_corners=False), align_corners=False
            )

    return Net(), torch.randn(4, 3, 8, 8)


@kind("tied weights (autoencoder)")
def tied():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.down, self.up = nn.Linear(8, 3), nn.Linear(3, 8)
            self.up.weight = nn.Parameter(self.down.weight.T.contiguous())
            self.down.bias = nn.Parameter(torch.randn(3))

        def forward(self, x):
            return F.linear(torch.tanh(self.down(x)), self.down.weight.T, self.up.bias)

    return Net(), torch.randn(4, 8)


@kind("outputs in a dictionary of lists (feature pyramid)")
def pyramid():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.levels = nn.ModuleList(nn.Conv2d(3, 4, 1) for _ in range(3))

        def forward(self, x):
            found = [level(F.avg_pool2d(x, 2**at)) for at, level in enumerate(self.levels)]
            return {"features": found, "pooled": found[-1].mean((2, 3))}

    return Net(), torch.randn(4, 3, 16, 16)


@kind("weight normalization and spectral normalization")
def normalized():
    first = nn.utils.parametrizations.weight_norm(nn.Linear(8, 8))
    second = nn.utils.parametrizations.spectral_norm(nn.Linear(8, 4))
    return nn.Sequential(first, nn.ReLU(), second), torch.randn(4, 8)


@kind("low-rank adapters")
def adapters():
    class Adapted(nn.Module):
        def __init__(self):
            super().__init__()
            self.base = nn.Linear(16, 16)
            self.a, self.b = nn.Parameter(torch.randn(16, 2)), nn.Parameter(torch.randn(2, 16))

        def forward(self, x):
            return self.base(x) + 0.5 * (x @ self.a @ self.b)

    return nn.Sequential(Adapted(), nn.LayerNorm(16), Adapted()), torch.randn(4, 16)
