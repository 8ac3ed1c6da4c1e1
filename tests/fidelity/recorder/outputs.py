"""What one sample of an operator returns: types, layouts, aliases of the inputs, and some values."""

from __future__ import annotations

from typing import Any

import torch

from recorder.database import few_numbers, on_device, outline, refusal, tensors_in

RANDOM = ("rand", "normal", "bernoulli", "multinomial", "uniform", "exponential", "cauchy",
          "geometric", "log_normal", "empty", "dropout", "rrelu", "svd_lowrank", "pca_lowrank")  # fmt: skip


def has_values(entry: Any) -> bool:
    """Whether its values say something: random ones are asked elsewhere, others have free signs."""
    return not any(word in entry.name for word in RANDOM)


def alias_of(out: torch.Tensor, given: list[torch.Tensor]) -> str:
    for index, tensor in enumerate(given):
        same = tensor.layout == torch.strided == out.layout
        if out is tensor:
            return f"is input {index}"
        if (
            same
            and tensor.numel()
            and tensor.untyped_storage()._cdata == out.untyped_storage()._cdata
        ):
            return f"views input {index}"
    return ""


def output_of(entry: Any, sample: Any) -> Any:
    try:
        one, args, kwargs = on_device(sample)
    except Exception:
        return "no sample"
    given = tensors_in((one, args, kwargs))
    try:
        with torch.no_grad():
            found = entry(one, *args, **kwargs)
        torch.cuda.synchronize()
    except Exception as error:
        return refusal(error)
    told = []
    for out in tensors_in(found):
        line = [f"{outline(out)} {alias_of(out, given)}".strip()]
        if has_values(entry):
            line.append(few_numbers(out))
        told.append(line)
    return told
