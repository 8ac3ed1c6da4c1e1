"""The tensors of a model, by name: parameters, buffers, and those that torch does not know of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal

import torch
from torch import nn

from torchport.observe.result import TensorInfo

_DEPTH = 4  # of containers and objects within an attribute
_MANY = 2000  # tensors of one attribute, and items of one container
_LOOKS = 50_000  # at anything within one attribute: it may hold a whole data set
_OF_MODULES = frozenset(vars(nn.Module()))


@dataclass(frozen=True)
class Held:
    """A tensor that a module holds."""

    module: str
    path: str  # within the module: "weight", "cache['k']", "layers[0].weight"
    kind: Literal["parameter", "buffer", "stray attribute"]
    tensor: torch.Tensor
    unregistered: str = ""  # the module, in a plain attribute of this one, that registers it

    @property
    def name(self) -> str:
        return f"{self.module}.{self.path}" if self.module else self.path


def bytes_of(tensor: torch.Tensor) -> int:
    """Elements times their size; of a sparse tensor those of its values and indices."""
    if isinstance(tensor, nn.parameter.UninitializedTensorMixin) or tensor.is_nested:
        return 0
    if tensor.layout == torch.sparse_coo:
        return bytes_of(tensor._values()) + bytes_of(tensor._indices())
    return tensor.numel() * tensor.element_size() if tensor.layout == torch.strided else 0


def info_of(name: str, kind: str, tensor: torch.Tensor) -> TensorInfo:
    lazy = isinstance(tensor, nn.parameter.UninitializedTensorMixin)
    return TensorInfo(
        name=name,
        kind=kind,  # type: ignore[arg-type]
        device=str(tensor.device),
        dtype=str(tensor.dtype).removeprefix("torch."),
        sizes=() if lazy or tensor.is_nested else tuple(map(int, tensor.shape)),
        bytes=bytes_of(tensor),
        requires_grad=tensor.requires_grad,
    )


def held_by(model: nn.Module) -> list[Held]:
    """All tensors of ``model``, those of modules that hold the same one more than once, too."""
    held: list[Held] = []
    registered: set[int] = set()
    modules = list(model.named_modules(remove_duplicate=False))
    for name, module in modules:
        for kind, table in (("parameter", module._parameters), ("buffer", module._buffers)):
            for path, tensor in table.items():
                if tensor is not None:
                    held.append(Held(name, path, kind, tensor))  # type: ignore[arg-type]
                    registered.add(id(tensor))
    known = {id(module) for _, module in modules}
    seen: set[int] = set()
    for name, module in modules:
        if id(module) not in seen:
            seen.add(id(module))
            held.extend(s for s in _strays(name, module, known) if id(s.tensor) not in registered)
    return held


def _strays(name: str, module: nn.Module, known: set[int]) -> Iterator[Held]:
    # nn.LSTM and the like keep their weights in a list as well.
    for attribute, value in list(vars(module).items()):
        if attribute not in _OF_MODULES:
            for path, tensor, owner in within(attribute, value, known):
                yield Held(name, path, "stray attribute", tensor, owner)
    for cls in type(module).__mro__:
        if cls.__module__.startswith("torch."):
            break
        for attribute, value in vars(cls).items():
            if isinstance(value, torch.Tensor):
                yield Held(name, attribute, "stray attribute", value)


def within(path: str, value: Any, known: set[int] = frozenset()) -> Iterator[tuple]:  # type: ignore[assignment]
    """(path, tensor, path of the unregistered module that holds it) of the tensors in ``value``."""
    stack: list[tuple[str, Any, int, str]] = [(path, value, 0, "")]
    seen: set[int] = set()
    found = looks = 0
    while stack and found < _MANY and looks < _LOOKS:
        at, item, depth, owner = stack.pop()
        looks += 1
        if isinstance(item, torch.Tensor):
            found += 1
            yield at, item, owner
        elif depth < _DEPTH and id(item) not in seen and id(item) not in known:
            seen.add(id(item))
            try:
                parts = list(_parts(at, item))
            except Exception:  # a container whose own code fails shows no tensors to name
                continue
            if isinstance(item, nn.Module):
                owner = at
            stack.extend((a, v, depth + 1, owner) for a, v in reversed(parts))


def _parts(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, nn.Module):
        for name, tensor in [*value.named_parameters(), *value.named_buffers()]:
            yield f"{path}.{name}", tensor
    elif isinstance(value, Mapping):
        for key, item in list(value.items())[:_MANY]:
            yield f"{path}[{key!r}]", item
    elif isinstance(value, (list, tuple, set, frozenset)):
        for index, item in enumerate(list(value)[:_MANY]):
            yield f"{path}[{index}]", item
    elif is_dataclass(value) and not isinstance(value, type):
        for part in fields(value):
            yield f"{path}.{part.name}", getattr(value, part.name, None)
    elif _is_plain_object(value):
        for name, item in list(vars(value).items()):
            yield f"{path}.{name}", item


def _is_plain_object(value: Any) -> bool:
    """An object of the program's own: not of torch, nor of the standard library."""
    if isinstance(value, type) or callable(value) or not hasattr(value, "__dict__"):
        return False
    home = type(value).__module__.partition(".")[0]
    return home not in ("torch", "builtins", "weakref", "collections", "threading", "logging")
