"""Measures a training step on a device without data against the same step computed, and against torch's
FakeTensorMode, each in a process of its own; then one operator without data against its meta kernel.

Run it in the environment in which torchport is installed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

TORCHPORT = str(Path(sys.executable).parent / "torchport")
STEP = """
import json, sys, time
import torch
from torch import nn
import torch.nn.functional as F

how, name = sys.argv[1:]

class Block(nn.Module):
    def __init__(self, width=768):
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        n, t, w = x.shape
        q, k, v = self.qkv(self.first(x)).view(n, t, 3, 12, w // 12).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(n, t, w)
        x = x + self.out(y)
        return x + self.wide(self.second(x))

class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50257, 768)
        self.blocks = nn.Sequential(*[Block() for _ in range(12)])

    def forward(self, x):
        return F.linear(self.blocks(self.words(x)), self.words.weight)

class Residual(nn.Module):
    def __init__(self, a, b, stride):
        super().__init__()
        c = b // 4
        self.body = nn.Sequential(
            nn.Conv2d(a, c, 1, bias=False), nn.BatchNorm2d(c), nn.ReLU(True),
            nn.Conv2d(c, c, 3, stride, 1, bias=False), nn.BatchNorm2d(c), nn.ReLU(True),
            nn.Conv2d(c, b, 1, bias=False), nn.BatchNorm2d(b))
        self.skip = nn.Identity() if a == b else nn.Sequential(nn.Conv2d(a, b, 1, stride, bias=False), nn.BatchNorm2d(b))

    def forward(self, x):
        return F.relu(self.body(x) + self.skip(x))

def resnet():
    layers, now = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)], 64
    for width, count, stride in ((256, 3, 1), (512, 4, 2), (1024, 6, 2), (2048, 3, 2)):
        for i in range(count):
            layers.append(Residual(now, width, stride if i == 0 else 1))
            now = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))

def main():
    if name == "resnet-50":
        model, x, y = resnet(), torch.randn(4, 3, 224, 224), torch.randint(0, 1000, (4,))
    else:
        model, x = Language(), torch.randint(0, 50257, (1, 256))
        y = x
    if how != "fake":
        model, x, y = model.cuda(), x.cuda(), y.cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    times = []
    for _ in range(2 if how == "computed" else 6):
        start = time.perf_counter()
        out = model(x)
        F.cross_entropy(out.flatten(0, -2), y.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()
        times.append(time.perf_counter() - start)
    print(json.dumps(min(times[1:])))

def operator():
    x = torch.empty(1000, 1000, device="meta" if how == "meta" else "cuda")
    best = 1e9
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(2000):
            x.add_(1.0)
        best = min(best, time.perf_counter() - start)
    print(json.dumps(best / 2000))

if name == "operator":
    operator()
elif how == "fake":
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode():
        main()
else:
    main()
"""


def seconds(how: str, name: str) -> float:
    options = {"computed": [], "plan": ["--no-data"]}
    start = (
        [TORCHPORT, "run", "-q", "--profile", "h100-80g", *options[how], "--"]
        if how in options
        else []
    )
    command = [*start, sys.executable, "-c", STEP, how, name]
    environment = {**os.environ, "OMP_NUM_THREADS": str(os.cpu_count())}
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return float(json.loads(done.stdout))


def main() -> None:
    print(f"{'a training step, in ms':28}{'computed':>10}{'no data':>10}{'fake':>10}")
    for name in ("resnet-50", "gpt-2"):
        computed, plan, fake = (seconds(how, name) for how in ("computed", "plan", "fake"))
        print(
            f"{name:28}{computed * 1e3:10.1f}{plan * 1e3:10.1f}{fake * 1e3:10.1f}"
            f"   {computed / plan:.0f} times as fast as computed, {fake / plan:.1f} as fake tensors"
        )
    plan, meta = seconds("plan", "operator"), seconds("meta", "operator")
    print(
        f"add_ without data: {plan * 1e6:.2f} us; by the dispatcher's key Meta {meta * 1e6:.2f} us"
    )


if __name__ == "__main__":
    main()
