"""Models that torch.export is known not to capture, with the way out."""

from __future__ import annotations

import torch

from torchport.deploy.artefact.prepare import Prepared

_QUANTIZED = ("torch.ao.nn.quantized", "torch.ao.nn.intrinsic.quantized")
# Operators that read values of tensors in C++, where a capture has none.
_READING = {
    "aten::_pack_padded_sequence": "packs sequences (pack_padded_sequence), whose number of rows in "
    "each step depends on the values of the lengths: export to torchscript, or run the recurrent "
    "layer on the padded sequences and mask its results",
}


def no_program(prepared: Prepared) -> str:
    """Why torch.export cannot capture the model; empty if nothing is known that hinders it."""
    for name, part in prepared.module.named_modules():
        if isinstance(part, torch.jit.ScriptModule):
            return (
                f"{name or 'the model'} is compiled TorchScript, which torch.export does not capture: "
                "export the Python module that it was made of, or to torchscript with script=True "
                "(--to torchscript --script)"
            )
        if type(part).__module__.startswith(_QUANTIZED):
            return (
                f"{name or 'the model'} is a {type(part).__name__} of torch.ao.quantization, whose "
                "packed weights torch.export does not capture: export to torchscript, or quantize "
                "with torchao's quantize_ and export to pt2 or aoti"
            )
    for operator, why in _READING.items():
        if operator in prepared.traits.operators:
            return f"{prepared.traits.operators[operator]} {why}"
    return ""
