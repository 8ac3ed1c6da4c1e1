"""torch.cuda.FloatTensor and its like, which old programs call to make tensors.

They are there in a CPU build, and refuse to be called: a flag of each says that it is CUDA's
(PyTensorType in torch/csrc/tensor/python_tensor.cpp), and the build has no CUDA. Nothing in Python
reaches the flag, so it is taken down in memory, next to the type's name that proves the place; what
a type answers when it is asked for the flag goes by its name from then on.
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
    # A type of C's own takes no attributes from Python; the dictionary behind its proxy does.
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
        raise ImportError(f"torchport: {name} of this torch has an unknown layout")
    tail[flag] = b"\0"
