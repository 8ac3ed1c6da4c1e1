"""Measures each mode of ResNet-50 against the bounds that torchport promises: make bench.

It compares the peak memory of evaluation in inference mode with that of a training step, and the
throughput of the best deployment mode with eager evaluation, as ratios of rounds that ran side by
side. With `--virtual` it measures the memory of a GPU at batch 32, without the GPU.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch
import torchport

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "virtual" / "programs"))
from models import ResNet

MEMORY_BOUND = 0.45
SPEED_BOUND = 1.4


def resnet50() -> torch.nn.Module:
    return ResNet(64, (3, 4, 6, 3), 1000)


def images(batch: int) -> torch.Tensor:
    return torch.randn(batch, 3, 224, 224)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--virtual", action="store_true")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    modes = ["train", "eval", "no_grad", "inference", "channels_last", "autocast"]
    if not options.virtual:
        modes += ["compile", "combined", "aoti", "onnx", "torchscript"]
    report = torchport.benchmark(
        resnet50,
        images,
        modes=modes,
        batches=[options.batch or (32 if options.virtual else 4)],
        devices="cuda:1,profile=a100-80g" if options.virtual else None,
        device=None if options.virtual else "cpu",
        rounds=options.rounds,
        tell=lambda text: print(text, file=sys.stderr),
    )
    print(report)
    memory = report.row("inference").peak / report.row("train").peak
    good = memory <= MEMORY_BOUND
    print(f"memory of inference mode / training step: {memory:.2f} (at most {MEMORY_BOUND})")
    if not options.virtual:
        ratios = [row for row in report.rows if row.against is not None and row.mode != "train"]
        best = max(ratios, key=lambda row: row.against.median)
        speed = best.against
        print(
            f"{best.title} / eager evaluation: {speed.median:.2f} ({speed.low:.2f}-{speed.high:.2f}; "
            f"at least {SPEED_BOUND})"
        )
        good = good and speed.median >= SPEED_BOUND
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
