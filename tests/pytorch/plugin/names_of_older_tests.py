"""Names that tests of older releases of PyTorch import and the installed one no longer has.

Each is what the older release had, as far as its tests need it; a name that is still there is left.
"""

from __future__ import annotations

import unittest
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.testing._internal import (
    common_cuda,
    common_methods_invocations,
    common_mkldnn,
    common_nn,
)
from torch.testing._internal.opinfo.core import DecorateInfo
from torch.testing._internal.opinfo.refs import ElementwiseBinaryPythonRefInfo

OPERATORS: list = common_methods_invocations.op_db


def tf32_is_not_fp32() -> bool:
    if not torch.cuda.is_available() or torch.version.cuda is None:
        return False
    return torch.cuda.get_device_properties(0).major >= 8


def bf32_on_and_off(precision: float = 1e-5) -> Callable:
    """Runs a test once, without bf32: it concerns the CPU only."""
    return lambda test: test


def expected(fails: bool) -> Callable[..., tuple]:
    def entry(
        name: str, variant: str = "", *, device_type: str | None = None, dtypes: Any = None
    ) -> tuple:
        return name, variant, device_type, dtypes, fails

    return entry


def skip_ops(case: str, test: str, to_skip: Iterable[tuple]) -> Callable:
    for name, variant, device_type, dtypes, fails in to_skip:
        how = unittest.expectedFailure if fails else unittest.skip("Skipped!")
        decorate = DecorateInfo(how, case, test, device_type=device_type, dtypes=dtypes)
        for op in OPERATORS:
            if (op.name, op.variant_test_name) == (name, variant):
                op.decorators = (*op.decorators, decorate)
    return lambda function: function


def binary_functions() -> list:
    """Those of PyTorch's database and their references, each name once."""
    references = common_methods_invocations.python_ref_db
    found = {op.formatted_name: op for op in common_methods_invocations.binary_ufuncs}
    for op in references:
        if isinstance(op, ElementwiseBinaryPythonRefInfo):
            found.setdefault(op.formatted_name, op)
    return list(found.values())


def supply(module: Any, name: str, make: Callable[[], Any]) -> None:
    if not hasattr(module, name):
        setattr(module, name, make())


supply(common_cuda, "tf32_is_not_fp32", lambda: tf32_is_not_fp32)
supply(common_mkldnn, "bf32_on_and_off", lambda: bf32_on_and_off)
supply(common_nn, "new_module_tests", common_nn.get_new_module_tests)
supply(common_methods_invocations, "xfail", lambda: expected(fails=True))
supply(common_methods_invocations, "skip", lambda: expected(fails=False))
supply(common_methods_invocations, "skipOps", lambda: skip_ops)
supply(common_methods_invocations, "binary_ufuncs_and_refs", binary_functions)
supply(
    torch._C,
    "_cuda_endAllocateCurrentStreamToPool",
    lambda: getattr(torch._C, "_cuda_endAllocateToPool", None),
)
