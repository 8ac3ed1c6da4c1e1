"""Guards: functions that require a GPU, and functions that can continue on the CPU."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar, cast, overload

import torch
from torch import nn

from torchport import _device_kinds
from torchport._native.devices import choose_device
from torchport._remake import Remaker
from torchport._walk import is_a, walk

P = ParamSpec("P")
R = TypeVar("R")

_GPUS = ",".join(kind.name for kind in _device_kinds.kinds())
_log = logging.getLogger("torchport")


class GpuRequired(RuntimeError):
    """A GPU is needed, and none can be used.

    Attributes:
        refused: One line for each requested device kind, which says why it cannot be used.
    """

    def __init__(self, message: str, refused: list[str]) -> None:
        super().__init__(message)
        self.refused = refused


def require_gpu(kinds: str = _GPUS, *, what: str = "this program") -> torch.device:
    """Returns the device to use, or raises an error that says why no device can be used.

    Args:
        kinds: Device kinds in order of preference, as in `choose_device`.
        what: The part of the program that needs the device, for the message.

    Returns:
        The device.

    Raises:
        GpuRequired: No device of these kinds can be used. The message gives the reason for each.
        ValueError: ``kinds`` names something that is not a device.

    Example:
        >>> torchport.require_gpu("cuda", what="training")  # doctest: +SKIP
        device(type='cuda', index=0)
    """
    choice = choose_device(f"{kinds},cpu")
    if choice.device.type != "cpu":
        return choice.device
    reasons = "\n".join(f"  {reason}" for reason in choice.refused)
    message = (
        f"torchport: {what} needs a GPU ({kinds}), and none can be used:\n{reasons}\n"
        "Use a torch built for this machine's GPU, or try it without a GPU: "
        "torchport run --devices cuda:1 -- python ..."
    )
    raise GpuRequired(message, list(choice.refused))


@overload
def gpu_required(target: Callable[P, R]) -> Callable[P, R]: ...


@overload
def gpu_required(target: str = _GPUS) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def gpu_required(target: Callable[P, R] | str = _GPUS) -> Any:
    """Decorates a function that needs a GPU.

    Use ``@gpu_required``, or ``@gpu_required("cuda")`` for certain device kinds. Each call makes
    the check before the function runs. To check within a function, use `require_gpu`.

    Args:
        target: The function, or device kinds in order of preference.

    Returns:
        The function with the check, or a decorator if kinds are given. A call raises
        `GpuRequired` if no device of these kinds can be used.

    Example:
        >>> @torchport.gpu_required
        ... def train() -> None: ...
    """
    if isinstance(target, str):
        return functools.partial(_guarded, kinds=target)
    return _guarded(target, kinds=_GPUS)


def _guarded(function: Callable[P, R], kinds: str) -> Callable[P, R]:
    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        require_gpu(kinds, what=f"{function.__qualname__}()")
        return function(*args, **kwargs)

    return call


# Parts of messages about a missing kernel: of torch's dispatcher, of MPS, and of virtual devices.
_MISSING = ("Could not run '", "not currently implemented for the", "has no kernel for")


def _reason(error: BaseException, out_of_memory: bool, missing_op: bool) -> str:
    """The reason to repeat a call on the CPU; empty for other errors."""
    text = str(error).split("\n", 1)[0]
    if isinstance(error, torch.OutOfMemoryError) or "backend out of memory" in text:
        return f"ran out of memory ({text})" if out_of_memory else ""
    if isinstance(error, NotImplementedError) and any(part in text for part in _MISSING):
        return f"used an operator that the device does not have ({text})" if missing_op else ""
    return ""


@contextmanager
def _swapped(
    modules: list[nn.Module], move: Callable[[torch.Tensor], torch.Tensor]
) -> Iterator[None]:
    """Puts `move(tensor)` in place of each parameter and buffer within the block. At the end it
    puts the originals back and copies the values of the buffers into them.

    torch.func.functional_call was rejected: it leaves its own tensors in a module that is
    registered under two names.
    """
    moved: dict[int, torch.Tensor] = {}
    unique = {id(m): m for root in modules for m in root.modules()}.values()
    saved = [(r, dict(r)) for m in unique for r in (m._parameters, m._buffers)]
    try:
        for registry, tensors in saved:
            for name, tensor in tensors.items():
                if tensor is not None:
                    if id(tensor) not in moved:
                        moved[id(tensor)] = move(tensor)
                    registry[name] = moved[id(tensor)]  # type: ignore[assignment]
        yield
        with torch.no_grad():
            # All are copied: kernels of batch norm do not raise the version counter of buffers.
            for buffer in [b for _, tensors in saved[1::2] for b in tensors.values()]:
                if buffer is not None and moved[id(buffer)] is not buffer:
                    buffer.copy_(moved[id(buffer)])
    finally:
        for registry, tensors in saved:
            for name, tensor in tensors.items():
                registry[name] = tensor  # type: ignore[assignment]  # parameter or buffer


def _device_of(tensors: list[torch.Tensor]) -> torch.device | None:
    return next((t.device for t in tensors if t.device.type != "cpu"), None)


def _on_cpu(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Runs the call with its tensors, and the parameters and buffers of its modules, on the CPU."""
    leaves = [found.value for found in walk((args, kwargs))]
    modules = [leaf for leaf in leaves if isinstance(leaf, nn.Module)]
    held = [t for m in modules for t in (*m.parameters(), *m.buffers())]
    device = _device_of([leaf for leaf in leaves if isinstance(leaf, torch.Tensor)] + held)
    here = _TensorsTo(torch.device("cpu"))((args, kwargs))
    # .cpu() is differentiable, so the parameters get their gradients on their own device.
    with _swapped(modules, torch.Tensor.cpu):
        result = function(*here[0], **here[1])
    if device is None:
        return result
    return _TensorsTo(device)(result)


class _TensorsTo(Remaker):
    """Moves tensors like `torchport.to`, but not modules and objects that move themselves."""

    def __init__(self, device: torch.device) -> None:
        super().__init__()
        self._device = device

    def leaf(self, value: Any) -> Any:
        return value.to(self._device) if is_a(value, torch.Tensor) else value


@overload
def retry_on_cpu(
    function: None = None, *, out_of_memory: bool = True, missing_op: bool = True
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


@overload
def retry_on_cpu(
    function: Callable[P, R], *, out_of_memory: bool = True, missing_op: bool = True
) -> Callable[P, R]: ...


def retry_on_cpu(
    function: Callable[P, R] | None = None, *, out_of_memory: bool = True, missing_op: bool = True
) -> Any:
    """Decorates a function that is called again on the CPU if the device fails.

    The second call gets its tensor arguments on the CPU, and its module arguments (also ``self``)
    with parameters and buffers on the CPU. Results are moved back to the device, gradients reach
    the parameters, and changed buffers are written back. A warning on the logger "torchport" says
    what happened. Other effects of the first call are not undone, and random numbers differ. The
    environment variable TORCHPORT_RETRY_ON_CPU=0 turns the second call off. Thread safe if the
    function is; the modules are changed during the second call.

    Args:
        function: The function, if the decorator is used without parentheses.
        out_of_memory: Whether to retry when the device runs out of memory.
        missing_op: Whether to retry when the device has no kernel for an operator.

    Returns:
        The function, with the same signature; or a decorator, if ``function`` is not given.
        Other errors are passed on.

    Example:
        >>> @torchport.retry_on_cpu(out_of_memory=False)
        ... def spectrum(x: torch.Tensor) -> torch.Tensor:
        ...     return torch.fft.rfft(x)
        >>> spectrum(torch.ones(4)).shape
        torch.Size([3])
    """
    if function is None:
        return functools.partial(retry_on_cpu, out_of_memory=out_of_memory, missing_op=missing_op)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if os.environ.get("TORCHPORT_RETRY_ON_CPU") == "0":
            return function(*args, **kwargs)
        try:
            return function(*args, **kwargs)
        except (RuntimeError, NotImplementedError) as error:
            why = _reason(error, out_of_memory, missing_op)
            if not why:
                raise
            # The frames of the traceback hold tensors on the device, so they are dropped.
            failed = error.with_traceback(None)
        _log.warning("%s() %s; running it again on the CPU", function.__qualname__, why)
        try:
            return cast(R, _on_cpu(function, args, kwargs))
        except Exception as error:
            raise error from failed

    return call
