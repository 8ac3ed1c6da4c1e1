"""Measures what `torchport export` adds to torch's exporter: preparation, parity, the contract.

For each format torch alone and torchport.export write a transformer in turn, with a batch of any
size. The comparison with eager runs both models several times, which torch does not do.
"""

from __future__ import annotations

import logging
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
import torchport

ROUNDS = 3


def model() -> torch.nn.Module:
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True)
    return torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).eval()


def by_torch(made: torch.nn.Module, tokens: torch.Tensor, to: str, path: Path) -> None:
    dynamic = ({0: torch.export.Dim("batch")},)
    with torch.no_grad():
        if to == "onnx":
            torch.onnx.export(
                made, (tokens,), path, dynamo=True, dynamic_shapes=dynamic, verbose=False
            )
        elif to == "torchscript":
            torch.jit.trace(made, (tokens,)).save(str(path))
        else:
            program = torch.export.export(made, (tokens,), dynamic_shapes=dynamic)
            if to == "pt2":
                torch.export.save(program, path)
            else:
                torch._inductor.aoti_compile_and_package(program, package_path=str(path))


def by_torchport(made: torch.nn.Module, tokens: torch.Tensor, to: str, path: Path) -> None:
    torchport.export(made, tokens, to=to, path=path, dynamic="batch")


def seconds(write: Callable, *arguments: object) -> float:
    start = time.perf_counter()
    write(*arguments)
    return time.perf_counter() - start


def main() -> int:
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    made, tokens = model(), torch.randn(4, 64, 256)
    with tempfile.TemporaryDirectory() as name:
        for to, ending in (
            ("onnx", "onnx"),
            ("pt2", "pt2"),
            ("torchscript", "pt"),
            ("aoti", "pt2"),
        ):
            pairs = []
            for number in range(ROUNDS + 1):  # the first of each warms what is imported and cached
                pair = []
                for write in (by_torch, by_torchport):
                    path = Path(name, f"{write.__name__}{number}", f"model.{ending}")
                    path.parent.mkdir(exist_ok=True)
                    pair.append(seconds(write, made, tokens, to, path))
                pairs.append(pair)
            ratios = [ours / theirs for theirs, ours in pairs[1:]]
            theirs, ours = (statistics.median(column) for column in zip(*pairs[1:], strict=True))
            print(
                f"{to:12} torch {theirs:6.2f} s, torchport {ours:6.2f} s with the comparison: "
                f"{statistics.median(ratios):.2f} times ({min(ratios):.2f} to {max(ratios):.2f})"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
