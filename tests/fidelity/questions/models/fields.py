"""Memory of programs beyond vision and language models: diffusion, recommenders, graphs, recurrent and speech
models, science. Their models stand here, or come from the package in the question's name."""

import itertools

import torch
from recorder.registry import Question, add
from recorder.training import serve, train
from torch import nn
from torch.nn import functional as F

HEAVY = True


def ask(title, function, *arguments, **settings):
    add(Question(title, lambda: function(*arguments, **settings), alone=True, seconds=300))


# Diffusion. The network is that of Stable Diffusion 1 with half the channels.
class Attention(nn.Module):
    def __init__(self, width, context, heads=8):
        super().__init__()
        self.heads = heads
        self.q, self.out = nn.Linear(width, width, bias=False), nn.Linear(width, width)
        self.k, self.v = (nn.Linear(context, width, bias=False) for _ in "kv")

    def forward(self, x, context):
        q, k, v = (
            one.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for one in (self.q(x), self.k(context), self.v(context))
        )
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class Transformer(nn.Module):
    """Attention to itself and to a text, over the places of a picture."""

    def __init__(self, width, context):
        super().__init__()
        self.norm = nn.GroupNorm(32, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.own, self.cross = Attention(width, width), Attention(width, context)
        self.widen, self.narrow = nn.Linear(width, 8 * width), nn.Linear(4 * width, width)

    def forward(self, picture, text):
        x = self.norm(picture).flatten(2).transpose(1, 2)
        normal = self.norms[0](x)
        x = x + self.own(normal, normal)
        x = x + self.cross(self.norms[1](x), text)
        value, gate = self.widen(self.norms[2](x)).chunk(2, -1)
        x = x + self.narrow(value * F.gelu(gate))
        return picture + x.transpose(1, 2).unflatten(2, picture.shape[2:])


class Residual(nn.Module):
    def __init__(self, start, end, moment=0):
        super().__init__()
        self.norms = nn.ModuleList([nn.GroupNorm(32, start), nn.GroupNorm(32, end)])
        self.first, self.second = (
            nn.Conv2d(start, end, 3, padding=1),
            nn.Conv2d(end, end, 3, padding=1),
        )
        self.moment = nn.Linear(moment, end) if moment else None
        self.short = nn.Conv2d(start, end, 1) if start != end else nn.Identity()

    def forward(self, x, moment=None):
        y = self.first(F.silu(self.norms[0](x)))
        if self.moment is not None:
            y = y + self.moment(F.silu(moment))[:, :, None, None]
        return self.short(x) + self.second(F.silu(self.norms[1](y)))


def waves(moments, width):
    rates = torch.exp(torch.arange(width // 2, device=moments.device) * (-9.2 / (width // 2)))
    angles = moments[:, None].float() * rates
    return torch.cat([angles.cos(), angles.sin()], 1)


class UNet(nn.Module):
    def __init__(self, widths=(160, 320, 640, 640), context=768):
        super().__init__()
        moment = 4 * widths[0]
        self.moment = nn.Sequential(
            nn.Linear(widths[0], moment), nn.SiLU(), nn.Linear(moment, moment)
        )
        self.start, width, kept = nn.Conv2d(4, widths[0], 3, padding=1), widths[0], [widths[0]]
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        for level, next_width in enumerate(widths):
            for _ in range(2):
                look = Transformer(next_width, context) if level < 3 else None
                self.down.append(nn.ModuleList([Residual(width, next_width, moment), look]))
                width = next_width
                kept.append(width)
            if level < 3:
                self.down.append(nn.Conv2d(width, width, 3, stride=2, padding=1))
                kept.append(width)
        self.middle = nn.ModuleList([Residual(width, width, moment), Transformer(width, context),
                                     Residual(width, width, moment)])  # fmt: skip
        for level, next_width in reversed([*enumerate(widths)]):
            for _ in range(3):
                look = Transformer(next_width, context) if level < 3 else None
                self.up.append(
                    nn.ModuleList([Residual(width + kept.pop(), next_width, moment), look])
                )
                width = next_width
            if level:
                self.up.append(nn.Conv2d(width, width, 3, padding=1))
        self.end = nn.Sequential(
            nn.GroupNorm(32, width), nn.SiLU(), nn.Conv2d(width, 4, 3, padding=1)
        )

    def forward(self, x, moments, text):
        moment = self.moment(waves(moments, self.start.out_channels).to(x.dtype))
        x = self.start(x)
        kept = [x]
        for part in self.down:
            x = self.block(part, x, moment, text) if isinstance(part, nn.ModuleList) else part(x)
            kept.append(x)
        first, look, second = self.middle
        x = second(look(first(x, moment), text), moment)
        for part in self.up:
            if isinstance(part, nn.ModuleList):
                x = self.block(part, torch.cat([x, kept.pop()], 1), moment, text)
            else:
                x = part(F.interpolate(x, scale_factor=2.0, mode="nearest"))
        return self.end(x)

    @staticmethod
    def block(part, x, moment, text):
        x = part[0](x, moment)
        return x if part[1] is None else part[1](x, text)


class Dit(nn.Module):
    """A transformer over patches whose norms depend on the moment and the class."""

    def __init__(self, width=768, depth=12, heads=12):
        super().__init__()
        self.patches = nn.Conv2d(4, width, 2, stride=2)
        self.places = nn.Parameter(torch.zeros(1, 256, width))
        self.moment = nn.Sequential(nn.Linear(256, width), nn.SiLU(), nn.Linear(width, width))
        self.classes = nn.Embedding(1001, width)
        self.heads, self.depth = heads, depth
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(depth))
        self.out = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.wide = nn.ModuleList(nn.Linear(width, 4 * width) for _ in range(depth))
        self.narrow = nn.ModuleList(nn.Linear(4 * width, width) for _ in range(depth))
        self.scales = nn.ModuleList(nn.Linear(width, 6 * width) for _ in range(depth))
        self.end = nn.Linear(width, 16)

    def forward(self, x, moments, classes):
        x = self.patches(x).flatten(2).transpose(1, 2) + self.places
        given = F.silu(self.moment(waves(moments, 256).to(x.dtype)) + self.classes(classes))
        for layer in range(self.depth):
            a, b, c, d, e, f = self.scales[layer](given)[:, None].chunk(6, -1)
            y = F.layer_norm(x, x.shape[-1:]) * (1 + a) + b
            q, k, v = self.qkv[layer](y).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
            x = x + c * self.out[layer](y)
            y = F.layer_norm(x, x.shape[-1:]) * (1 + d) + e
            x = x + f * self.narrow[layer](F.gelu(self.wide[layer](y), approximate="tanh"))
        return F.pixel_shuffle(self.end(x).transpose(1, 2).unflatten(2, (16, 16)), 2)


class Decoder(nn.Module):
    """From 64x64 latents to pictures of 512x512."""

    def __init__(self, widths=(512, 512, 256, 128)):
        super().__init__()
        width = widths[0]
        self.start = nn.Conv2d(4, width, 3, padding=1)
        self.middle = nn.ModuleList([Residual(width, width), Residual(width, width)])
        self.norm, self.look = nn.GroupNorm(32, width), Attention(width, width, heads=1)
        self.blocks, self.ups = nn.ModuleList(), nn.ModuleList()
        for next_width in widths:
            starts = (width, next_width, next_width)
            self.blocks.append(nn.Sequential(*(Residual(start, next_width) for start in starts)))
            self.ups.append(nn.Conv2d(next_width, next_width, 3, padding=1))
            width = next_width
        self.end = nn.Sequential(
            nn.GroupNorm(32, width), nn.SiLU(), nn.Conv2d(width, 3, 3, padding=1)
        )

    def forward(self, x):
        x = self.middle[0](self.start(x))
        y = self.norm(x).flatten(2).transpose(1, 2)
        x = self.middle[1](x + self.look(y, y).transpose(1, 2).unflatten(2, x.shape[2:]))
        for level, (block, up) in enumerate(zip(self.blocks, self.ups, strict=True)):
            x = block(x)
            if level < 3:
                x = up(F.interpolate(x, scale_factor=2.0, mode="nearest"))
        return self.end(x)


def noisy(count, size, texts):
    def batch(model):
        given = torch.randn(count, 77, 768) if texts else torch.arange(count)
        return [
            torch.randn(count, 4, size, size),
            torch.arange(count) * 9,
            given,
            torch.randn(count, 4, size, size),
        ]

    return batch


def denoising(model, batch):
    x, moments, given, noise = batch
    return F.mse_loss(model(x + noise, moments, given).float(), noise.float())


def sampled(model, batch):
    """Four steps with guidance."""
    x, moments, given, _ = batch
    for _ in range(4):
        with_text, without = model(torch.cat([x, x]), torch.cat([moments, moments]),
                                   torch.cat([given, torch.zeros_like(given)])).chunk(2)  # fmt: skip
        x = x - 0.1 * (without + 7.5 * (with_text - without))
    return x


def decoded(model, batch):
    return model(batch[0])


ask("diffusion.unet batch 4 adamw amp", train, UNet, noisy(4, 64, True), denoising, mode="amp")
ask("diffusion.unet batch 4 adamw fp16 clip ema", train, UNet, noisy(4, 64, True), denoising,
    mode="fp16 clip ema")  # fmt: skip
ask("diffusion.unet batch 2 adamw fp32 channels_last", train, UNet, noisy(2, 64, True), denoising,
    mode="fp32 channels_last")  # fmt: skip
ask("diffusion.unet batch 4 sampled fp16", serve, UNet, noisy(4, 64, True), sampled, mode="fp16")
ask(
    "diffusion.dit batch 32 adamw bf16 ema",
    train,
    Dit,
    noisy(32, 32, False),
    denoising,
    mode="bf16 ema",
)
ask("diffusion.dit batch 16 adamw fp32", train, Dit, noisy(16, 32, False), denoising)
ask("diffusion.dit batch 16 sampled fp16", serve, Dit, noisy(16, 32, False), sampled, mode="fp16")
ask("diffusion.decoder batch 2 fp32", serve, Decoder, noisy(2, 64, False), decoded)
ask("diffusion.decoder batch 4 fp16", serve, Decoder, noisy(4, 64, False), decoded, mode="fp16")


# Recommenders.
def layers(*widths):
    pairs = itertools.pairwise(widths)
    return nn.Sequential(*(part for a, b in pairs for part in (nn.Linear(a, b), nn.ReLU())))[:-1]


class Dlrm(nn.Module):
    def __init__(self, sparse, tables=26, rows=100_000, width=64):
        super().__init__()
        self.tables = nn.ModuleList(
            nn.EmbeddingBag(rows, width, mode="sum", sparse=sparse) for _ in range(tables)
        )
        self.bottom, count = layers(13, 512, 256, width), tables + 1
        self.top = layers(width + count * (count - 1) // 2, 1024, 512, 1)

    def forward(self, dense, places):
        dense = self.bottom(dense)
        found = [table(places[:, i]) for i, table in enumerate(self.tables)]
        x = torch.stack([dense, *found], 1)
        row, column = torch.tril_indices(x.shape[1], x.shape[1], -1, device=x.device)
        return self.top(torch.cat([dense, (x @ x.transpose(1, 2))[:, row, column]], 1))[:, 0]


class DeepFm(nn.Module):
    def __init__(self, fields=39, rows=1_000_000, width=16):
        super().__init__()
        self.table, self.linear = nn.Embedding(rows, width), nn.Embedding(rows, 1)
        self.deep = layers(fields * width, 400, 400, 400, 1)

    def forward(self, places):
        x = self.table(places)
        pairs = 0.5 * (x.sum(1).square() - x.square().sum(1)).sum(1)
        return self.linear(places).sum((1, 2)) + pairs + self.deep(x.flatten(1))[:, 0]


class Towers(nn.Module):
    def __init__(self):
        super().__init__()
        self.users, self.items = nn.Embedding(1_000_000, 64), nn.Embedding(500_000, 64)
        self.user, self.item = layers(64, 512, 256, 128), layers(64, 512, 256, 128)

    def forward(self, users, items):
        return (
            F.normalize(self.user(self.users(users))) @ F.normalize(self.item(self.items(items))).T
        )


def clicks(count):
    return lambda model: [torch.rand(count, 13), torch.randint(100_000, (count, 26, 4)),
                          torch.randint(2, (count,)).float()]  # fmt: skip


def clicked(model, batch):
    return F.binary_cross_entropy_with_logits(model(*batch[:-1]), batch[-1])


def alike(model, batch):
    found = model(*batch)
    return F.cross_entropy(found / 0.1, torch.arange(len(found), device=found.device))


def places(count):
    return lambda model: [torch.randint(1_000_000, (count, 39)), torch.randint(2, (count,)).float()]


def pairs(count):
    return lambda model: [torch.randint(1_000_000, (count,)), torch.randint(500_000, (count,))]


ask("recommender.dlrm batch 8192 adagrad fp32", train, lambda: Dlrm(False), clicks(8192), clicked,
    optimizer="adagrad")  # fmt: skip
ask("recommender.dlrm batch 8192 sparse fp32", train, lambda: Dlrm(True), clicks(8192), clicked,
    optimizer="sparse", drawn=True)  # fmt: skip
ask("recommender.dlrm batch 8192 sgd amp", train, lambda: Dlrm(False), clicks(8192), clicked,
    optimizer="sgd", mode="amp")  # fmt: skip
ask("recommender.dlrm batch 8192 served fp32", serve, lambda: Dlrm(False), clicks(8192),
    lambda model, batch: model(*batch[:-1]))  # fmt: skip
ask(
    "recommender.deepfm batch 16384 adam fp32",
    train,
    DeepFm,
    places(16384),
    clicked,
    optimizer="adam",
)
ask("recommender.deepfm batch 16384 adamw fp16", train, DeepFm, places(16384), clicked, mode="fp16")
ask("recommender.towers batch 4096 adam fp32", train, Towers, pairs(4096), alike, optimizer="adam")
ask("recommender.towers batch 8192 adamw amp", train, Towers, pairs(8192), alike, mode="amp")
