"""What operators say of the wrong arguments that PyTorch's own database has for them."""

import torch
from recorder.database import on_device, operators, refusal
from recorder.registry import generated


def errors(entry):
    if entry.error_inputs_func is None:
        return []
    told = []
    try:
        cases = list(entry.error_inputs("cuda"))
    except Exception as error:
        return [f"not made: {refusal(error)}"]
    for case in cases:
        torch.manual_seed(0)
        given = case.sample_input
        try:
            given = on_device(given)
            entry(given[0], *given[1], **given[2])
            torch.cuda.synchronize()
            told.append("no error")
        except Exception as error:
            told.append(refusal(error))
    return told


def written_into(entry):
    """With an `out=` of another shape, of integers, and of the CPU."""
    from recorder.database import samples_of, tensors_in

    if not entry.supports_out:
        return []
    samples = samples_of(entry, torch.float32, 1)
    if not samples:
        return []
    told = []
    try:
        one, args, kwargs = on_device(samples[0])
        outs = tensors_in(entry(one, *args, **kwargs))
        if any(out.layout != torch.strided for out in outs):
            return []
    except Exception:
        return []
    for make in (
        lambda t: torch.empty(7, dtype=t.dtype, device="cuda"),
        lambda t: torch.empty(t.shape, dtype=torch.int64, device="cuda"),
        lambda t: torch.empty(t.shape, dtype=t.dtype),
        lambda t: torch.empty(t.shape, dtype=torch.float64, device="cuda"),
    ):
        into = [make(t) for t in outs]
        try:
            entry(one, *args, **kwargs, out=into[0] if len(into) == 1 else tuple(into))
            torch.cuda.synchronize()
            told.append([str(t.dtype) + str(list(t.shape)) + str(t.device) for t in into])
        except Exception as error:
            told.append(refusal(error))
    return told


generated(operators({"errors": errors, "out": written_into}))
