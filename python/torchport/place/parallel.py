"""`torchport.parallelize`: chooses one device, copies, shards or split layers by what fits.

It uses PyTorch's own DistributedDataParallel, fully_shard (FSDP2) and tensor parallelism of
DTensor.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import torch
import torch.distributed as dist
from torch import nn

from torchport._native.devices import free_memory
from torchport._quantities import size
from torchport.place import policy, tensor_plan
from torchport.place.processes import devices_like, idle_devices, processes, start, torchrun
from torchport.place.tensor_plan import LinearGroup

STRATEGIES = ("single", "ddp", "fsdp", "tensor")
# The share of a device's free memory for parameters, gradients and the optimizer. The rest is for
# activations, fragmentation and communication buffers.
_SHARE = 0.8
_log = logging.getLogger("torchport")


@dataclass(frozen=True)
class ParallelPlan:
    """The way in which a model is spread over processes, with the reason.

    Attributes:
        strategy: "single", "ddp", "fsdp" or "tensor"; see `parallelize`.
        device: The device of this process.
        world: The number of processes.
        reason: Why the strategy was chosen.
        model_bytes: The bytes of parameters and buffers.
        training_bytes: The bytes with gradients and optimizer state, unsharded.
        device_bytes: The free bytes on the device with the least free memory.
        units: The names of modules that are sharded on their own; only for "fsdp".
        groups: The groups of linear layers that are split; only for "tensor".

    Example:
        >>> plan = torchport.plan_parallel(torch.nn.Linear(2, 2), device="cpu", memory=2**30)
        >>> plan.strategy, plan.world, plan.reason
        ('single', 1, 'there is one process')
        >>> plan.model_bytes, plan.training_bytes  # 6 float32; then each one 4 times, for Adam
        (24, 96)
    """

    strategy: str
    device: torch.device
    world: int
    reason: str
    model_bytes: int
    training_bytes: int
    device_bytes: int
    units: tuple[str, ...] = ()
    groups: tuple[LinearGroup, ...] = field(default=())

    def __str__(self) -> str:
        return f"{self.strategy} on {self.world} x {self.device.type}: {self.reason}"


def _size(tensors: Sequence[torch.Tensor]) -> int:
    unique = {id(tensor): tensor for tensor in tensors}
    return sum(tensor.numel() * tensor.element_size() for tensor in unique.values())


def _trained(parameters: list[nn.Parameter], states: float) -> int:
    """Bytes of parameters with gradients and `states` values of optimizer state each."""
    unique = {id(p): p for p in parameters if p.requires_grad}.values()
    return int(sum(p.numel() * p.element_size() * (1 + states) for p in unique))


def _memory_of_a_process(device: torch.device) -> int:
    free = free_memory(device)
    if device.type == "cpu":  # all processes of the host share its memory
        free //= max(1, int(os.environ.get("LOCAL_WORLD_SIZE") or processes()))
    return free


def _smallest(value: int, device: torch.device) -> int:
    """The smallest value of all processes, so that all make the same decision."""
    if not dist.is_initialized() or dist.get_world_size() == 1:
        return value
    held = torch.tensor(value, dtype=torch.int64, device=device)
    dist.all_reduce(held, dist.ReduceOp.MIN)
    return int(held.item())


def _units(model: nn.Module) -> list[str]:
    """The modules to shard on their own: the elements of lists of blocks, outer lists first.

    A block that shares parameters with other modules is sharded with the root, which keeps it
    gathered as long as it is needed.
    """
    owners: dict[int, set[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        owners.setdefault(id(parameter), set()).add(name)
    found: list[str] = []
    for name, module in model.named_modules():
        if not isinstance(module, (nn.ModuleList, nn.Sequential)) or not name:
            continue
        if any(name.startswith(f"{unit}.") for unit in found):
            continue
        for child_name, child in module.named_children():
            prefix = f"{name}.{child_name}"
            parameters = list(child.parameters())
            private = all(
                used.startswith(f"{prefix}.") for p in parameters for used in owners[id(p)]
            )
            if parameters and private:
                found.append(prefix)
    return found


def plan_parallel(
    model: nn.Module,
    strategy: str = "auto",
    *,
    device: torch.device | str | None = None,
    memory: int | None = None,
    optimizer_states: float = 2,
) -> ParallelPlan:
    """Plans how `parallelize` would spread a model, without changing the model.

    For a model that `parallelize` returned, it returns the plan that was carried out, whatever the
    other arguments are. If there is a
    process group, all of its processes must call this.

    Args:
        model: The model, or a result of `parallelize`.
        strategy: As in `parallelize`.
        device: As in `parallelize`.
        memory: As in `parallelize`, in bytes.
        optimizer_states: As in `parallelize`.

    Returns:
        The plan.

    Raises:
        RuntimeError: The model does not fit in any way.
        ValueError: The strategy is unknown.

    Example:
        >>> plan = torchport.plan_parallel(torch.nn.Linear(2, 2), device="cpu")
        >>> plan.strategy, plan.model_bytes
        ('single', 24)
    """
    made: ParallelPlan | None = model.__dict__.get("_torchport_plan")
    if made is not None:
        return made
    if strategy not in ("auto", *STRATEGIES):
        raise ValueError(
            f"torchport: there is no strategy {strategy!r}; choose from auto, {', '.join(STRATEGIES)}"
        )
    place = policy.choose_device(device).device
    world = processes()
    parameters, buffers = list(model.parameters()), list(model.buffers())
    model_bytes = _size([*parameters, *buffers])
    training = model_bytes + _trained(parameters, optimizer_states)
    free = _smallest(_memory_of_a_process(place) if memory is None else memory, place)
    units = _units(model)
    groups = tensor_plan.find_groups(model, world) if world > 1 else []

    def plan(chosen: str, reason: str) -> ParallelPlan:
        return ParallelPlan(
            chosen,
            place,
            world,
            reason,
            model_bytes,
            training,
            free,
            tuple(units) if chosen == "fsdp" else (),
            tuple(groups) if chosen == "tensor" else (),
        )

    if strategy != "auto":
        _refuse_impossible(strategy, world, groups, place)
        return plan(strategy, "the strategy was given")
    budget = int(free * _SHARE)
    told = (
        f"training takes {size(training)}, and {size(budget)} of a {place.type} device is "
        "available for it"
    )
    if world == 1:
        if training > budget:
            raise RuntimeError(
                f"torchport: the model does not fit: {told}, and there is only one process. Start "
                f"more processes with {torchrun(place)}, or lower the precision or optimizer_states"
            )
        return plan("single", f"there is one process{idle_devices(place)}")
    if training <= budget:
        return plan("ddp", f"{told}: each process has a copy")
    gathered = _gathered(model, units)
    sharded = training // world + 2 * gathered  # one unit computes while the next one is gathered
    if sharded <= budget:
        return plan("fsdp", f"{told}; sharded over {world} it is {size(sharded)}")
    split = _split_bytes(model, groups, world, optimizer_states)
    if groups and training - split <= budget:
        return plan(
            "tensor",
            f"{told}; sharded it would be {size(sharded)}, including the blocks that are gathered "
            f"at the same time; with {len(groups)} groups of linear layers split over {world} it "
            f"is {size(training - split)}",
        )
    raise RuntimeError(
        f"torchport: the model does not fit on {world} processes: {told}; sharded it would be "
        f"{size(sharded)} on each, and with split layers {size(training - split)}. Use more "
        "processes, lower precision, or an optimizer with less state (optimizer_states=)"
    )


def _refuse_impossible(
    strategy: str, world: int, groups: list[LinearGroup], place: torch.device
) -> None:
    if strategy != "single" and world == 1:
        raise RuntimeError(
            f"torchport: {strategy} needs several processes, and there is only one; start the "
            f"program with {torchrun(place)}"
        )
    if strategy == "tensor" and not groups:
        raise RuntimeError(
            "torchport: there are no linear layers to split: the number of outputs of an nn.Linear "
            f"must be a multiple of {world}, and it must not share its weight. Use another strategy "
            "or another number of processes"
        )


def _gathered(model: nn.Module, units: list[str]) -> int:
    """The bytes of the largest unit, which a device holds as a whole while it computes it."""
    modules = [model.get_submodule(name) for name in units]
    within = {id(p) for module in modules for p in module.parameters()}
    rest = _size([p for p in model.parameters() if id(p) not in within])
    return max([rest, *(_size(list(module.parameters())) for module in modules)])


def _split_bytes(model: nn.Module, groups: list[LinearGroup], world: int, states: float) -> int:
    """The bytes that each device saves if the groups are split."""
    names = [name for group in groups for name in group.names()]
    parameters = [p for name in names for p in model.get_submodule(name).parameters()]
    return (_size(parameters) + _trained(parameters, states)) * (world - 1) // world


def parallelize(
    model: nn.Module,
    strategy: str = "auto",
    *,
    device: torch.device | str | None = None,
    memory: int | None = None,
    optimizer_states: float = 2,
    **options: Any,
) -> nn.Module:
    """Spreads a model over the processes that torchrun started, in the simplest way that fits.

    - "single": There is one process. The model is moved to its device.
    - "ddp": Parameters, gradients and optimizer state fit on each device. The model is wrapped in
      DistributedDataParallel.
    - "fsdp": They fit if they are sharded. `fully_shard` is applied to each block and to the root.
      The same model is returned; its parameters are DTensors.
    - "tensor": A single block is too large. Linear layers are split. All processes must get the
      same batches.

    All processes must call this function. If there is no process group, one is made with the
    device's backend (nccl, gloo). The choice and its reason are logged ("torchport", INFO);
    ``plan_parallel(model)`` returns the plan. Make the optimizer afterwards. Use `unwrap_model`
    and `full_state_dict` for saving.

    Args:
        model: The model.
        strategy: One of the above, or "auto".
        device: As in `device`; each process takes the one of its local rank.
        memory: The bytes to plan with, instead of the free memory of a device.
        optimizer_states: The number of values that the optimizer keeps for each trained value: 2
            for Adam, 1 for momentum, 0 for SGD.
        options: Options for DistributedDataParallel or fully_shard.

    Returns:
        The model or its wrapper.

    Raises:
        RuntimeError: The model does not fit in any way, or no process group can be made.
        ValueError: The strategy is unknown.

    Example:
        >>> net = torchport.parallelize(torch.nn.Linear(2, 2), device="cpu")
        >>> print(torchport.plan_parallel(net))
        single on 1 x cpu: there is one process
    """
    chosen = policy.choose_device(device).device
    start(chosen)
    plan = plan_parallel(
        model, strategy, device=device, memory=memory, optimizer_states=optimizer_states
    )
    if not dist.is_initialized() or dist.get_rank() == 0:
        idle = plan.world == 1 and strategy == "auto" and devices_like(plan.device) > 1
        _log.log(logging.WARNING if idle else logging.INFO, "%s", plan)
    spread = _apply(model, plan, options)
    spread.__dict__["_torchport_plan"] = plan
    return spread


def _apply(model: nn.Module, plan: ParallelPlan, options: dict[str, Any]) -> nn.Module:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.nn.parallel import DistributedDataParallel

    if plan.strategy in ("single", "ddp"):
        model.to(plan.device)
    if plan.strategy == "single":
        return model
    if plan.strategy == "ddp":
        trained = any(p.requires_grad for p in model.parameters())
        if not trained:
            return model  # DistributedDataParallel refuses a model without trained parameters
        devices = None if plan.device.type == "cpu" else [plan.device]
        return DistributedDataParallel(model, device_ids=devices, **options)
    mesh = init_device_mesh(plan.device.type, (plan.world,))
    if plan.strategy == "fsdp":
        # Inner units first. Each unit is moved when it is sharded, so the whole model never is.
        for name in reversed(plan.units):
            fully_shard(model.get_submodule(name), mesh=mesh, **options)
        return cast(nn.Module, fully_shard(model, mesh=mesh, **options))
    tensor_plan.split(model, list(plan.groups), mesh)
    return model.to(plan.device)
