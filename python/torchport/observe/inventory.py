"""Lists the tensors of a model by name: parameters, buffers and unregistered tensors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, cast

import torch
from torch import nn

from torchport._walk import path_text, walk
from torchport.observe.result import TensorInfo
from torchport.place.unregistered import find_unregistered


@dataclass(frozen=True)
class Held:
    """A tensor that a module holds. ``outside`` is set for a module that is not part of the model,
    such as a loss: the name of its variable, or of its type if ``variable`` is empty. The names begin
    with it."""

    module: str
    path: str  # the path within the module: "weight", "cache['k']", "layers[0].weight"
    kind: Literal["parameter", "buffer", "unregistered tensor"]
    tensor: torch.Tensor
    owner: nn.Module
    unregistered_module: str = ""  # a module in a plain container that holds the tensor
    outside: str = ""
    variable: str = ""

    @property
    def name(self) -> str:
        return ".".join(part for part in (self.outside, self.module, self.path) if part)


def home_of(held: list[Held]) -> torch.device | None:
    """The device that most of the model's bytes are on."""
    sizes: Counter[torch.device] = Counter()
    for item in held:
        if item.kind != "unregistered tensor":
            sizes[item.tensor.device] += bytes_of(item.tensor) + 1
    return sizes.most_common(1)[0][0] if sizes else None


def is_lazy(tensor: torch.Tensor) -> bool:
    """Whether the shape is unknown before the first call, as for the weight of nn.LazyLinear."""
    return isinstance(tensor, (nn.UninitializedParameter, nn.UninitializedBuffer))


def bytes_of(tensor: torch.Tensor) -> int:
    """The bytes of the elements. For a sparse tensor these are its values and its indices."""
    if is_lazy(tensor) or tensor.is_nested:
        return 0
    if tensor.layout == torch.sparse_coo:
        return bytes_of(tensor._values()) + bytes_of(tensor._indices())
    return tensor.numel() * tensor.element_size() if tensor.layout == torch.strided else 0


def info_of(name: str, kind: str, tensor: torch.Tensor) -> TensorInfo:
    lazy = is_lazy(tensor)
    return TensorInfo(
        name=name,
        kind=kind,  # type: ignore[arg-type]
        device=str(tensor.device),
        dtype=str(tensor.dtype).removeprefix("torch."),
        sizes=() if lazy or tensor.is_nested else tuple(map(int, tensor.shape)),
        bytes=bytes_of(tensor),
        requires_grad=tensor.requires_grad,
    )


def held_by(model: nn.Module, outside: str = "", variable: str = "") -> list[Held]:
    """All tensors of ``model``. A tensor that several modules hold is listed for each of them.
    ``outside`` and ``variable`` are those of a module that is not part of the model."""
    held: list[Held] = []
    registered: set[int] = set()
    modules = list(model.named_modules(remove_duplicate=False))
    for name, module in modules:
        for kind, table in (("parameter", module._parameters), ("buffer", module._buffers)):
            for path, tensor in table.items():
                if tensor is not None:
                    held.append(
                        Held(name, path, kind, tensor, module, outside=outside, variable=variable)  # type: ignore[arg-type]
                    )
                    registered.add(id(tensor))
    for item in find_unregistered(model, open_modules=True):
        tensor = cast(torch.Tensor, item.value)
        # nn.LSTM and similar modules also keep their registered weights in a list.
        if id(tensor) not in registered:
            held.append(
                Held(
                    item.owner,
                    str(item.place),
                    "unregistered tensor",
                    tensor,
                    item.place.module,
                    item.within,
                    outside,
                    variable,
                )
            )
    return held


def within(path: str, value: Any) -> Iterator[tuple[str, torch.Tensor, str]]:
    """Yields (path, tensor, path of the module that holds it) for each tensor in ``value``."""
    for found in walk(value, open_modules=True):
        owner = "" if found.module is None else path + path_text(found.module)
        yield path + found.path, cast(torch.Tensor, found.value), owner
