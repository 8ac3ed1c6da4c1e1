"""Finds the linear layers of a model that can be split over devices, by structure.

Two Linear layers of one parent are a pair where the second takes what the first gives: the first is
split by columns, the second by rows, and the sums of the rows are all-reduced. Between the two of an
MLP the activations are DTensors, whose operators know how they are split: whatever forward does
there, softmax too, is right. Attention reshapes by heads in ways that not every version of DTensor
follows, so its activations are gathered: its weights are split, its arithmetic between them is not.
So are those of linear layers that stand alone (fused query-key-value, BERT's halves of an MLP), which
are split by columns: right whatever the code around them does, and their memory is split as well.
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
    """Layers of one parent that are split together."""

    parent: str
    columns: tuple[str, ...]  # split by columns, each fed the same input
    row: str  # takes what they give; "" where nothing known does
    gathered: bool  # whether forward sees whole activations after the columns

    @property
    def members(self) -> tuple[str, ...]:
        return (*self.columns, self.row) if self.row else self.columns

    def names(self) -> tuple[str, ...]:
        prefix = f"{self.parent}." if self.parent else ""
        return tuple(prefix + name for name in self.members)


def _linears(parent: nn.Module) -> list[tuple[str, nn.Linear]]:
    # Subclasses (quantized, LoRA) have a forward of their own.
    return [(name, child) for name, child in parent.named_children() if type(child) is nn.Linear]


def _has_others(parent: nn.Module) -> bool:
    """Whether other layers with tensors stand among the linear ones: a norm over a split dimension
    would be another one."""
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
    """The linear layers that can be split in `world` parts, in groups, in the model's order.

    MLPs (one or two layers up, one down, nothing else with tensors among them), attention (query,
    key and value, then the output), and single layers. Layers that share a weight are left whole.
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
    """Makes DTensors of all parameters: the groups' are split over the mesh, the others replicated.

    Optimizers' fused loops and gradient clipping refuse DTensors beside plain tensors.
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

    made: dict[int, nn.Parameter] = {}  # one for each, however many names it has
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
    """Shows a module's forward plain tensors where it has replicated DTensors.

    Each module does it for all under it, whatever of them its forward() reads; what an outer one has
    shown an inner one leaves. So it also holds for a block that activation checkpointing runs again
    on its own. Gradients arrive at the DTensors.
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
