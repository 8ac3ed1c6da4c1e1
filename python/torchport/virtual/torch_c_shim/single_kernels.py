"""torch.cuda._compile_kernel: in place of NVRTC and the driver, which torch.cuda._utils calls by ctypes."""

from __future__ import annotations

import functools
import inspect
import itertools
from types import ModuleType
from typing import Any

from torchport.virtual.torch_c_shim import graphs
from torchport.virtual.torch_c_shim._native import ops, refuse

KINDS = ("cuda",)

_NAME = "torch.cuda._compile_kernel"


class _Driver:
    """The functions of libcuda.so that torch.cuda._utils calls, with their results.

    Handles are numbers. A pointer to where a result goes is ctypes.byref(object), whose object is
    `_obj`.
    """

    def __init__(self) -> None:
        self._handles: dict[int, Any] = {}
        self._next = itertools.count(1)

    def _put(self, place: Any, thing: Any) -> None:
        place._obj.value = next(self._next)
        self._handles[place._obj.value] = thing

    def cuGetErrorString(self, result: int, place: Any) -> int:
        from torchport.virtual.kernels import single

        place._obj.value = single.words_of(result)
        return single.SUCCESS

    def cuModuleLoadData(self, place: Any, binary: bytes) -> int:
        from torchport.virtual.kernels import single

        if not binary.startswith(single.MAGIC):
            refuse(
                "torch.cuda._utils._cuda_load_module", "there is no GPU that could run this code"
            )
        module = single.module(binary)
        if module is None:
            return single.INVALID_IMAGE
        self._put(place, module)
        return single.SUCCESS

    def cuModuleGetFunction(self, place: Any, module: Any, name: bytes) -> int:
        from torchport.virtual.kernels import single

        kernel = self._handles[module.value].kernel(name.decode())
        if kernel is None:
            return single.NOT_FOUND
        self._put(place, kernel)
        return single.SUCCESS

    def cuFuncSetAttribute(self, function: Any, attribute: int, value: int) -> int:
        self._handles[function.value].shared = value  # the only attribute that is asked for
        return 0

    def cuLaunchKernel(self, function: Any, *rest: Any) -> int:
        *sizes, shared, _stream, arguments, _extra = rest
        if graphs.current() is not None:
            refuse(_NAME, "a kernel in the capture of a CUDA graph, which records operators")
        ops().start_kernel(-1)  # a lost device says so
        result: int = self._handles[function.value].launch(sizes[:3], sizes[3:], shared, arguments)
        return result


def finish(torch: ModuleType) -> None:
    from torch.cuda import _utils

    compile_by_nvrtc = _utils._nvrtc_compile
    driver = _Driver()

    @functools.wraps(compile_by_nvrtc)
    def compile_for_host(*args: Any, **keywords: Any) -> tuple[bytes, str]:
        from torchport.virtual.kernels import single

        torch.cuda.init()
        given = inspect.signature(compile_by_nvrtc).bind(*args, **keywords).arguments
        source, name = given["kernel_source"], given["kernel_name"]
        header = given.get("header_code")  # until torch 2.9
        if header:
            source = f"{header}\n{source}"
        folders = [f"-I{folder}" for folder in given.get("cuda_include_dirs") or ()]
        options = [*folders, *(given.get("nvcc_options") or ())]
        return single.compiled(source, name, options), name

    vars(_utils).update(
        _nvrtc_compile=compile_for_host,
        _get_gpu_runtime_library=lambda: driver,
    )


def bindings(torch: ModuleType) -> dict[str, Any]:
    return {}
