"""Finds the linear layers of a model that can be split over devices, by the model's structure.

Two Linear layers of one parent form a pair if the sizes show that the second takes the outputs of
the first. The first is split by columns, the second by rows, and the sums of the rows are
all-reduced.

- In an MLP, the activations between the two are DTensors. Their operators know how the tensors are
  split, so any code of forward between the layers is correct, softmax included.
- In attention, the activations are gathered, because it reshapes by heads in ways that not every
  version of DTensor supports. The weights are split, but not the computation between the layers.
- A single linear layer (fused query-key-value, half of an MLP in BERT) is split by columns, and its
  outputs are gathered. This is correct for any code around the layer, and splits its memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import nn

if TYPE_CHECKING:
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.tensor.parallel import ParallelStyle


@dataclass(frozen=True)
class LinearGroup:
    """Linear layers of one parent that are split together."""

    parent: str
    columns: tuple[str, ...]  # layers that are split by columns; each gets the same input
    row: str  # the layer that takes their outputs and is split by rows; "" if there is none
    gathered: bool  # whether forward gets whole activations after the columns

    @property
    def members(self) -> tuple[str, ...]:
        return (*self.columns, self.row) if self.row else self.columns

    def names(self) -> tuple[str, ...]:
        prefix = f"{self.parent}." if self.parent else ""
        return tuple(prefix + name for name in self.members)


def _linears(parent: nn.Module) -> list[tuple[str, nn.Linear]]:
    # Subclasses (quantized, LoRA) may define their own forward.
    return [(name, child) for name, child in parent.named_children() if type(child) is nn.Linear]


def _has_others(parent: nn.Module) -> bool:
    """Whether the parent has other layers with tensors. A norm, for example, would compute
    something else over a split dimension."""
    return any(
        next(child.parameters(), None) is not None or next(child.buffers(), None) is not None
        for child in parent.children()
        if not isinstance(child, nn.Linear)
    )


def _group(name: str, parent: nn.Module, world: int) -> LinearGroup | None:
    linears = _linears(parent)
    if len(linears) not in (2, 3, 4):
        return None
    *columns, (row_name, row) = linears
    width, inner = columns[0][1].in_features, columns[0][1].out_features
    if any(linear.in_features != width for _, linear in columns) or row.in_features != inner:
        return None
    outputs = {linear.out_features for _, linear in columns}
    if any(size % world for size in outputs) or row.out_features != width:
        return None
    mlp = len(columns) <= 2 and outputs == {inner} and inner > width
    attention = len(columns) == 3 and columns[1][1].out_features == columns[2][1].out_features
    if not (mlp or attention) or (mlp and _has_others(parent)):
        return None
    return LinearGroup(name, tuple(n for n, _ in columns), row_name, gathered=not mlp)


def find_groups(model: nn.Module, world: int) -> list[LinearGroup]:
    """Finds the linear layers that can be split in `world` parts, as groups in the model's order.

    A group is an MLP (one or two layers up, one layer down, and no other layer with tensors),
    attention (query, key and value, then the output), or a single layer. Layers that share a weight
    are not split.
    """
    uses: dict[int, int] = {}
    for _, parameter in model.named_parameters(remove_duplicate=False):
        uses[id(parameter)] = uses.get(id(parameter), 0) + 1

    def private(linear: nn.Module) -> bool:
        return all(uses[id(parameter)] == 1 for parameter in linear.parameters())

    found: list[LinearGroup] = []
    for name, parent in model.named_modules():
        linears = _linears(parent)
        group = _group(name, parent, world)
        if group is not None and all(private(linear) for _, linear in linears):
            found.append(group)
            continue
        found += [
            LinearGroup(name, (child,), "", gathered=True)
            for child, linear in linears
            if linear.out_features % world == 0 and private(linear)
        ]
    return found


def split(model: nn.Module, groups: list[LinearGroup], mesh: DeviceMesh) -> None:
    """Splits the parameters of the groups over the mesh, and replicates all others, as DTensors.

    All parameters must be DTensors, because fused optimizers and gradient clipping refuse a mixture
    of DTensors and plain tensors.
    """
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    for group in groups:
        between = Replicate() if group.gathered else Shard(-1)
        plan: dict[str, ParallelStyle] = {
            name: ColwiseParallel(output_layouts=between, use_local_output=group.gathered)
            for name in group.columns
        }
        if group.row:
            plan[group.row] = RowwiseParallel(input_layouts=between)
        parallelize_module(model.get_submodule(group.parent), mesh, plan)
    _replicate_rest(model, mesh)


def _replicate_rest(model: nn.Module, mesh: DeviceMesh) -> None:
    from torch.distributed.tensor import DTensor, Replicate, distribute_tensor

    made: dict[int, nn.Parameter] = {}  # one DTensor for each parameter, also if it has two names
    plain: set[tuple[int, str]] = set()
    for module in model.modules():
        for name, parameter in module._parameters.items():
            if parameter is None or isinstance(parameter, DTensor):
                continue
            if id(parameter) not in made:
                whole = distribute_tensor(parameter.detach(), mesh, [Replicate()])
                made[id(parameter)] = nn.Parameter(whole, parameter.requires_grad)
            plain.add((id(module), name))
            module._parameters[name] = made[id(parameter)]
    for module in model.modules():
        places = [
            (owner, name)
            for owner in module.modules()
            for name in owner._parameters
            if (id(owner), name) in plain
        ]
        if places:
            hooks = _Local(places)
            module.register_forward_pre_hook(hooks.enter, prepend=True)
            module.register_forward_hook(hooks.leave, always_call=True)


class _Local:
    """Hooks that replace replicated DTensors by their local tensors while a module's forward runs.

    Each module replaces the parameters of all modules below it, because its forward() may read any
    of them. An inner module skips those that an outer one has replaced. So the hooks also work for
    a block that activation checkpointing runs again by itself. The DTensors get the gradients.
    """

    def __init__(self, places: list[tuple[nn.Module, str]]) -> None:
        self._places = places
        self._shown: list[list[tuple[nn.Module, str, nn.Parameter]]] = []

    def enter(self, module: nn.Module, args: object) -> None:
        from torch.distributed.tensor import DTensor

        shown: list[tuple[nn.Module, str, nn.Parameter]] = []
        for owner, name in self._places:
            parameter = owner._parameters[name]
            if isinstance(parameter, DTensor):
                owner._parameters[name] = parameter.to_local()
                shown.append((owner, name, parameter))
        self._shown.append(shown)

    def leave(self, module: nn.Module, args: object, output: object) -> None:
        for owner, name, parameter in self._shown.pop() if self._shown else ():
            owner._parameters[name] = parameter
