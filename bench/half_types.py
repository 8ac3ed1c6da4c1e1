"""Measures models in float16 and bfloat16 on a virtual device against the CPU in the same type.

Run it in the environment in which torchport is installed. One process takes both sides in turns, on one
thread; a figure is the ratio of the least CPU times. The models run on this host as it is, and once
more as on a CPU with AVX2 only: PyTorch and its libraries are told to use no more.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable

SECONDS = 3.0  # of a line
ROUNDS = 5  # at least
BOUND = 1.1  # of the better one of the CPU's two times: its own type, or float32
AVX2 = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "TORCHPORT_HALF_INSTRUCTIONS": "none",
}


def residual_network():
    """The first two stages of a ResNet-18, with its last layers."""
    from torch import nn

    def block(channels: int, out: int, stride: int) -> nn.Module:
        return nn.Sequential(
            nn.Conv2d(channels, out, 3, stride, 1, bias=False),
            nn.BatchNorm2d(out),
            nn.ReLU(),
            nn.Conv2d(out, out, 3, 1, 1, bias=False),
            nn.BatchNorm2d(out),
            nn.ReLU(),
        )

    return nn.Sequential(
        nn.Conv2d(3, 32, 7, 2, 3, bias=False),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
        block(32, 32, 1),
        block(32, 64, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 100),
    )


def transformer():
    from torch import nn

    layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


MODELS: dict[str, tuple[Callable, tuple[int, ...]]] = {
    "ResNet": (residual_network, (2, 3, 64, 64)),
    "transformer": (transformer, (2, 64, 128)),
}


def inference(model, x) -> None:
    import torch

    model.eval()
    with torch.inference_mode():
        model(x)


def training(model, x) -> None:
    model.train()
    model.zero_grad()
    model(x).float().square().mean().backward()


def measure() -> None:
    import torch

    torch.set_num_threads(1)
    print(f"{'':36}{'virtual':>9}{'cpu':>9}{'cpu, float32':>14}   milliseconds")
    for name, (make, sizes) in MODELS.items():
        for dtype in (torch.float16, torch.bfloat16):
            for work in (inference, training):
                sides = {}
                for side, device, kind in (
                    ("virtual", "cuda", dtype),
                    ("cpu", "cpu", dtype),
                    ("float32", "cpu", torch.float32),
                ):
                    model = make().to(device, kind)
                    sides[side] = (model, torch.randn(*sizes).to(device, kind))
                    work(*sides[side])
                least = dict.fromkeys(sides, float("inf"))
                rounds, end = 0, time.process_time() + SECONDS
                while rounds < ROUNDS or time.process_time() < end:
                    rounds += 1
                    for side, (model, x) in sides.items():
                        start = time.process_time()
                        work(model, x)
                        least[side] = min(least[side], time.process_time() - start)
                best = min(least["cpu"], least["float32"])
                ratio = least["virtual"] / best
                print(
                    f"{name + ', ' + str(dtype)[6:] + ', ' + work.__name__:36}"
                    f"{least['virtual'] * 1e3:9.2f}{least['cpu'] * 1e3:9.2f}"
                    f"{least['float32'] * 1e3:14.2f}   {least['virtual'] / least['cpu']:.3f} of the CPU, "
                    f"{ratio:.2f} of the better <= {BOUND}: {'reached' if ratio <= BOUND else 'MISSED'}",
                    flush=True,
                )


def main() -> int:
    if os.environ.get("TORCHPORT_VIRTUAL"):
        measure()
        return 0
    base = {**os.environ, "TORCHPORT_VIRTUAL": "cuda:1", "OMP_NUM_THREADS": "1"}
    status = 0
    for title, limits in (("this host", {}), ("as on a CPU with AVX2 only", AVX2)):
        print(title, flush=True)
        done = subprocess.run([sys.executable, __file__], env=base | limits, check=False)
        status = status or done.returncode
    return status


if __name__ == "__main__":
    sys.exit(main())
