"""Measures a training step on a device without data against the same step computed, and against torch's
FakeTensorMode, each in a process of its own; then one operator without data against its meta kernel; then, in one
process, what `torchport plan` records, one part after the other, in seconds of the processor.

Run it in the environment in which torchport is installed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

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

def records():
    from torchport.virtual import _watching

    torch.set_num_threads(1)  # others would wait for work and count
    native = torch.ops.torchport
    model = Language().cuda()
    words = torch.randint(0, 50257, (1, 256)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    x = torch.empty(1000, 1000, device="cuda")

    def step():
        F.cross_entropy(model(words).flatten(0, -2), words.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()

    def best(run, times):
        found = []
        for _ in range(20):
            start = time.process_time()
            for _ in range(times):
                run()
            found.append((time.process_time() - start) / times)
        return min(found)

    told = {}
    parts = {
        "nothing": lambda: None,
        "time": native.record_work,
        "and blocks": native.record_memory,
        "and lines": lambda: _watching.find_lines(torch),
    }
    for part, begin in parts.items():
        begin()
        told[part] = [best(lambda: x.add_(1.0), 1000), best(lambda: x + 1.0, 1000), best(step, 1)]
    print(json.dumps(told))

if name == "records":
    records()
elif name == "operator":
    operator()
elif how == "fake":
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode():
        main()
else:
    main()
"""


def asked(how: str, name: str) -> Any:
    options = {"computed": [], "plan": ["--no-data"]}
    start = (
        [TORCHPORT, "run", "-q", "--profile", "h100-80g", *options[how], "--"]
        if how in options
        else []
    )
    environment = {**os.environ, "OMP_NUM_THREADS": str(os.cpu_count())}
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "step.py"  # a file has lines that are found
        program.write_text(STEP)
        command = [*start, sys.executable, str(program), how, name]
        done = subprocess.run(
            command, env=environment, check=True, stdout=subprocess.PIPE, text=True
        )
    return json.loads(done.stdout)


def tell_records() -> None:
    told: dict[str, list[float]] = asked("plan", "records")
    none = told["nothing"]
    print(f"\n{'what plan records':28}{'add_':>16}{'add, a block':>16}{'step of gpt-2':>18}")
    for part, (inplace, add, step) in told.items():
        print(
            f"{part:28}{inplace * 1e6:8.2f} us {inplace / none[0]:4.2f}{add * 1e6:8.2f} us {add / none[1]:4.2f}"
            f"{step * 1e3:10.1f} ms {step / none[2]:4.2f}"
        )


def main() -> None:
    print(f"{'a training step, in ms':28}{'computed':>10}{'no data':>10}{'fake':>10}")
    for name in ("resnet-50", "gpt-2"):
        computed, plan, fake = (asked(how, name) for how in ("computed", "plan", "fake"))
        print(
            f"{name:28}{computed * 1e3:10.1f}{plan * 1e3:10.1f}{fake * 1e3:10.1f}"
            f"   {computed / plan:.0f} times as fast as computed, {fake / plan:.1f} as fake tensors"
        )
    plan, meta = asked("plan", "operator"), asked("meta", "operator")
    print(
        f"add_ without data: {plan * 1e6:.2f} us; by the dispatcher's key Meta {meta * 1e6:.2f} us"
    )
    tell_records()


if __name__ == "__main__":
    main()
