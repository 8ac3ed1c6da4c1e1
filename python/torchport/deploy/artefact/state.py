"""Keeps the state of a model over the runs of an export.

A forward may change the model: buffers in place (``self.n += 1``), attributes (``self.calls += 1``),
lists. Every run of an export is within `kept`, so that an artefact starts with the state that the
user gave.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from torchport._walk import Found, path_text, walk
from torchport.deploy.artefact.errors import ExportError
from torchport.deploy.artefact.held_by_code import variables_of
from torchport.deploy.artefact.held_values import holders_of, same

# The version of a tensor and the address of its data.
Mark = tuple[int, int] | None


class State:
    """The tensors and the attributes of a model at one moment."""

    def __init__(self, module: nn.Module, *, parameters: bool):
        """``parameters`` says whether the values of parameters are copied, too, so that they can be
        restored. Without it `restore` raises for a parameter that was changed.
        """
        shared = set() if parameters else {id(parameter) for parameter in module.parameters()}
        self._tensors: dict[str, tuple[torch.Tensor, Mark, torch.Tensor | None]] = {}
        variables = list(variables_of(module))
        held = {one.name: one.then for one in variables if not isinstance(one.then, nn.Module)}
        in_code = [(_name_in(found), found.value) for found in walk(held, open_modules=True)]
        in_modules = [
            (found.path.lstrip("."), found.value) for found in walk(module, open_modules=True)
        ]
        for name, tensor in {id(one[1]): one for one in [*in_code, *in_modules]}.values():
            if not isinstance(tensor, torch.Tensor) or tensor.is_meta:
                continue
            mark = _mark(tensor)
            needs_copy = mark is None or id(tensor) not in shared
            copy = tensor.detach().clone() if needs_copy else None
            self._tensors[name] = (tensor, mark, copy)
        self._holders = list(holders_of(module, variables))

    def changed(self) -> list[str]:
        """The names of what has another value now than at the moment, such as ``layers.0.n``."""
        names = [name for name, kept in self._tensors.items() if _differs(*kept)]
        for holder in self._holders:
            names += holder.changed()
        return list(dict.fromkeys(names))

    def restore(self) -> None:
        for holder in self._holders:
            holder.restore()
        for name, (tensor, mark, copy) in self._tensors.items():
            if copy is not None:
                if _differs(tensor, mark, copy):
                    _assign(tensor, copy)
            elif _differs(tensor, mark, copy):
                raise ExportError(
                    f"the forward changes the parameter {name} in place, and an artefact cannot "
                    "change its weights; do it outside of forward"
                )


def _name_in(found: Found) -> str:
    first, *others = found.steps
    return f"{first.key}{path_text(others)}"


def _mark(tensor: torch.Tensor) -> Mark:
    """What changes if the tensor is written in place, or gets another storage by ``.data = ``; None
    for a tensor that does not show it."""
    try:
        return tensor._version, tensor.data_ptr()
    except RuntimeError:  # an inference tensor, or one without a storage
        return None


def _differs(tensor: torch.Tensor, mark: Mark, copy: torch.Tensor | None) -> bool:
    if copy is not None:  # a write to ``tensor.data`` leaves no mark
        with contextlib.suppress(Exception):  # a class of tensors that has no comparison
            return not same(tensor, copy)
    return mark is not None and mark != _mark(tensor)


def _assign(tensor: torch.Tensor, value: torch.Tensor) -> None:
    with torch.no_grad():
        if tensor.shape == value.shape and tensor.dtype == value.dtype:
            tensor.detach().copy_(value)
        else:
            tensor.data = value


@contextmanager
def kept(module: nn.Module, *, parameters: bool = False) -> Iterator[State]:
    """Restores the model and the random numbers of torch when the block ends.

    The random numbers start with the same seed in each block. Raises ExportError at the end if the
    block has changed parameters and ``parameters`` is False.
    """
    state = State(module, parameters=parameters)
    with own_random_numbers(module):
        try:
            yield state
        finally:
            state.restore()


@contextmanager
def own_random_numbers(module: nn.Module) -> Iterator[None]:
    """Runs the block with random numbers of torch that start with the same seed in each block."""
    kinds = {tensor.device.type for tensor in [*module.parameters(), *module.buffers()]}
    kinds -= {"cpu", "meta"}
    kind = next(iter(kinds), None)
    settings: dict[str, Any] = {"devices": []} if kind is None else {"device_type": kind}
    with torch.random.fork_rng(**settings):
        torch.manual_seed(0)
        yield
