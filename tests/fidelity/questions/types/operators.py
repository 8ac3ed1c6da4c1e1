"""Which types each operator of PyTorch's own database takes, and what it says of the others."""

import functools
import importlib.util
import itertools
import sys
import types
import unittest

import torch
from recorder.asking import NotAnswered
from recorder.registry import Question, generated
from torch.utils import _pytree as pytree

DTYPES = [
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.cfloat, torch.cdouble,
    torch.complex32, torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
    torch.uint16, torch.float8_e4m3fn,
]  # fmt: skip
LACKS = "torch's own database of operators needs numpy: pip install numpy"


def database():
    """The database. Its modules derive a class from one of expecttest's, and nothing here uses it."""
    if importlib.util.find_spec("expecttest") is None:
        stub = types.ModuleType("expecttest")
        stub.TestCase = unittest.TestCase
        sys.modules["expecttest"] = stub
    from torch.testing._internal.common_methods_invocations import op_db

    return op_db


@generated
def operators():
    try:
        entries = database()
    except ImportError as error:
        reason = f"{LACKS} ({error})"
        yield Question("(the database)", functools.partial(refuse, reason))
        return
    for entry in entries:
        name = entry.name + (f".{entry.variant_test_name}" if entry.variant_test_name else "")
        yield Question(name, functools.partial(ask, entry), seconds=300)


def refuse(reason):
    raise NotAnswered(reason)


def ask(entry):
    """For each type: true, the text of the refusal, or why there is no sample."""
    return {str(dtype).removeprefix("torch."): of_type(entry, dtype) for dtype in DTYPES}


def sample_of(entry, dtype):
    """The first sample with elements, made on the CPU: so it is the same for every device."""
    torch.manual_seed(0)
    first = None
    for sample in itertools.islice(entry.sample_inputs("cpu", dtype), 5):
        first = first or sample
        tensors = [t for t in pytree.tree_leaves(sample.input) if isinstance(t, torch.Tensor)]
        if all(t.numel() for t in tensors):
            return sample
    return first


def moved(value):
    if isinstance(value, torch.Tensor):
        return value.cuda()
    if isinstance(value, torch.device) or (isinstance(value, str) and value == "cpu"):
        return "cuda"
    return value


def of_type(entry, dtype):
    try:
        sample = sample_of(entry, dtype)
        if sample is None:
            return "no sample"
        given = (sample.input, tuple(sample.args), dict(sample.kwargs))
        one, args, kwargs = pytree.tree_map(moved, given)
    except Exception:
        return "no sample"
    try:
        with torch.no_grad():
            entry(one, *args, **kwargs)
        torch.cuda.synchronize()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return True
