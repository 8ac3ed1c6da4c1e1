"""What operators say of arguments that do not fit together: one tensor of a sample is changed."""

import torch
from recorder.database import on_device, operators, outline, refusal, samples_of, tensors_in
from recorder.registry import generated
from torch.utils import _pytree as pytree

MOST = 3  # tensors of a sample that are changed, one after the other
CHANGES = {
    "on the host": lambda t: t.cpu(),
    "of float64": lambda t: t.to(torch.float64 if t.dtype != torch.float64 else torch.float32),
    "of int32": lambda t: t.to(torch.int32),
    "of bool": lambda t: t.to(torch.bool),
    "longer": lambda t: torch.cat([t, t[:1]]) if t.dim() else t,
    "one more dimension": lambda t: t.unsqueeze(0),
    "flat": lambda t: t.reshape(-1),
    "without elements": lambda t: t[:0] if t.dim() else t,
    "sparse": lambda t: t.to_sparse(),
    "without memory": lambda t: t.to("meta"),
}


def mutations(entry):
    """For each change and tensor: the outline of what is returned, or the refusal."""
    sample = sample_of(entry)
    try:
        count = min(MOST, len(tensors_in(on_device(sample))))
    except Exception:
        return "no sample"
    told = {}
    for name, change in CHANGES.items():
        for place in range(count):
            told[f"{place} {name}"] = asked(entry, sample, change, place)
            if "CUDA error" in str(told[f"{place} {name}"]):
                return told  # the device is lost
    return told


def sample_of(entry):
    """The first sample with two tensors that have elements, or else the first with elements."""
    for least in (2, 1):
        for dtype in (torch.float32, torch.int64, torch.bool):
            for sample in samples_of(entry, dtype, 5):
                given = tensors_in((sample.input, sample.args, sample.kwargs))
                if len(given) >= least and all(t.numel() for t in given):
                    return sample
    return None


def asked(entry, sample, change, place):
    try:
        given = on_device(sample)
        leaves, spec = pytree.tree_flatten(given)
        at = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)][place]
        leaves[at] = change(leaves[at])
        one, args, kwargs = pytree.tree_unflatten(leaves, spec)
    except Exception:
        return "no such tensor"
    try:
        with torch.no_grad():
            found = entry(one, *args, **kwargs)
        torch.cuda.synchronize()
    except Exception as error:
        return refusal(error)[:300]
    return [f"{outline(out)} {out.device.type}" for out in tensors_in(found)]


generated(operators({"mutations": mutations}))
