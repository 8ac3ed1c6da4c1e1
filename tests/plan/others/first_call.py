"""Runs a program of tests/plan/programs on PyTorch's meta device until it first calls its model, or has it generate."""

from __future__ import annotations

import contextlib
import runpy
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

sys.path.append(str(Path(__file__).resolve().parents[1]))
import torchvision_operators

KEPT = torchvision_operators.name()  # as long as the process lives


@dataclass
class FirstCall:
    """The model, what it was called with, and the optimizer if the program had made one."""

    module: torch.nn.Module
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    optimizer: torch.optim.Optimizer | None


class Reached(BaseException):
    """Ends the program."""


class InsteadOfCuda(TorchFunctionMode):
    """Tensors that are asked for on CUDA devices are on `device`."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self.device = torch.device(device)

    def mended(self, value: Any) -> Any:
        if isinstance(value, str) and value.split(":")[0] == "cuda":
            return self.device
        if isinstance(value, torch.device) and value.type == "cuda":
            return self.device
        return value

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = {name: self.mended(value) for name, value in (kwargs or {}).items()}
        if function is torch.Tensor.cuda:
            return args[0].to(self.device)
        return function(*(self.mended(one) for one in args), **kwargs)


class Autocast(torch.autocast):
    """Autocast for CUDA is that for `device`."""

    device = "cpu"

    def __init__(self, device_type: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(self.device if device_type == "cuda" else device_type, *args, **kwargs)


@contextlib.contextmanager
def without_cuda(device: str) -> Iterator[None]:
    """The program's CUDA device is `device`: "meta", or "cpu" for fake tensors of the CPU."""
    before = torch.cuda.synchronize, torch.autocast
    torch.cuda.synchronize = lambda *_: None
    torch.autocast = Autocast
    try:
        with InsteadOfCuda(device):
            yield
    finally:
        torch.cuda.synchronize, torch.autocast = before


def first_call(program: str, arguments: list[str]) -> FirstCall:
    """Raises RuntimeError if the program calls no model.

    What a model that generates is called with first, is the prompt and its mask."""
    found: list[FirstCall] = []
    optimizers: list[torch.optim.Optimizer] = []
    make, call = torch.optim.Optimizer.__init__, torch.nn.Module.__call__

    def make_and_keep(self, *args, **kwargs):
        optimizers.append(self)
        make(self, *args, **kwargs)

    def stop(self, *args, **kwargs):
        found.append(FirstCall(self, args, kwargs, optimizers[-1] if optimizers else None))
        raise Reached

    def stop_generating(self, prompt, attention_mask, **_):
        stop(self, input_ids=prompt, attention_mask=attention_mask)

    torch.optim.Optimizer.__init__, torch.nn.Module.__call__ = make_and_keep, stop
    if (
        Path(program).name == "generate.py"
    ):  # generate() looks into values before it calls the model
        import transformers

        transformers.GenerationMixin.generate = stop_generating
    sys.argv = [program, *arguments]
    try:
        with without_cuda("meta"), torch.device("meta"):
            runpy.run_path(program, run_name="__main__")
    except Reached:
        pass
    finally:
        torch.optim.Optimizer.__init__, torch.nn.Module.__call__ = make, call
    if not found:
        raise RuntimeError("the program calls no model")
    return found[0]
