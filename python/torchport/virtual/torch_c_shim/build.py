"""Answers as a CUDA build of torch: versions, libraries and their settings."""

from __future__ import annotations

import enum
import functools
import json
import sys
import warnings
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

from torchport._releases import CUDABuild, cuda_build_for
from torchport.virtual.torch_c_shim._native import ops

KINDS = ("cuda",)
_CAN_USE = {
    "_can_use_cudnn_attention": "cudnn",
    "_can_use_flash_attention": "flash",
    "_can_use_mem_efficient_attention": "mem_efficient",
}


def build(torch: ModuleType) -> CUDABuild:
    """The build of this torch release that one would install for the virtual devices."""
    profile = json.loads(ops().profile())
    return cuda_build_for(torch.__version__, (profile["major"], profile["minor"]))


def _choose(torch: ModuleType) -> Callable[..., int]:
    """The choice of the device's kernel. While a program is traced, FakeTensorMode would ask another one,
    of no device; and this call of the kernel itself leaves its warnings on standard error."""
    if torch._C._len_torch_dispatch_stack() == 0:
        choose: Callable[..., int] = torch._fused_sdp_choice
        return choose
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)
    return functools.partial(torch.ops.aten._fused_sdp_choice.default.redispatch, keys)


def _can_use(torch: ModuleType, kernel: str) -> Callable[[Any, bool], bool]:
    """Whether a kernel of attention takes a call: asks for the choice while only this one is allowed."""
    kernels = (*_CAN_USE.values(), "math")

    def can_use(params: Any, debug: bool = False) -> bool:
        enabled = {name: getattr(torch._C, f"_get_{name}_sdp_enabled")() for name in kernels}
        if not (params.query.is_cuda and enabled[kernel]):
            if debug:
                text = f"The {kernel} kernel is switched off, or a tensor is not on a CUDA device."
                warnings.warn(text, stacklevel=3)
            return False
        try:
            for name in kernels:
                getattr(torch._C, f"_set_sdp_use_{name}")(name == kernel)
            with warnings.catch_warnings():
                warnings.simplefilter("default" if debug else "ignore")
                chosen = _choose(torch)(
                    *(_dense(torch, x) for x in (params.query, params.key, params.value)),
                    params.attn_mask,
                    params.dropout,
                    params.is_causal,
                    enable_gqa=params.enable_gqa,
                )
        except RuntimeError:
            return False
        finally:
            for name, on in enabled.items():
                getattr(torch._C, f"_set_sdp_use_{name}")(on)
        return bool(chosen > 0)

    return can_use


def _dense(torch: ModuleType, tensor: Any) -> Any:
    """A dense tensor to ask about in place of a jagged one, whose sequences torch checks itself.

    What is left to ask about are its dimensions, the size of a head, type and gradient.
    """
    if tensor.layout is not torch.jagged:
        return tensor
    heads, steps = 1, 8
    sizes = (*(1,) * (tensor.dim() - 3), heads, steps, tensor.shape[-1])
    return torch.empty(
        sizes, dtype=tensor.dtype, device=tensor.device, requires_grad=tensor.requires_grad
    )


class RNNMode(enum.IntEnum):
    rnn_relu = 0
    rnn_tanh = 1
    lstm = 2
    gru = 3


def _cudnn(torch: ModuleType) -> SimpleNamespace:
    return SimpleNamespace(
        RNNMode=RNNMode,
        is_cuda=True,
        getRuntimeVersion=lambda: build(torch).cudnn,
        getCompileVersion=lambda: build(torch).cudnn,
        getVersionInt=lambda: build(torch).cudnn_number,
    )


def _workspace_size(prefix: str) -> dict[str, Any]:
    """The size in bytes of the workspaces that products take from now on."""
    lt = prefix == "CublasLt"

    def put(size: int) -> None:
        if size < 0:
            raise RuntimeError(f"workspace size must be non-negative, got {size}")
        ops().set_blas_workspace_size(lt, size)

    return {
        f"_cuda_get{prefix}WorkspaceSize": lambda: ops().blas_workspace_size(lt),
        f"_cuda_set{prefix}WorkspaceSize": put,
        f"_cuda_reset{prefix}WorkspaceSize": lambda: ops().set_blas_workspace_size(lt, -1),
    }


def _settings() -> dict[str, Any]:
    """Settings of cuDNN, which torch's C++ has only in builds with cuDNN."""
    kept = {"benchmark_limit": 10, "benchmark_empty_cache": False}
    return {
        "_cuda_get_cudnn_benchmark_limit": lambda: kept["benchmark_limit"],
        "_cuda_set_cudnn_benchmark_limit": lambda n: kept.update(benchmark_limit=n),
        "_cuda_get_conv_benchmark_empty_cache": lambda: kept["benchmark_empty_cache"],
        "_cudnn_set_conv_benchmark_empty_cache": lambda on: kept.update(benchmark_empty_cache=on),
    }


def bindings(torch: ModuleType) -> dict[str, Any]:
    return {
        "_has_cuda": True,
        "_has_cudnn": True,
        "_has_magma": True,
        "_has_cusparselt": False,
        "_cudnn": _cudnn(torch),
        "_cuda_getCompiledVersion": lambda: build(torch).number,
        "_cuda_getArchFlags": lambda: build(torch).architectures,
        **_workspace_size("Cublas"),
        **_workspace_size("CublasLt"),
        # This says that the build has flash attention, not that it can run a given call.
        "_is_flash_attention_available": lambda: True,
        **{name: _can_use(torch, flag) for name, flag in _CAN_USE.items()},
        "_cuda_clearCublasWorkspaces": lambda: ops().clear_blas_workspaces(),
        **_settings(),
    }


def _profile_the_host(torch: ModuleType) -> None:
    """A build with CUDA says that it profiles kernels of CUDA, of which virtual devices have none."""
    cuda = torch._C._profiler.ProfilerActivity.CUDA
    known = torch._C._autograd._supported_activities

    def supported() -> set[Any]:
        return set(known()) - {cuda}

    if cuda in known():
        torch._C._autograd._supported_activities = supported
        if "torch.autograd" in sys.modules:
            torch.autograd._supported_activities = supported


def finish(torch: ModuleType) -> None:
    # In a build with CUDA, torch.jit would generate CUDA code and compile it with NVRTC.
    torch._C._jit_override_can_fuse_on_gpu(False)
    torch.version.cuda = "{}.{}".format(*build(torch).version)
    _profile_the_host(torch)
    # These modules were imported before the names existed, so they hold those of a CPU build.
    for name in ("torch.backends.cudnn", "torch.backends.cudnn.rnn"):
        if name in sys.modules:
            sys.modules[name]._cudnn = torch._C._cudnn  # type: ignore[attr-defined]
