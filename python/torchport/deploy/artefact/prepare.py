"""Prepares a program's model for export: unwrapped, on one device, in evaluation mode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from torchport.deploy.artefact import placing
from torchport.deploy.artefact.errors import ExportError, KeepsState
from torchport.deploy.artefact.first_run import FirstRun, run_once
from torchport.deploy.artefact.sample import Form, Sample, named_outputs, signature_of
from torchport.deploy.artefact.stripping import strip_wrappers
from torchport.deploy.artefact.traits import Traits
from torchport.deploy.artefact.weights import load_weights


@dataclass
class Prepared:
    """A model that is ready for capture. ``dtype`` is the narrowest floating dtype that it computes
    in. Floating inputs are converted to ``input_dtype`` unless that is None. ``form`` and
    ``outputs`` are those of the first run. ``assumptions`` go into the contract, and ``notes`` only
    into the report.
    """

    module: nn.Module
    sample: Sample
    form: Form
    outputs: list[torch.Tensor]
    device: torch.device
    dtype: torch.dtype
    notes: list[str] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)
    traits: Traits = field(default_factory=Traits)
    input_dtype: torch.dtype | None = None

    @property
    def output_names(self) -> list[str]:
        return list(self.form.names)

    def inputs(self, inputs: Any) -> Sample:
        return self.fitted(Sample.of(self.module, inputs))

    def fitted(self, sample: Sample) -> Sample:
        """The sample on the model's device, converted to ``input_dtype``."""

        def fit(_: str, tensor: torch.Tensor) -> torch.Tensor:
            dtype = self.input_dtype if tensor.is_floating_point() else None
            return tensor.detach().to(self.device, dtype)

        return sample.map(fit)


def prepare(
    module: nn.Module,
    inputs: Any,
    *,
    weights: str | None,
    device: torch.device | None,
    dtype: torch.dtype | None,
    unsupported: dict[torch.dtype, torch.dtype],
) -> Prepared:
    """Prepares ``module`` for capture and changes it, so the caller passes a copy. ``unsupported``
    maps a dtype that the format's runtime has no kernels for to a wider one.

    Raises ExportError, in terms of the model, if it cannot be exported.
    """
    notes: list[str] = []
    if not isinstance(module, nn.Module):
        raise ExportError(
            f"the model is a {type(module).__name__}, not a torch.nn.Module; pass a module or a "
            "function that makes one"
        )
    module = strip_wrappers(module, notes)
    if weights is not None:
        load_weights(module, weights, notes)
    placing.adopt_unregistered(module, notes)
    if device is not None:
        placing.convert(module, device)
    sample = Sample.of(module, inputs)
    _check_sizes(sample)
    if device is None:
        device = placing.one_device(module, sample.items())
    training = [name or type(module).__name__ for name, m in module.named_modules() if m.training]
    if training:
        notes.append(f"put into evaluation mode: {len(training)} modules")
    module.eval()
    for name, parameter in module.named_parameters():
        if not parameter.is_leaf:
            raise ExportError(
                f"the parameter {name} is the result of a computation, not a leaf: assign "
                "nn.Parameter(value.detach()) instead"
            )
    prepared = Prepared(module, sample, Form((), "", False), [], device, _main_dtype(module), notes)
    if dtype is None and prepared.dtype in unsupported:
        dtype = unsupported[prepared.dtype]
        notes.append(
            _plain(
                f"converted from {prepared.dtype} to {dtype}, because the runtime has no kernels "
            )
            + _plain(f"for {prepared.dtype}; dtype=... (--dtype) chooses another dtype")
        )
    try:
        run = _run_converted(prepared, dtype) if dtype else _run_as_it_is(prepared)
    except ExportError as error:
        if not isinstance(inputs, Mapping) or sample.kwargs:
            raise
        raise ExportError(
            f"{error}\nthe mapping was passed as one argument, because "
            f"{', '.join(map(str, inputs))} are "
            f"not parameters of {type(module).__name__}.forward{signature_of(module)}"
        ) from error.__cause__
    prepared.form = Form.of(run.result)
    prepared.outputs = named_outputs(run.result)[1]
    if run.changed:
        prepared.notes.append(
            f"the forward changes {_few(run.changed)}; its results do not depend on it"
        )
    for name in run.changed_inputs:
        prepared.assumptions.append(
            f"forward changes its input {name} in place; the caller of an artefact may not see it"
        )
    prepared.assumptions += [
        f"{Path(line).name} {words}: the artefact keeps what that led to for the sample"
        for line, words in run.peeks.items()
    ]
    return prepared


def _run_converted(prepared: Prepared, dtype: torch.dtype) -> FirstRun:
    placing.convert(prepared.module, dtype)
    prepared.dtype = prepared.input_dtype = dtype
    prepared.sample = prepared.fitted(prepared.sample)
    return run_once(prepared.module, prepared.sample)


def _run_as_it_is(prepared: Prepared) -> FirstRun:
    """Runs the model without converting its dtypes, also if it has several.

    If that fails because the dtypes do not fit, it tries again with converted inputs, and then with
    all tensors converted to the widest dtype of the model: models that apex trained with O2 have
    parameters of two dtypes.
    """
    prepared.sample = prepared.fitted(prepared.sample)
    try:
        return run_once(prepared.module, prepared.sample)
    except ExportError as error:
        if "type" not in str(error.__cause__):
            raise
        first = error
    try:
        prepared.input_dtype = prepared.dtype
        converted = prepared.fitted(prepared.sample)
        result = run_once(prepared.module, converted)
        prepared.sample = converted
        prepared.notes.append(
            _plain(f"converted the floating inputs to {prepared.dtype}, the dtype of the weights")
        )
        return result
    except KeepsState:
        raise
    except ExportError:
        have = placing.floating_dtypes(prepared.module)
        if len(have) < 2:
            raise first from first.__cause__
    widest = max(have, key=lambda dtype: torch.finfo(dtype).bits)
    kinds = ", ".join(f"{len(names)} of {dtype}" for dtype, names in have.items())
    prepared.notes.append(_plain(f"the model's tensors are {kinds}: converted all to {widest}"))
    return _run_converted(prepared, widest)


def _main_dtype(module: nn.Module) -> torch.dtype:
    """The narrowest floating dtype of the parameters: it limits the precision of the results."""
    dtypes = {p.dtype for p in module.parameters() if p.is_floating_point()}
    dtypes = dtypes or set(placing.floating_dtypes(module)) or {torch.get_default_dtype()}
    return min(dtypes, key=lambda dtype: (torch.finfo(dtype).bits, -torch.finfo(dtype).eps))


def _few(names: list[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _plain(text: str) -> str:
    return text.replace("torch.", "")


def _check_sizes(sample: Sample) -> None:
    for name, tensor in sample.items():
        if tensor.numel() == 0:
            raise ExportError(
                f"input {name} has no elements (shape {list(tensor.shape)}): nothing can be "
                "compared; give a sample of at least one row"
            )
