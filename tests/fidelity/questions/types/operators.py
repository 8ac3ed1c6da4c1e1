"""Which types each operator of PyTorch's own database takes, and what it says of the others."""

import torch
from recorder.database import on_device, operators, refusal, samples_of, tensors_in
from recorder.registry import generated

DTYPES = [
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.cfloat, torch.cdouble,
    torch.complex32, torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
    torch.uint16, torch.float8_e4m3fn,
]  # fmt: skip


def types(entry):
    """For each type: true, the text of the refusal, or why there is no sample."""
    return {str(dtype).removeprefix("torch."): of_type(entry, dtype) for dtype in DTYPES}


def sample_of(entry, dtype):
    """The first sample with elements."""
    samples = samples_of(entry, dtype, 5)
    for sample in samples:
        if all(t.numel() for t in tensors_in(sample.input)):
            return sample
    return samples[0] if samples else None


def of_type(entry, dtype):
    sample = sample_of(entry, dtype)
    if sample is None:
        return "no sample"
    try:
        one, args, kwargs = on_device(sample)
    except Exception:
        return "no sample"
    try:
        with torch.no_grad():
            entry(one, *args, **kwargs)
        torch.cuda.synchronize()
    except Exception as error:
        return refusal(error)
    return True


generated(operators({"types": types}))
