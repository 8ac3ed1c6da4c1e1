"""Changes of a program that `torchport plan --what-if` tries by running it with them.

TORCHPORT_CHANGES has their names with "+" between them. The program is not changed: its modules and
optimizers are, when they are first used.
"""

from __future__ import annotations

import functools
import gc
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from types import ModuleType
from typing import Any

from torchport.virtual.planning_sharding import Sharding

VARIABLE = "TORCHPORT_CHANGES"
OPTIMIZERS = {"sgd": "SGD", "adafactor": "Adafactor"}


def wanted() -> list[str]:
    return [name for name in os.environ.get(VARIABLE, "").split("+") if name]


def blocks(modules: Iterable[Any], torch: ModuleType) -> Iterator[Any]:
    """The modules that models repeat: members of a list that are of one class, the outermost."""
    lists = (torch.nn.ModuleList, torch.nn.Sequential)
    for module in modules:
        members = list(module.children()) if isinstance(module, lists) else []
        alike = len(members) > 1 and len({type(one) for one in members}) == 1
        if alike and all(next(one.parameters(), None) is not None for one in members):
            yield from members
        else:
            yield from blocks(module.children(), torch)


class Changes:
    """What is changed, and how often it was."""

    def __init__(self, torch: ModuleType, names: list[str]) -> None:
        self.torch = torch
        self.names = names
        self.applied = dict.fromkeys(names, 0)
        self.seen: set[int] = set()
        self.depth = 0
        self.sharding = Sharding(torch, blocks) if "shard" in names else None

    # What is asked by the hooks.

    def model(self, root: Any) -> None:
        """Changes a model before its first use, by a call or by an optimizer."""
        if id(root) in self.seen:
            return
        self.seen.update(id(module) for module in root.modules())
        if next(root.parameters(), None) is None:
            return
        if "bfloat16" in self.names:
            self._to_bfloat16(root)
        if self.sharding is not None:
            self.sharding.shard(root)
            self.applied["shard"] += 1
        if "checkpointing" in self.names:
            for block in list(blocks([root], self.torch)):
                self._checkpoint(block)

    def call(self, call: Any, module: Any, args: Any, kwargs: Any) -> Any:
        """Calls a module that no other module called."""
        for one in self.sharding.beside(module) if self.sharding is not None else []:
            self.model(one)
        self.model(module)
        with ExitStack() as stack:
            if "autocast" in self.names:
                self.applied["autocast"] += 1
                kind = self.torch.accelerator.current_accelerator().type
                stack.enter_context(self.torch.autocast(kind, dtype=self.torch.bfloat16))
            if "bfloat16" in self.names and next(module.parameters(), None) is not None:
                args, kwargs = self._cast(args), self._cast(kwargs)
            return call(module, *args, **kwargs)

    def end(self) -> None:
        """Before the report."""
        if self.sharding is not None:
            self.sharding.settle_all()

    # The changes.

    def _checkpoint(self, block: Any) -> None:
        from torch.utils.checkpoint import checkpoint

        forward = block.forward

        @functools.wraps(forward)
        def computed_again(*args: Any, **kwargs: Any) -> Any:
            if not self.torch.is_grad_enabled():
                return forward(*args, **kwargs)
            self.applied["checkpointing"] += 1
            return checkpoint(forward, *args, use_reentrant=False, **kwargs)

        block.forward = computed_again

    def _to_bfloat16(self, root: Any) -> None:
        for tensor in [*root.parameters(), *root.buffers()]:
            if tensor.is_floating_point() and tensor.dtype != self.torch.bfloat16:
                tensor.data = self._cast_data(tensor.data)
                self.applied["bfloat16"] += 1

    def _cast_data(self, data: Any) -> Any:
        if self.sharding is not None and self.sharding.is_uncharged(data):
            return self.sharding.uncharged(data, data.device, self.torch.bfloat16)
        return data.to(self.torch.bfloat16)

    def _cast(self, value: Any) -> Any:
        if isinstance(value, self.torch.Tensor):
            return value.to(self.torch.bfloat16) if value.is_floating_point() else value
        if isinstance(value, dict):
            return {name: self._cast(one) for name, one in value.items()}
        if type(value) in (list, tuple):
            return type(value)(self._cast(one) for one in value)
        return value

    # Optimizers.

    def parameters(self, given: Any) -> Any:
        """The parameters that an optimizer gets, after their models are changed."""
        groups = list(given)
        dictionaries = bool(groups) and isinstance(groups[0], dict)
        if not dictionaries:
            groups = [{"params": groups}]
        for group in groups:
            held = group["params"]
            group["params"] = [held] if isinstance(held, self.torch.Tensor) else list(held)
        wanted = {id(_of(one)) for group in groups for one in group["params"]}
        places = {}
        for root in self._roots(wanted):
            named = {id(one): (root, name) for name, one in root.named_parameters()}
            places.update(named)
            self.model(root)
        for group in groups:
            group["params"] = [_renewed(one, places) for one in group["params"]]
        return groups if dictionaries else groups[0]["params"]

    def _roots(self, wanted: set[int]) -> list[Any]:
        """The modules with these parameters that are in no other module."""
        modules = [one for one in gc.get_objects() if issubclass(type(one), self.torch.nn.Module)]
        inner = {id(child) for module in modules for child in module.children()}
        return [
            module
            for module in modules
            if id(module) not in inner and any(id(one) in wanted for one in module.parameters())
        ]


def _of(parameter: Any) -> Any:
    return parameter[1] if isinstance(parameter, tuple) else parameter


def _renewed(parameter: Any, places: dict[int, tuple[Any, str]]) -> Any:
    """The parameter that is now in the place of one that an optimizer was given."""
    place = places.get(id(_of(parameter)))
    if place is None:
        return parameter
    now = place[0].get_parameter(place[1])
    return (parameter[0], now) if isinstance(parameter, tuple) else now


def _change_calls(changes: Changes, torch: ModuleType) -> None:
    call = torch.nn.Module.__call__

    def changed(module: Any, *args: Any, **kwargs: Any) -> Any:
        changes.depth += 1
        try:
            if changes.depth > 1:
                return call(module, *args, **kwargs)
            return changes.call(call, module, args, kwargs)
        finally:
            changes.depth -= 1

    torch.nn.Module.__call__ = changed


def _change_optimizers(changes: Changes, torch: ModuleType) -> None:
    from torch.optim.optimizer import Optimizer, register_optimizer_step_pre_hook

    begin = Optimizer.__init__

    def changed(self: Any, params: Any, defaults: Any) -> None:
        begin(self, changes.parameters(params), defaults)

    Optimizer.__init__ = changed  # type: ignore[method-assign]
    for name in changes.names:
        if name in OPTIMIZERS:
            _replace_optimizers(changes, name, getattr(torch.optim, OPTIMIZERS[name]), Optimizer)
    if "loop" in changes.names:

        def one_by_one(optimizer: Any, *_: Any) -> None:
            for group in optimizer.param_groups:
                if "foreach" in group and not group.get("fused"):
                    group["foreach"] = False
                    changes.applied["loop"] += 1

        register_optimizer_step_pre_hook(one_by_one)


def _replace_optimizers(changes: Changes, name: str, other: type, base: type) -> None:
    def make(cls: type, params: Any = (), *_: Any, **settings: Any) -> Any:
        if cls is other:
            return object.__new__(cls)
        changes.applied[name] += 1
        # An object of another class: Python does not call __init__ of this one.
        return other(params, lr=settings.get("lr", 1e-3))

    base.__new__ = make  # type: ignore[assignment, method-assign]


def start(torch: ModuleType) -> Changes:
    changes = Changes(torch, wanted())
    if changes.names:
        _change_calls(changes, torch)
        _change_optimizers(changes, torch)
    if changes.sharding is not None:
        changes.sharding.watch_moves()
    return changes
