"""torch.cuda.jiterator: elementwise functions that programs give as C++ text."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from torchport.virtual.torch_c_shim import graphs
from torchport.virtual.torch_c_shim._native import ops

KINDS = ("cuda",)


@functools.cache
def _keys(torch: ModuleType) -> Any:
    """The key that leads straight to a kernel."""
    return torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)


def _call(torch: ModuleType, name: str, *arguments: Any) -> Any:
    """Calls an operator of the runtime.

    A real device starts the kernel without the dispatcher, so no mode, transform or subclass sees it.
    Only the capture of a graph does here, which has to record it.
    """
    operator = getattr(ops(), name).default
    if graphs.current() is None:
        return operator.redispatch(_keys(torch), *arguments)
    with torch.no_grad():
        return operator(*arguments)


def bindings(torch: ModuleType) -> dict[str, Any]:
    def compile_and_launch(
        code: str,
        name: str,
        return_by_ref: bool,
        num_outputs: int,
        tensors: Any,
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        from torchport.virtual.kernels import jiterator

        if not isinstance(tensors, tuple):
            kind = type(tensors).__name__
            raise RuntimeError(f"tensors argument is expected to be a tuple, but got {kind}")
        for i, tensor in enumerate(tensors):
            if not isinstance(tensor, torch.Tensor):
                raise RuntimeError(f"{i} of input tensors tuple is not a Tensor")
        numbers = [
            jiterator.number(value.item() if isinstance(value, torch.Tensor) else value)
            for value in (kwargs or {}).values()
        ]
        outputs, kind = _call(torch, "jiterator_outputs", tensors, num_outputs)
        if kind:
            types = tuple(kind for kind, _ in numbers)
            function = jiterator.Function(
                code, name, return_by_ref, num_outputs, len(tensors), kind, types
            )
            words = [word for _, pair in numbers for word in pair]
            _call(torch, "jiterator_run", jiterator.address(function), outputs, tensors, words)
        return outputs[0] if num_outputs == 1 else tuple(outputs)

    return {"_cuda_jiterator_compile_and_launch_kernel": compile_and_launch}
