"""From the model that a program has to the one that can be exported: bare, placed, in evaluation mode."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from torchport.deploy.export import placing
from torchport.deploy.export.errors import ExportError
from torchport.deploy.export.sample import Sample, named_outputs
from torchport.deploy.export.unwrap import unwrap
from torchport.deploy.export.watching import run_once
from torchport.deploy.export.weights import load_weights


@dataclass
class Prepared:
    """A model ready for capture. ``dtype`` is the floating dtype that it computes in."""

    module: nn.Module
    sample: Sample
    output_names: list[str]
    device: torch.device
    dtype: torch.dtype
    notes: list[str] = field(default_factory=list)

    def inputs(self, inputs: Any) -> Sample:
        return self.fitted(Sample.of(self.module, inputs))

    def fitted(self, sample: Sample) -> Sample:
        """A sample on the model's device and, where it is floating, of its dtype."""
        return sample.map(lambda _, tensor: _fitted(tensor, self.device, self.dtype))


def prepare(
    module: nn.Module,
    inputs: Any,
    *,
    weights: str | None,
    device: torch.device | None,
    dtype: torch.dtype | None,
    unsupported: dict[torch.dtype, torch.dtype],
) -> Prepared:
    """Changes ``module``: the caller's own is copied before. ``unsupported`` maps dtypes that the
    format's runtime has no kernels for to a wider one.

    Raises ExportError for what cannot be exported, in the model's own terms.
    """
    notes: list[str] = []
    if not isinstance(module, nn.Module):
        raise ExportError(f"the model is a {type(module).__name__}, not a torch.nn.Module")
    module = unwrap(module, notes)
    if weights is not None:
        load_weights(module, weights, notes)
    placing.adopt_strays(module, notes)
    if device is not None:
        placing.convert(module, device)
    sample = Sample.of(module, inputs)
    _check_sizes(sample)
    if device is None:
        device = placing.one_device(module, sample.items())
    dtype = _one_dtype(module, dtype, unsupported, notes)
    training = [name or type(module).__name__ for name, m in module.named_modules() if m.training]
    if training:
        notes.append(f"put into evaluation mode: {len(training)} modules")
    module.eval()
    for parameter in module.parameters():
        if not parameter.is_leaf:
            raise ExportError("a parameter is the result of a computation: make it a leaf")
    prepared = Prepared(module, sample, [], device, dtype, notes)
    prepared.sample = prepared.fitted(sample)
    prepared.output_names, _ = named_outputs(run_once(module, prepared.sample))
    return prepared


def _check_sizes(sample: Sample) -> None:
    for name, tensor in sample.items():
        if tensor.numel() == 0:
            raise ExportError(
                f"input {name} has no elements (shape {list(tensor.shape)}): nothing can be compared "
                "on it; give a sample of at least one row"
            )


def _one_dtype(
    module: nn.Module,
    wanted: torch.dtype | None,
    unsupported: dict[torch.dtype, torch.dtype],
    notes: list[str],
) -> torch.dtype:
    have = placing.floating_dtypes(module)
    if wanted is None:
        wanted = next(iter(have), torch.get_default_dtype())
        if len(have) > 1:
            wanted = max(have, key=lambda dtype: torch.finfo(dtype).bits)
            kinds = ", ".join(f"{len(names)} of {dtype}" for dtype, names in have.items())
            notes.append(f"its tensors are {kinds}: all made {wanted}".replace("torch.", ""))
        if wanted in unsupported:
            wider = unsupported[wanted]
            notes.append(
                f"made {wider}, which holds every {wanted}: the runtime has no kernels for that; "
                "dtype=... (--dtype) chooses".replace("torch.", "")
            )
            wanted = wider
    if any(dtype != wanted for dtype in have):
        placing.convert(module, wanted)
    return wanted


def _fitted(tensor: torch.Tensor, device: torch.device, dtype: torch.dtype) -> torch.Tensor:
    return tensor.detach().to(device, dtype if tensor.is_floating_point() else None)
