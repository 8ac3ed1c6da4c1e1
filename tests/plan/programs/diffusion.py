"""Trains or samples a diffusion model: a U-Net of residual blocks and attention, or a transformer of patches."""

import argparse
import math

import torch
import torch.nn.functional as F
from torch import nn


class Residual(nn.Module):
    def __init__(self, inputs: int, outputs: int, steps: int) -> None:
        super().__init__()
        self.first = nn.Sequential(
            nn.GroupNorm(32, inputs), nn.SiLU(), nn.Conv2d(inputs, outputs, 3, padding=1)
        )
        self.time = nn.Linear(steps, outputs)
        self.second = nn.Sequential(
            nn.GroupNorm(32, outputs),
            nn.SiLU(),
            nn.Dropout(0.1),
            nn.Conv2d(outputs, outputs, 3, padding=1),
        )
        self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        h = self.first(x) + self.time(F.silu(t))[:, :, None, None]
        return self.skip(x) + self.second(h)


class Attention(nn.Module):
    def __init__(self, width: int, heads: int = 8) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.GroupNorm(32, width)
        self.qkv = nn.Conv2d(width, 3 * width, 1)
        self.out = nn.Conv2d(width, width, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, c, h, w = x.shape
        q, k, v = (
            self.qkv(self.norm(x))
            .reshape(n, 3, self.heads, c // self.heads, h * w)
            .transpose(-1, -2)
            .unbind(1)
        )
        y = F.scaled_dot_product_attention(q, k, v)
        return x + self.out(y.transpose(-1, -2).reshape(n, c, h, w))


class UNet(nn.Module):
    def __init__(self, width: int, channels: int) -> None:
        super().__init__()
        steps = 4 * width
        self.width = width
        self.time = nn.Sequential(nn.Linear(width, steps), nn.SiLU(), nn.Linear(steps, steps))
        self.first = nn.Conv2d(channels, width, 3, padding=1)
        widths = [width, 2 * width, 4 * width]
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        now = width
        kept = [width]
        for level, w in enumerate(widths):
            for _ in range(2):
                self.down.append(
                    nn.ModuleList(
                        [Residual(now, w, steps), Attention(w) if level else nn.Identity()]
                    )
                )
                now = w
                kept.append(now)
            if level < 2:
                self.down.append(nn.Conv2d(now, now, 3, stride=2, padding=1))
                kept.append(now)
        self.middle = nn.ModuleList(
            [Residual(now, now, steps), Attention(now), Residual(now, now, steps)]
        )
        for level, w in reversed(list(enumerate(widths))):
            for _ in range(3):
                self.up.append(
                    nn.ModuleList(
                        [
                            Residual(now + kept.pop(), w, steps),
                            Attention(w) if level else nn.Identity(),
                        ]
                    )
                )
                now = w
            if level:
                self.up.append(nn.Conv2d(now, now, 3, padding=1))
        self.last = nn.Sequential(
            nn.GroupNorm(32, now), nn.SiLU(), nn.Conv2d(now, channels, 3, padding=1)
        )

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        places = torch.exp(
            torch.arange(self.width // 2, device=x.device) * (-math.log(10000) / (self.width // 2))
        )
        angles = t[:, None].float() * places[None]
        t = self.time(torch.cat([angles.sin(), angles.cos()], dim=1).to(x.dtype))
        x = self.first(x)
        kept = [x]
        for block in self.down:
            x = block(x) if isinstance(block, nn.Conv2d) else block[1](block[0](x, t))
            kept.append(x)
        x = self.middle[2](self.middle[1](self.middle[0](x, t)), t)
        for block in self.up:
            if isinstance(block, nn.Conv2d):
                x = block(F.interpolate(x, scale_factor=2))
            else:
                x = block[1](block[0](torch.cat([x, kept.pop()], dim=1), t))
        return self.last(x)


class Patches(nn.Module):
    def __init__(self, width: int, channels: int, size: int, layers: int = 12) -> None:
        super().__init__()
        self.width, self.size = width, size
        self.first = nn.Conv2d(channels, width, 2, stride=2)
        self.places = nn.Parameter(torch.zeros(1, (size // 2) ** 2, width))
        self.time = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 6 * width))
        self.blocks = nn.ModuleList(
            nn.ModuleList(
                [
                    nn.LayerNorm(width, elementwise_affine=False),
                    nn.MultiheadAttention(width, 12, batch_first=True),
                    nn.LayerNorm(width, elementwise_affine=False),
                    nn.Sequential(
                        nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width)
                    ),
                ]
            )
            for _ in range(layers)
        )
        self.last = nn.Linear(width, 4 * channels)

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        angles = t[:, None].float() / torch.arange(1, self.width + 1, device=x.device)
        a, b, c, d, e, f = self.time(angles.sin().to(x.dtype))[:, None].chunk(6, dim=-1)
        h = self.first(x).flatten(2).transpose(1, 2) + self.places
        for norm, attention, norm2, wide in self.blocks:
            y = norm(h) * (1 + a) + b
            h = h + c * attention(y, y, y, need_weights=False)[0]
            h = h + f * wide(norm2(h) * (1 + d) + e)
        n, channels = x.shape[:2]
        half = self.size // 2
        y = self.last(h).reshape(n, half, half, 2, 2, channels)
        return torch.einsum("nhwpqc->nchpwq", y).reshape(n, channels, self.size, self.size)


parser = argparse.ArgumentParser()
parser.add_argument("--model", default="unet", choices=["unet", "patches"])
parser.add_argument("--width", type=int, default=128)
parser.add_argument("--batch", type=int, default=16)
parser.add_argument("--size", type=int, default=64)
parser.add_argument("--channels", type=int, default=3)
parser.add_argument("--steps", type=int, default=3)
parser.add_argument("--autocast", default="none", choices=["none", "float16", "bfloat16"])
parser.add_argument("--sample", action="store_true")
parser.add_argument("--average", action="store_true", help="keep a moving average of the weights")
args = parser.parse_args()

torch.manual_seed(0)
make = {
    "unet": lambda: UNet(args.width, args.channels),
    "patches": lambda: Patches(args.width, args.channels, args.size),
}
model = make[args.model]().cuda()
amp = torch.autocast(
    "cuda", getattr(torch, args.autocast, torch.float32), enabled=args.autocast != "none"
)
levels = torch.linspace(0.9999, 0.98, 1000, device="cuda").cumprod(0)

if args.sample:
    model.eval()
    with torch.no_grad(), amp:
        x = torch.randn(args.batch, args.channels, args.size, args.size, device="cuda")
        for step in reversed(range(args.steps)):
            noise = model(x, torch.full((args.batch,), step, device="cuda"))
            a = levels[step]
            x = (x - (1 - a).sqrt() * noise) / a.sqrt()
else:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    average = torch.optim.swa_utils.AveragedModel(model) if args.average else None
    for _ in range(args.steps):
        images = torch.rand(args.batch, args.channels, args.size, args.size).cuda() * 2 - 1
        t = torch.randint(0, 1000, (args.batch,), device="cuda")
        noise = torch.randn_like(images)
        a = levels[t][:, None, None, None]
        with amp:
            loss = F.mse_loss(model(a.sqrt() * images + (1 - a).sqrt() * noise, t), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if average is not None:
            average.update_parameters(model)
torch.cuda.synchronize()
