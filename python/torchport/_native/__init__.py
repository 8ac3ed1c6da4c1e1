"""Loads libtorchport_bindings.so, libtorchport for Python, after torch is imported.

The library has operators of the dispatcher and plain functions, and knows no version of Python. Its
structures come as JSON; the modules of this package make typed objects of them.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import torch

from torchport import _runtimes

# An operator is called with these keys and no others, which leads straight to its kernel. So
# it is not seen by observers, by modes (FakeTensorMode, torch.device as a context), by functorch,
# by subclasses of Tensor, or by a trace of torch.jit: it is no operator of the program.
_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)


def _load() -> ctypes.CDLL:
    installed = _runtimes.Torch.at(Path(torch.__file__).parent)
    path = _runtimes.find(installed) / "libtorchport_bindings.so"
    _runtimes.load_torch(installed)
    # PyDLL keeps Python's lock during a call, CDLL would release it. The plain functions take less
    # time than giving the lock away and waiting for it again, and none of them waits for a thread
    # that needs it. Operators release it.
    return _runtimes.load(path, ctypes.PyDLL)


_library = _load()


def function(name: str, result: Any, *arguments: Any) -> Any:
    """A plain function of the library, with the ctypes of its result and of its arguments."""
    found = getattr(_library, name)
    found.restype = result
    found.argtypes = arguments
    return found


def call(name: str, *arguments: Any) -> Any:
    """Calls the operator ``torch.ops.torchport.NAME``; what C++ throws is raised as torch does."""
    return getattr(torch.ops.torchport, name).default.redispatch(_KEYS, *arguments)
