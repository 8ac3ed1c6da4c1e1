"""Measures what an operator costs while torchport.verify watches, against PyTorch's own ways.

One thread calls operators on tensors of four elements; the least of many rounds, taken in turns
within one run, is the cost of the call itself. It prints the microseconds per call above the plain
one, and the ratio of the others' cost to torchport's. The last lines verify a complete model.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import timeit
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from torch import nn
from torch.utils._debug_mode import DebugMode
from torch.utils._python_dispatch import TorchDispatchMode
from torchport import verify
from torchport._native.observing import Observation

BOUNDS = {"operator": 0.5, "operator, with its line": 4.0}
CALLS = {
    "add": ("operator", "torch.add(a, b)"),
    "add, recorded by autograd": ("operator", "torch.add(g, b)"),
    "view": ("operator", "a.view(2, 2)"),
    "linear": ("operator", "linear(m, m)"),
    "ones (made: its line is found)": ("operator, with its line", "torch.ones(4)"),
    "item (read: its line is found)": ("operator, with its line", "s.item()"),
    "to another dtype": ("operator", "a.to(torch.float64)"),
}
ROUNDS, COUNT = 60, 1000


class Empty(TorchDispatchMode):
    """Does nothing but intercept the call."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


@contextmanager
def watched(every_line: bool = False):
    observation = Observation([str(Path(torch.__file__).parent)], every_line)
    try:
        yield
    finally:
        observation.finish()


def least(
    ways: dict[str, Callable[[], AbstractContextManager]], statement: str, names: dict
) -> dict:
    """Microseconds per call for each way: the least of rounds that take turns."""
    timer = timeit.Timer(statement, globals=names)
    found = dict.fromkeys(ways, float("inf"))
    for _ in range(ROUNDS):
        for way, enter in ways.items():
            count = COUNT if way in ("plain", "torchport", "every line") else COUNT // 20
            with enter():
                timer.timeit(10)
                found[way] = min(found[way], timer.timeit(count) / count * 1e6)
    return found


def measure_calls() -> list[dict[str, Any]]:
    a, b = torch.ones(4), torch.ones(4)
    names = {
        "torch": torch,
        "linear": nn.functional.linear,
        "a": a,
        "b": b,
        "g": torch.ones(4, requires_grad=True),
        "m": torch.ones(2, 2),
        "s": torch.ones(()),
    }

    @contextmanager
    def plain():
        yield

    ways = {
        "plain": plain,
        "torchport": watched,
        "every line": lambda: watched(every_line=True),
        "TorchDispatchMode": Empty,
        "DebugMode": DebugMode,
    }
    print(f"{'':32}{'torchport':>10}{'+ line':>8}{'mode':>8}{'Debug':>8}   us over plain; ratios")
    rows = []
    for name, (kind, statement) in CALLS.items():
        found = least(ways, statement, names)
        over = {way: took - found["plain"] for way, took in found.items() if way != "plain"}
        ok = over["torchport"] <= BOUNDS[kind]
        ratios = [over[way] / over["torchport"] for way in ("TorchDispatchMode", "DebugMode")]
        print(
            f"{name:32}{over['torchport']:10.2f}{over['every line']:8.2f}"
            f"{over['TorchDispatchMode']:8.2f}{over['DebugMode']:8.2f}   "
            f"{ratios[0]:.0f} and {ratios[1]:.0f} times; <= {BOUNDS[kind]}: "
            f"{'reached' if ok else 'MISSED'}"
        )
        rows.append({"call": name, "over_us": over, "bound_us": BOUNDS[kind], "ok": ok})
    return rows


def measure_model() -> dict[str, float]:
    """Measures a transformer encoder under a stack that is as deep as a program's."""
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    model = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).eval()
    x = torch.randn(2, 16, 64)
    took = {}
    with torch.no_grad():
        for name, enter in {
            "plain": None,
            "torchport": watched,
            "every line": lambda: watched(every_line=True),
            "TorchDispatchMode": Empty,
            "DebugMode": DebugMode,
        }.items():
            best = float("inf")
            for _ in range(20):
                if enter is None:
                    best = min(best, timeit.timeit(lambda: model(x), number=3) / 3)
                else:
                    with enter():
                        best = min(best, timeit.timeit(lambda: model(x), number=3) / 3)
            took[name] = best * 1e3
        whole = min(timeit.repeat(lambda: verify(model, x), number=1, repeat=10))
        took["verify(), its report included"] = whole * 1e3
    print("\na transformer encoder of 6 layers, milliseconds")
    for name, milliseconds in took.items():
        print(f"  {name:32}{milliseconds:8.2f}  {milliseconds / took['plain']:.2f} times plain")
    return took


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, help="write the figures there too")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows, model = measure_calls(), measure_model()
    if options.json:
        options.json.write_text(json.dumps({"calls": rows, "model_ms": model}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
