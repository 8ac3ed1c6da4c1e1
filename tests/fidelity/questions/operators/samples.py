"""What each operator of PyTorch's own database returns: types, shapes, strides, aliases, values, the
bytes that stay allocated and those of its peak; and its gradients."""

import torch
from recorder.database import (
    few_numbers,
    on_device,
    operators,
    outline,
    refusal,
    samples_of,
    tensors_in,
)
from recorder.outputs import has_values, output_of
from recorder.registry import generated

COUNTS = {torch.float32: 8, torch.float16: 2, torch.cfloat: 2, torch.int64: 2}


def outputs(entry):
    told = {}
    for dtype, count in COUNTS.items():
        for index, sample in enumerate(samples_of(entry, dtype, count)):
            key = f"{str(dtype).removeprefix('torch.')} {index}"
            told[key] = output_of(entry, sample)
    return told


def memory(entry):
    """[allocated, peak] bytes of a second call, without those of the inputs."""
    told = {}
    for dtype in (torch.float32, torch.float16):
        for index, sample in enumerate(samples_of(entry, dtype, 4)):
            key = f"{str(dtype).removeprefix('torch.')} {index}"
            try:
                one, args, kwargs = on_device(sample)
                with torch.no_grad():
                    found = entry(one, *args, **kwargs)
                    del found
                    one, args, kwargs = on_device(sample)
                    torch.cuda.synchronize()
                    torch.cuda.reset_peak_memory_stats()
                    before = torch.cuda.memory_allocated()
                    found = entry(one, *args, **kwargs)
                    after, peak = torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated()
                told[key] = [after - before, peak - before]
                del found
            except Exception as error:
                told[key] = type(error).__name__
    return told


def gradients(entry):
    told = {}
    for dtype in (torch.float32, torch.float16, torch.cfloat):
        count = 4 if dtype == torch.float32 else 1
        for index, sample in enumerate(samples_of(entry, dtype, count, requires_grad=True)):
            key = f"{str(dtype).removeprefix('torch.')} {index}"
            told[key] = gradients_of(entry, sample)
    return told


def gradients_of(entry, sample):
    try:
        one, args, kwargs = on_device(sample)
    except Exception:
        return "no sample"
    given = [t for t in tensors_in((one, args, kwargs)) if t.requires_grad]
    try:
        found = entry(one, *args, **kwargs)
        outs = [t for t in tensors_in(found) if t.requires_grad]
        if not given or not outs:
            return [len(given), len(outs)]
        total = sum((o.abs() if o.is_complex() else o).sum().float() for o in outs)
        grads = torch.autograd.grad(total, given, allow_unused=True)
        torch.cuda.synchronize()
    except Exception as error:
        return refusal(error)
    told = []
    for grad in grads:
        if grad is None:
            told.append(None)
        else:
            told.append([outline(grad), *([few_numbers(grad)] if has_values(entry) else [])])
    return told


generated(operators({"outputs": outputs, "gradients": gradients}, tolerance=2e-3))
generated(operators({"memory": memory}))
