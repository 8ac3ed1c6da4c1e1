"""torch.cuda.FloatTensor and similar types, which old programs call to make tensors.

A CPU build has these types, but a call raises an error: each type has the flag is_cuda
(PyTensorType in torch/csrc/tensor/python_tensor.cpp), and the build has no CUDA. Python has no
access to the flag, so this module clears it in memory; the name of the type, which follows the
flag, confirms the place. After that, the attribute `is_cuda` goes by the name of the type.
"""

from __future__ import annotations

import ctypes
import gc
from types import ModuleType
from typing import Any

KINDS = ("cuda",)


def bindings(torch: ModuleType) -> dict[str, Any]:
    return {}


def finish(torch: ModuleType) -> None:
    for module in (torch.cuda, torch.cuda.sparse):
        for name, tensor_type in vars(module).items():
            if name.endswith("Tensor") and type(tensor_type).__name__ == "tensortype":
                _allow(tensor_type, f"{module.__name__}.{name}")

    _answer_by_name(type(torch.cuda.FloatTensor))


def _answer_by_name(metaclass: type) -> None:
    # Python cannot set attributes of a type that C defines, but the dict behind its proxy is
    # writable.
    (attributes,) = gc.get_referents(metaclass.__dict__)
    attributes["is_cuda"] = property(lambda kind: kind.__module__.startswith("torch.cuda"))
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(metaclass))


def _allow(tensor_type: Any, name: str) -> None:
    # After the type object: two pointers, is_cuda, is_xpu, char name[64].
    end_of_type = type(tensor_type).__basicsize__
    tail = (ctypes.c_char * (2 * ctypes.sizeof(ctypes.c_void_p) + 2 + 64)).from_address(
        id(tensor_type) + end_of_type
    )
    flag = 2 * ctypes.sizeof(ctypes.c_void_p)
    if not tail.raw[flag:].startswith(b"\1\0" + name.encode() + b"\0"):
        raise ImportError(
            f"torchport: {name} of this torch has an unknown memory layout; use a torch that "
            "`torchport run` supports"
        )
    tail[flag] = b"\0"
