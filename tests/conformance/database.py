"""PyTorch's own database of operators, modules and optimizers, as tests here take it."""

from __future__ import annotations

import sys
import unittest
import warnings
from functools import cache
from types import ModuleType
from typing import Any


def _without_expecttest() -> None:
    """PyTorch's test helpers derive a class from expecttest.TestCase; nothing here uses it."""
    try:
        import expecttest  # noqa: F401
    except ImportError:
        stub = ModuleType("expecttest")
        stub.TestCase = unittest.TestCase  # type: ignore[attr-defined]
        sys.modules["expecttest"] = stub


@cache
def operators() -> dict[str, Any]:
    """OpInfo by name; variants as `name.variant`."""
    _without_expecttest()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
    return {name_of(op): op for op in op_db}


def name_of(op: Any) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


@cache
def modules() -> dict[str, Any]:
    _without_expecttest()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_modules import module_db
    return {f"module:{info.name}": info for info in module_db}


@cache
def optimizers() -> dict[str, Any]:
    _without_expecttest()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_optimizers import optim_db
    return {f"optim:{info.optim_cls.__name__}": info for info in optim_db}


def tasks(dtypes: str) -> list[tuple[str, str]]:
    """(name, dtype) of all there is to compare: with "float32" that dtype and, where an operator
    has none of it, the first it has; with "all" every dtype that it has on the CPU. test_types.py has
    those that only one of CUDA and the CPU takes."""
    import torch

    result = []
    for name, op in operators().items():
        both = op.supported_dtypes("cpu") & op.supported_dtypes("cuda")
        own = sorted(str(d).removeprefix("torch.") for d in both)
        if not own:
            continue
        if dtypes == "all":
            result += [(name, dtype) for dtype in own]
        else:
            result.append((name, dtypes if dtypes in own else own[0]))
    kinds = ("float32", "float64") if dtypes == "all" else ("float32",)
    for name, info in {**modules(), **optimizers()}.items():
        own_kinds = getattr(info, "dtypes", None)
        for kind in kinds:
            if own_kinds is None or getattr(torch, kind) in own_kinds:
                result.append((name, kind))
    return result
