"""`@torchport.kernel`: one function with an implementation per device kind."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

import torch

from torchport import _device_kinds
from torchport._on_devices import on_devices
from torchport._walk import walk

P = ParamSpec("P")
R = TypeVar("R")


def _kind(name: str) -> str:
    try:
        return torch.device(name).type
    except (RuntimeError, TypeError) as error:
        raise ValueError(
            f"torchport: {name!r} is not a device kind; use "
            f"{', '.join(kind.name for kind in _device_kinds.kinds())}, cpu or the name of a "
            "registered backend"
        ) from error


def _where(function: Callable[..., Any]) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else repr(function)


def _tensors(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[tuple[str, torch.Tensor]]:
    """The tensors among the arguments, also in containers, with their places."""
    found: list[tuple[str, torch.Tensor]] = []
    for place, argument in [*enumerate(args), *kwargs.items()]:
        if isinstance(argument, torch.Tensor):  # no walk, which torch.compile cannot trace
            found.append((str(place), argument))
        elif not isinstance(argument, (str, int, float, torch.nn.Module, type(None))):
            for one in walk(argument):
                if isinstance(one.value, torch.Tensor):
                    found.append((f"{place}{one.path}", one.value))
    return found


class Kernel(Generic[P, R]):
    """A function that runs the implementation for the device of its tensors.

    `torchport.kernel` makes it. Calls are thread safe; implementations are added at import time.

    Attributes:
        kinds: The device kinds that have their own implementation.

    Example:
        >>> @torchport.kernel("cuda")
        ... def half(x: torch.Tensor) -> torch.Tensor:
        ...     return x.mul(0.5)
        >>> @half.kernel("mps", "cpu")
        ... def _(x: torch.Tensor) -> torch.Tensor:
        ...     return x / 2
        >>> half.kinds, half(torch.tensor([3.0]))
        (('cuda', 'mps', 'cpu'), tensor([1.5000]))
    """

    __name__: str
    __qualname__: str

    def __init__(self, function: Callable[P, R]) -> None:
        self._implementations: dict[str, Callable[P, R]] = {}
        self._fallback: Callable[P, R] | None = None
        self._first = function
        functools.update_wrapper(self, function)

    def kernel(self, *kinds: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Decorates an implementation for further device kinds.

        Args:
            kinds: Device kinds, such as "mps".

        Returns:
            A decorator for the implementation.

        Raises:
            ValueError: No kinds are given, one is not a device kind, or one has an implementation.
        """
        names = [_kind(name) for name in kinds]
        if not names:
            raise ValueError('torchport: kernel() needs device kinds, such as kernel("mps")')

        def add(function: Callable[P, R]) -> Callable[P, R]:
            for name in names:
                if known := self._implementations.get(name):
                    raise ValueError(
                        f"torchport: {self.__name__} already has a kernel for {name}, at "
                        f"{_where(known)}"
                    )
                self._implementations[name] = function
            return self if function is self._first else function

        return add

    def fallback(self, function: Callable[P, R]) -> Callable[P, R]:
        """Decorates the implementation for all devices without their own.

        Args:
            function: The implementation.

        Returns:
            The function.

        Raises:
            ValueError: There already is a fallback.
        """
        if self._fallback is not None:
            raise ValueError(
                f"torchport: {self.__name__} already has a fallback, at {_where(self._fallback)}"
            )
        self._fallback = function
        return self if function is self._first else function

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(self._implementations)

    def implementation(self, device: torch.device | str) -> Callable[P, R]:
        """Returns the implementation that a call with tensors on ``device`` runs.

        Args:
            device: A device or a device kind.

        Returns:
            The implementation.

        Raises:
            NotImplementedError: No implementation fits. The message lists all of them.
        """
        kind = torch.device(device).type
        if found := self._implementations.get(kind) or self._fallback:
            return found
        raise NotImplementedError(self._missing(kind, ""))

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        kind = self._kind_of(_tensors(args, kwargs), kwargs.get("device"))
        found = self._implementations.get(kind) or self._fallback
        if found is None:
            tensors = _tensors(args, kwargs)
            raise NotImplementedError(self._missing(kind, self._named(tensors)))
        return found(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<torchport.kernel {self.__qualname__}: {self._offered()}>"

    def _kind_of(self, tensors: list[tuple[str, torch.Tensor]], asked: Any) -> str:
        # CPU scalars are accepted on any device, as by torch's own operators.
        kinds = {tensor.device.type for _, tensor in tensors}
        if len(kinds) > 1:
            kinds = {t.device.type for _, t in tensors if t.dim() or t.device.type != "cpu"}
        if len(kinds) == 1:
            return next(iter(kinds))
        if kinds:
            raise RuntimeError(
                f"torchport: {self.__name__} got tensors on several device kinds: "
                f"{self._named(tensors)}; move them to one device"
            )
        if asked is not None:
            return torch.device(asked).type
        raise TypeError(
            f"torchport: {self.__name__} chooses its kernel by the device of its tensors, but got "
            "neither a tensor nor a device; pass one of them"
        )

    def _named(self, tensors: list[tuple[str, torch.Tensor]]) -> str:
        try:
            names = list(inspect.signature(self._first).parameters)
        except ValueError:
            names = []

        def name(place: str) -> str:
            number = place.split("[")[0].split(".")[0]
            if number.isdigit() and int(number) < len(names):
                return names[int(number)] + place[len(number) :]
            return place

        return on_devices((name(place), tensor.device) for place, tensor in tensors)

    def _offered(self) -> str:
        offered = [f"{kind} ({_where(f)})" for kind, f in self._implementations.items()]
        if self._fallback is not None:
            offered.append(f"fallback ({_where(self._fallback)})")
        return ", ".join(offered)

    def _missing(self, kind: str, tensors: str) -> str:
        got = f" ({tensors})" if tensors else ""
        return (
            f"torchport: {self.__name__} has no kernel for {kind}{got}; it has {self._offered()}. Add "
            f'@{self.__name__}.kernel("{kind}") or @{self.__name__}.fallback'
        )


def kernel(*kinds: str) -> Callable[[Callable[P, R]], Kernel[P, R]]:
    """Decorates the implementation of a function for tensors on devices of these ``kinds``.

    A call runs the implementation for the device of its tensor arguments, also those in containers.
    CPU scalars are accepted on any device. Without a tensor, the argument ``device`` decides.

    Args:
        kinds: Device kinds, such as "cuda" and "mps".

    Returns:
        A decorator, which makes a `Kernel` of the function. Its methods ``kernel`` and ``fallback``
        decorate further implementations. A call raises NotImplementedError, which lists the
        implementations, if none fits, and RuntimeError for tensors on several device kinds.

    Raises:
        ValueError: No kinds are given, or one is not a device kind.
        TypeError: The decorator is used without kinds: ``@torchport.kernel``.

    Example:
        >>> @torchport.kernel("cuda")
        ... def contrast(x: torch.Tensor) -> torch.Tensor:
        ...     return x.mul(2).clamp_(0, 1)
        >>> @contrast.fallback
        ... def _(x: torch.Tensor) -> torch.Tensor:
        ...     return (x * 2).clamp(0, 1)
        >>> contrast(torch.tensor([0.25, 0.75]))
        tensor([0.5000, 1.0000])
    """

    def begin(function: Callable[P, R]) -> Kernel[P, R]:
        made: Kernel[P, R] = Kernel(function)
        made.kernel(*kinds)(function)
        return made

    if kinds and callable(kinds[0]):
        raise TypeError('torchport: @kernel needs device kinds: @torchport.kernel("cuda")')
    return begin
