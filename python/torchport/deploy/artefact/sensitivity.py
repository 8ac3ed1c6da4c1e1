"""How much a model's own results change when its numbers are rounded otherwise."""

from __future__ import annotations

import torch
from torch import nn

from torchport.deploy.artefact.sample import Sample, named_outputs
from torchport.deploy.artefact.state import kept

_DRAWS = 4
# Runtimes round each operator otherwise. Relative changes of this many units of the dtype's epsilon
# in all inputs and parameters stand for these roundings.
_UNITS = 4.0


def rounded_results(module: nn.Module, sample: Sample) -> list[list[torch.Tensor]]:
    """Returns the results of the model for inputs and parameters that differ by roundings.

    A result of an artefact that lies as near to the model's result as these do is not wrong: for
    such inputs, for example with ties before an argmax, or large ones before a sine, the model
    itself is that sensitive. Random numbers of the model are the same in each run. The draws are
    those of backward error analysis (Higham, Accuracy and Stability of Numerical Algorithms, 1.5).
    """
    chance = torch.Generator().manual_seed(0)
    results = []
    for _ in range(_DRAWS):
        parameters = {
            name: _nudged(value.detach(), chance)
            for name, value in module.named_parameters()
            if value.is_floating_point()
        }
        inputs = sample.map(lambda _, tensor: _nudged(tensor, chance))
        with torch.no_grad(), kept(module):
            result = torch.func.functional_call(module, parameters, inputs.args, inputs.kwargs)
            results.append([tensor.detach().clone() for tensor in named_outputs(result)[1]])
    return results


def _nudged(tensor: torch.Tensor, chance: torch.Generator) -> torch.Tensor:
    if not tensor.is_floating_point():
        return tensor.clone()
    units = _UNITS * torch.finfo(tensor.dtype).eps
    drawn = torch.rand(tensor.shape, generator=chance).to(tensor.device) * 2 - 1
    wide = torch.float64 if tensor.dtype == torch.float64 else torch.float32
    return (tensor.to(wide) * (1 + units * drawn)).to(tensor.dtype)
