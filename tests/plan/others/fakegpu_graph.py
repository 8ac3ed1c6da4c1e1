"""What FakeGPU's estimate_module_memory says of a program: python fakegpu_graph.py OUT.json program.py ...

The program runs on the meta device until it calls its model; the model, what it was called with and the optimizer's
name are given to the function, with the loss that the program computes, and autocast where it is on.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from fakegpu import estimate_module_memory
from first_call import FirstCall, first_call


def optimizer_name(optimizer: torch.optim.Optimizer | None) -> str:
    """In FakeGPU's words. Raises ValueError for those that it has no words for."""
    if optimizer is None:
        return "none"
    kind = type(optimizer).__name__
    if kind == "SGD":
        return "sgd_momentum" if optimizer.defaults["momentum"] else "sgd"
    known = {"Adam": "adam", "AdamW": "adamw"}
    if kind not in known:
        raise ValueError(f"FakeGPU has no optimizer {kind}")
    return known[kind]


class Step(torch.nn.Module):
    """The model under autocast as in the program, and the program's loss."""

    def __init__(self, call: FirstCall, program: str, arguments: list[str]) -> None:
        super().__init__()
        self.module, self.program = call.module, program
        has = "--autocast" in arguments
        self.type = arguments[arguments.index("--autocast") + 1] if has else "none"

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        how = getattr(torch, self.type, torch.float32)
        with torch.autocast("cpu", how, enabled=self.type != "none"):
            found = self.module(*args, **kwargs)
            if self.program == "vision.py" and self.module.training:
                found = found["out"] if isinstance(found, dict) else found
                shape = (found.shape[0], *found.shape[2:])
                return F.cross_entropy(found, torch.zeros(shape, dtype=torch.long))
            if self.program == "layers.py" and found.dim() == 3 and args[0].dim() == 2:
                return F.cross_entropy(found.flatten(0, 1), args[0].flatten())
            if getattr(found, "past_key_values", None) is not None:
                return found.logits  # a trace cannot return the cache
        return found


def main() -> None:
    out, program, *arguments = sys.argv[1:]
    call = first_call(program, arguments)
    if "input_ids" in call.keywords:
        # transformers looks into masks of other shapes, and into positions if there is none, which a trace cannot.
        batch, length = call.keywords["input_ids"].shape
        mask = torch.ones(batch, 1, length, length, dtype=torch.bool, device="meta")
        call.keywords["attention_mask"] = mask
    name = optimizer_name(call.optimizer)
    torch._C._has_cuda = True  # as in a build for CUDA: the function then counts CUDA's workspaces
    report = estimate_module_memory(
        Step(call, Path(program).name, arguments),
        call.arguments,
        example_kwargs=call.keywords,
        mode="forward" if name == "none" else "training",
        optimizer=name,
        target_device="cuda",
    )
    Path(out).write_text(json.dumps({"bytes": int(report["estimated_peak_bytes"])}))


main()
