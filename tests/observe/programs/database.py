"""Operators of PyTorch's own database, forward and backward, with nobody watching and with us.

Prints JSON: how many ran both ways, and those whose results differ.
"""

import importlib.util
import json
import sys
import warnings
from pathlib import Path

import torch
from torch.utils._pytree import tree_leaves
from torchport._native.observing import Observation

warnings.simplefilter("ignore")
# What was in memory.
UNINITIALISED = {
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
}


def _operators():
    path = Path(__file__).parents[2] / "conformance/database.py"
    spec = importlib.util.spec_from_file_location("conformance_database", path)
    database = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(database)
    return database.operators()


def _tensors(value):
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def _run(operator, sample):
    """Its results and the gradients of their sum."""
    torch.manual_seed(0)
    results = _tensors(operator(sample.input, *sample.args, **sample.kwargs))
    differentiable = [
        t.sum()
        for t in results
        if t.requires_grad and t.is_floating_point() and t.layout == torch.strided
    ]
    inputs = [t for t in _tensors((sample.input, sample.args, sample.kwargs)) if t.requires_grad]
    gradients = []
    if differentiable and inputs:
        gradients = torch.autograd.grad(differentiable, inputs, allow_unused=True)
    return [*results, *(g for g in gradients if g is not None)]


def _same(a, b):
    if a.layout != torch.strided or a.is_nested:
        return a.layout == b.layout
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.is_floating_point() or a.is_complex():
        return torch.allclose(a, b, rtol=0, atol=0, equal_nan=True)
    return torch.equal(a, b)


def _differs(operator, sample):
    """None where the sample does not run here at all."""
    try:
        plain = _run(operator, sample)
    except Exception:
        return None
    observation = Observation([str(Path(torch.__file__).parent)], True)
    try:
        seen = _run(operator, sample)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        observation.finish()
    if len(plain) != len(seen) or not all(map(_same, plain, seen)):
        return "other results"
    return ""


def main():
    ran, differing = 0, {}
    for name, operator in _operators().items():
        if name.partition(".")[0] in UNINITIALISED or torch.float32 not in operator.dtypes:
            continue
        gradients = operator.supports_autograd
        samples = operator.sample_inputs("cpu", torch.float32, requires_grad=gradients)
        sample = next(iter(samples), None)
        found = _differs(operator, sample) if sample is not None else None
        ran += found is not None
        if found:
            differing[name] = found
    json.dump({"ran": ran, "differing": differing}, sys.stdout)


if __name__ == "__main__":
    main()
