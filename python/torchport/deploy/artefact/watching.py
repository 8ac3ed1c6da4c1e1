"""One run of the model before anything is exported, so that its troubles are told in its own terms."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakTensorKeyDictionary

from torchport.deploy.artefact.errors import ExportError
from torchport.deploy.artefact.placing import tensors_of
from torchport.deploy.artefact.sample import Sample

_TORCH = torch.__path__[0]


def run_once(module: nn.Module, sample: Sample) -> Any:
    """What the model gives for the sample. Raises ExportError for an operator whose tensors are on
    two devices, with the tensors' names and the line that made them.
    """
    watch = _Devices(module, sample)
    try:
        with torch.no_grad(), watch:
            return sample.call(module)
    except ExportError:
        raise
    except Exception as error:
        if watch.mixed is not None:
            raise ExportError(watch.mixed) from error
        line = _line_of(error)
        raise ExportError(
            f"the model itself fails on these inputs{f', at {line}' if line else ''}:\n"
            f"  {type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"
        ) from error


class _Devices(TorchDispatchMode):
    """Follows where tensors come from until an operator is given two devices."""

    def __init__(self, module: nn.Module, sample: Sample):
        super().__init__()
        self.mixed: str | None = None
        self._origin = WeakTensorKeyDictionary()
        for name, tensor in tensors_of(module):
            self._origin[tensor] = name
        for name, tensor in sample.items():
            self._origin[tensor] = f"input {name}"

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        tensors = [
            leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)
        ]
        # A scalar on the CPU goes with everything, and a copy is between devices by its nature.
        placed = [tensor for tensor in tensors if tensor.dim() or tensor.device.type != "cpu"]
        devices = {tensor.device for tensor in placed}
        if len(devices) > 1 and "copy" not in func.__name__:
            told = [f"  {self._name(tensor)} is on {tensor.device}" for tensor in placed]
            self.mixed = "\n".join(
                [
                    f"{func._schema.name.partition('::')[2]} at {_line_here()} is given tensors of "
                    f"{len(devices)} devices:",
                    *dict.fromkeys(told),
                    "make what forward() makes on the device of what it is used with: device=x.device",
                ]
            )
        result = func(*args, **(kwargs or {}))
        self.mixed = None  # the operator takes them: indices may be on the CPU
        for leaf in pytree.tree_leaves(result):
            if isinstance(leaf, torch.Tensor) and leaf not in self._origin:
                self._origin[leaf] = f"the {func._schema.name.partition('::')[2]} of {_line_here()}"
        return result

    def _name(self, tensor: torch.Tensor) -> str:
        return self._origin.get(tensor, "a tensor of unknown origin")


def _line_here() -> str:
    """The innermost line that is not torch's."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_TORCH) and file != __file__ and not file.startswith("<"):
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back
    return "an unknown line"


def _line_of(error: BaseException) -> str | None:
    line, trace = None, error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith(_TORCH) and file != __file__ and "torchport/deploy" not in file:
            line = f"{file}:{trace.tb_lineno}"
        trace = trace.tb_next
    return line
