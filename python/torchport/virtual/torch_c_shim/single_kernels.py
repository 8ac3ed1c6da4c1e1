"""torch.cuda._compile_kernel: NVRTC and the driver of the virtual toolkit, for torch.cuda._utils.

torch.cuda._utils calls both by ctypes, by the names of NVIDIA's libraries. Here it gets those of the package, so
that it needs no `torchport run`.
"""

from __future__ import annotations

import ctypes
import functools
import os
from pathlib import Path
from types import ModuleType
from typing import Any

from torchport.virtual.torch_c_shim import graphs
from torchport.virtual.torch_c_shim._native import ops, refuse

KINDS = ("cuda",)

_NAME = "torch.cuda._compile_kernel"
# A kernel may read as many arguments behind those that it was given; they are zeros.
_MISSING = 64
_zeros = ctypes.create_string_buffer(4096)


class _Driver:
    """libcuda.so as torch.cuda._utils calls it, on the devices that the tensors have."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)

    def cuLaunchKernel(self, function: Any, *rest: Any) -> int:
        *sizes, shared, _stream, arguments, extra = rest
        if graphs.current() is not None:
            refuse(_NAME, "a kernel in the capture of a CUDA graph, which records operators")
        ops().start_kernel(-1)  # a lost device says so
        given = len(arguments) if arguments is not None else 0
        places = (ctypes.c_void_p * (given + _MISSING))(*(arguments or ()))
        for i in range(given, given + _MISSING):
            places[i] = ctypes.addressof(_zeros)
        # Work is done when its call returns, so any stream will do.
        result: int = self._library.cuLaunchKernel(function, *sizes, shared, None, places, extra)
        return result


def finish(torch: ModuleType) -> None:
    from torch.cuda import _utils

    @functools.cache
    def library() -> ctypes.CDLL:
        from torchport import _runtimes
        from torchport.virtual.kernels import extensions

        root = Path(torch.__file__).parent  # type: ignore[arg-type]
        release = _runtimes.Torch.at(root)
        # Beside the libraries of a build for CUDA, ours find their own functions first.
        mode = os.RTLD_LOCAL | os.RTLD_DEEPBIND if release.has_cuda else ctypes.RTLD_GLOBAL
        extensions.set_environment()
        return extensions.load_cuda(_runtimes.find(release), mode)

    def driver() -> _Driver:
        torch.cuda.init()
        return _Driver(library())

    replaced = {
        # The first two are those of torch 2.8 and 2.9.
        "_get_cuda_library": driver,
        "_get_nvrtc_library": library,
        "_get_gpu_runtime_library": driver,
        "_get_gpu_rtc_library": library,
    }
    vars(_utils).update({name: new for name, new in replaced.items() if hasattr(_utils, name)})


def bindings(torch: ModuleType) -> dict[str, Any]:
    return {}
