"""`shard:N` of planning_changes: a model is sharded before it is on its device as a whole.

A program moves its model to a device, and uses it later. Until then parameters and buffers are on the
device and count in no account. Before the first use each repeated module is charged as a whole, sharded
and given back, as in a program that shards a model of the host: fully_shard() moves one after the other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from torchport.virtual import alike_ranks


class Sharding:
    """The models that are to be sharded, and how many are."""

    def __init__(self, torch: ModuleType, blocks: Callable[..., Iterable[Any]]) -> None:
        self.torch = torch
        self.native = torch._ops.ops.torchport
        self.blocks = blocks
        self.kind = torch.accelerator.current_accelerator().type
        self.count = 0
        # By identity: a module may compare as it likes. They are moved, and not used yet.
        self.waiting: dict[int, Any] = {}

    def beside(self, module: Any) -> list[Any]:
        """The models that wait, without those that have this module within."""
        return [one for one in self.waiting.values() if not _has(one, module)]

    def shard(self, root: Any) -> None:
        import torch.distributed as dist
        from torch.distributed.fsdp import FSDPModule, fully_shard

        if not dist.is_initialized():
            size = int(os.environ[alike_ranks.VARIABLE])
            store = dist.HashStore()  # type: ignore[attr-defined]
            dist.init_process_group("nccl", store=store, rank=0, world_size=size)
        elif not self.count:
            raise RuntimeError(
                "torchport: the program is distributed by itself: plan it with --ranks"
            )
        for one in [one for one in self.waiting.values() if one is not root and _has(one, root)]:
            # The program uses a part of it in its own way.
            self.settle(one)
        for key in [key for key, one in self.waiting.items() if _has(root, one)]:
            del self.waiting[key]
        for module in [*self.blocks([root], self.torch), root]:
            if not isinstance(module, FSDPModule):
                before = self._charge(module)
                fully_shard(module)
                # The program may still have parameters that the module has no longer.
                now = {id(one) for one in _tensors(module)}
                for tensor, data in before:
                    if id(tensor) not in now:
                        tensor.data = data
        self.count += 1

    def settle(self, module: Any) -> None:
        """Charges a model as a whole."""
        self.waiting.pop(id(module), None)
        self._charge(module)

    def settle_all(self) -> None:
        """For the report: what nobody used is on the device as a whole."""
        for one in list(self.waiting.values()):
            self.settle(one)

    def _charge(self, module: Any) -> list[tuple[Any, Any]]:
        """Returns what was changed, with the data that it had."""
        before = [(one, one.data) for one in _tensors(module) if self.is_uncharged(one)]
        for tensor, data in before:
            tensor.data = data.clone()
        return before

    def is_uncharged(self, tensor: Any) -> bool:
        is_plain = not hasattr(tensor, "_local_tensor") and tensor.layout == self.torch.strided
        on_device = tensor.device.type == self.kind and tensor.numel() > 0
        if not is_plain or not on_device:
            return False
        return not self.native.owns_block(tensor.untyped_storage()._cdata)

    def uncharged(self, tensor: Any, device: Any, dtype: Any = None) -> Any:
        """The tensor on a device, in no account; of another type if that is a floating-point one."""
        cast = dtype is not None and (tensor.is_floating_point() or tensor.is_complex())
        index = -1 if device.index is None else device.index
        return self.native.uncharged_like(tensor, dtype if cast else tensor.dtype, index)

    # How modules are moved.

    def watch_moves(self) -> None:
        module = self.torch.nn.Module
        move, cuda, apply = module.to, module.cuda, module._apply
        parse = self.torch._C._nn._parse_to

        def moved(one: Any, *args: Any, **kwargs: Any) -> Any:
            device, dtype, _, layout = parse(*args, **kwargs)
            if layout is None and self._postpone(one, device, dtype, apply, "cpu"):
                return one
            return move(one, *args, **kwargs)

        def moved_to_cuda(one: Any, device: Any = None) -> Any:
            target = self.torch.device("cuda" if device is None else device)
            if self._postpone(one, target, None, apply, "cpu"):
                return one
            return cuda(one, device)

        def made_empty(one: Any, *, device: Any, recurse: bool = True) -> Any:
            target = self.torch.device(device) if device is not None else None
            if recurse and self._postpone(one, target, None, apply, "meta"):
                return one
            return empty(one, device=device, recurse=recurse)

        def applied(one: Any, function: Callable[..., Any], *more: Any, **named: Any) -> Any:
            return apply(one, self._kept(function) if self.waiting else function, *more, **named)

        empty = module.to_empty
        module.to, module.cuda, module.to_empty = moved, moved_to_cuda, made_empty
        module._apply = applied

    def _postpone(
        self, module: Any, device: Any, dtype: Any, apply: Callable[..., Any], source: str
    ) -> bool:
        if device is None or device.type != self.kind or id(module) in self.waiting:
            return False
        tensors = list(_tensors(module))
        is_new = any(one.device.type == source for one in module.parameters())
        if not is_new or not all(self._is_plain(one, source) for one in tensors):
            return False

        def place(tensor: Any) -> Any:
            return self.uncharged(tensor, device, dtype)

        # Modules apply it to their own modules: those must not be asked again.
        waiting, self.waiting = self.waiting, {}
        apply(module, place)
        self.waiting = {key: one for key, one in waiting.items() if not _has(module, one)}
        self.waiting[id(module)] = module
        return True

    def _is_plain(self, tensor: Any, source: str) -> bool:
        plain = (self.torch.Tensor, self.torch.nn.Parameter, self.torch.nn.Buffer)
        if type(tensor) not in plain or tensor.layout != self.torch.strided:
            return False
        return tensor.device.type == source or self.is_uncharged(tensor) or tensor.numel() == 0

    def _kept(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """What is in no account stays so when a function is applied to it."""

        def kept(tensor: Any) -> Any:
            made = function(tensor)
            if made is tensor or not self.is_uncharged(tensor) or made.device.type != self.kind:
                return made
            return self.uncharged(made, made.device)

        return kept


def _has(module: Any, part: Any) -> bool:
    return any(one is part for one in module.modules())


def _tensors(module: Any) -> Iterable[Any]:
    yield from module.parameters()
    yield from module.buffers()
