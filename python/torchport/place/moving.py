"""Moves whole structures of tensors to a device."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast, overload

import torch
from torch.nn.utils.rnn import PackedSequence

from torchport._remake import Remaker, method_of
from torchport._walk import is_a
from torchport.place import policy

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class _Mover(Remaker):
    """Moves one structure. An object that occurs twice is moved once, so that sharing stays."""

    def __init__(self, device: torch.device, dtype: torch.dtype | None, non_blocking: bool | None):
        super().__init__()
        self.device = device
        self.dtype = dtype
        self.non_blocking = non_blocking
        self._views: dict[tuple[Any, ...], torch.Tensor] = {}

    def tensor(self, value: torch.Tensor) -> torch.Tensor:
        """Moves a tensor. Two tensors over the same memory, such as tied weights in a state dict,
        also share memory afterwards."""
        view = _view_of(value)
        if view is None:
            return self._copy(value)
        if view not in self._views:
            # remember() keeps the original alive, so that no other tensor gets its address.
            self._views[view] = self.remember(value, self._copy(value))
        return self._views[view]

    def _copy(self, value: torch.Tensor) -> torch.Tensor:
        dtype = self.dtype if self.dtype and value.is_floating_point() else None
        # Only a copy from pinned memory is safe without waiting.
        no_wait = self.non_blocking
        if no_wait is None:
            no_wait = value.device.type == "cpu" and self.device.type != "cpu" and _is_pinned(value)
        return value.to(device=self.device, dtype=dtype, non_blocking=no_wait)

    def leaf(self, value: Any) -> Any:
        if is_a(value, torch.nn.Module):
            return value.to(device=self.device, dtype=self.dtype)  # modules move in place
        if is_a(value, torch.Tensor):
            return self.tensor(value)
        if is_a(value, torch.optim.Optimizer):
            return self._optimizer(value)
        if is_a(value, PackedSequence):
            return self._packed(value)
        if mover := method_of(value, "to"):
            moved = mover(self.device)
            return value if moved is None else moved
        return value

    def _packed(self, value: PackedSequence) -> PackedSequence:
        # PackedSequence.to leaves the lengths on the CPU.
        no_wait = bool(self.non_blocking)
        dtype = self.dtype if self.dtype and value.data.is_floating_point() else value.data.dtype
        # torch annotates only one of the three signatures of this method.
        moved: PackedSequence = cast(Any, value).to(self.device, dtype, no_wait)
        return moved

    def _optimizer(self, value: torch.optim.Optimizer) -> torch.optim.Optimizer:
        """Moves the parameters and their state. `step` counters on the CPU stay there."""
        for group in value.param_groups:
            for parameter in group["params"]:
                parameter.data = self.tensor(parameter.data)
                if parameter.grad is not None:
                    parameter.grad.data = self.tensor(parameter.grad.data)
            on_device = group.get("capturable") or group.get("fused")
            for parameter in group["params"]:
                state = value.state.get(parameter, {})
                for key, item in state.items():
                    if not isinstance(item, torch.Tensor):
                        continue
                    if key == "step" and not on_device:
                        continue
                    state[key] = self.tensor(item) if key != "step" else item.to(self.device)
        return value


def _view_of(value: torch.Tensor) -> tuple[Any, ...] | None:
    """A key that is equal for the same views of the same memory; None for tensors that must be
    moved one by one, such as those that require gradients."""
    if type(value) is not torch.Tensor or value.layout is not torch.strided or value.is_nested:
        return None
    if value.requires_grad or value.is_meta or not value.numel() or value.is_quantized:
        return None
    place = (value.data_ptr(), value.shape, value.stride(), value.dtype, value.device)
    return (*place, value.is_conj(), value.is_neg())


def _is_pinned(value: torch.Tensor) -> bool:
    return value.layout is torch.strided and value.is_pinned()


def to(
    obj: T,
    device: str | torch.device | None = None,
    *,
    dtype: torch.dtype | None = None,
    non_blocking: bool | None = None,
) -> T:
    """Returns ``obj`` with every tensor in it on ``device``.

    It looks into lists, deques, tuples, named tuples, dicts and other mappings, sets, dataclasses
    and attrs classes (also frozen ones), to any depth, and moves `PackedSequence` and objects with
    their own ``to(device)``. A tensor that occurs twice is moved once. Modules and optimizers
    (parameters, gradients, state) are moved in place and returned; containers are new. Everything
    else, including NumPy arrays, is returned as it is.

    Args:
        obj: A tensor or an object that holds tensors.
        device: The target: a device, or devices in order of preference as in `device`. The default
            is the program's own device.
        dtype: The dtype to cast floating-point tensors to. Other tensors keep their dtype.
        non_blocking: Whether the host continues while tensors are copied. By default it does
            for copies from pinned memory to an accelerator; use the result on the current stream as
            usual.

    Returns:
        An object of the same type and structure.

    Raises:
        RuntimeError: torch cannot make a copy, for instance because the device has no memory left.

    Example:
        >>> batch = {"ids": torch.ones(2, 3), "names": ["a", "b"]}
        >>> torchport.to(batch, "cpu", dtype=torch.float64)["ids"].dtype
        torch.float64
    """
    target = device if isinstance(device, torch.device) else policy.device(device)
    return cast(T, _Mover(target, dtype, non_blocking)(obj))


@overload
def on_device(function: F, *, device: str | torch.device | None = None) -> F: ...


@overload
def on_device(
    function: None = None, *, device: str | torch.device | None = None
) -> Callable[[F], F]: ...


def on_device(function: F | None = None, *, device: str | torch.device | None = None) -> Any:
    """Decorates a function that gets its arguments on ``device``, moved as by `to`.

    Generators and coroutines work as before. Modules among the arguments are not moved.

    Args:
        function: The function, if the decorator is used without parentheses.
        device: The target. By default a method's arguments follow the first parameter of its
            module, and a function's arguments go to the program's own device.

    Returns:
        The function, with the same signature; or a decorator, if ``function`` is not given.

    Example:
        >>> @torchport.on_device(device="cpu")
        ... def total(x: torch.Tensor) -> torch.Tensor:
        ...     return x.sum()
        >>> total(torch.ones(3))
        tensor(3.)
    """

    def decorate(wrapped: F) -> F:
        @functools.wraps(wrapped)
        def call(*args: Any, **kwargs: Any) -> Any:
            target = _target(device, args)
            mover = _Mover(target, None, None)
            moved = [a if isinstance(a, torch.nn.Module) else mover(a) for a in args]
            named = {
                k: v if isinstance(v, torch.nn.Module) else mover(v) for k, v in kwargs.items()
            }
            return wrapped(*moved, **named)

        call.__signature__ = inspect.signature(wrapped)  # type: ignore[attr-defined]
        return call  # type: ignore[return-value]

    return decorate if function is None else decorate(function)


def _target(device: str | torch.device | None, args: tuple[Any, ...]) -> torch.device:
    if isinstance(device, torch.device):
        return device
    if device is None and args and isinstance(args[0], torch.nn.Module):
        for tensor in (*args[0].parameters(), *args[0].buffers()):
            return tensor.device
    return policy.device(device)


def _no_tensor(value: Any) -> str:
    """The words for a value that `numpy` cannot convert."""
    kind = type(value).__name__
    todo = f"pass one tensor, not {kind}"
    if is_a(value, torch.nn.Module):
        todo = f"pass one tensor of the {kind}, or convert each of its state_dict()"
    elif is_a(value, Mapping):
        todo = "convert each: {key: torchport.numpy(value) for key, value in mapping.items()}"
    elif is_a(value, (list, tuple, set, frozenset)):
        todo = "convert each: [torchport.numpy(value) for value in values], or torch.stack() them first"
    elif dataclasses.is_dataclass(value):
        todo = f"convert each field of {kind}"
    elif type(value).__module__ == "numpy":
        todo = "it is one of NumPy already"
    elif is_a(value, (bool, int, float, complex)):
        todo = "numpy.asarray(value) makes an array of a number"
    return f"torchport: numpy() converts one tensor, and got {_article(kind)}; {todo}"


def _article(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def numpy(tensor: torch.Tensor) -> Any:
    """Makes a NumPy array of a tensor on any device.

    The tensor is detached and copied to the CPU; the host waits for the device. Conjugate and
    negative views are resolved. NumPy has no bfloat16 and no 8-bit floats; these become float32,
    which is exact. A CPU tensor that needs none of this shares its memory with the array.

    Args:
        tensor: A dense tensor of any shape and device.

    Returns:
        An array of the same shape.

    Raises:
        TypeError: It is sparse, nested or quantized, or not a tensor. The message names what to call
            first, or how to convert what a container holds.

    Example:
        >>> torchport.numpy(torch.ones(2, dtype=torch.bfloat16))
        array([1., 1.], dtype=float32)
    """
    if not is_a(tensor, torch.Tensor):
        raise TypeError(_no_tensor(tensor))
    if tensor.layout is not torch.strided:
        raise TypeError(
            f"torchport: a tensor of {tensor.layout} cannot become an array; call to_dense() first"
        )
    if tensor.is_nested:
        raise TypeError(
            "torchport: a nested tensor cannot become an array; call to_padded_tensor() first"
        )
    if tensor.is_quantized:
        raise TypeError(
            "torchport: a quantized tensor cannot become an array; call dequantize() first"
        )
    plain = tensor.detach().cpu().resolve_conj().resolve_neg()
    if plain.is_floating_point() and plain.dtype not in (
        torch.float16,
        torch.float32,
        torch.float64,
    ):
        plain = plain.to(torch.float32)
    return plain.numpy()
