"""The recording of a CUDA graph capture: operators as functions of storages.

A real capture runs no kernel: it records kernels with the addresses that they read and write. Here
the operators have to run during the capture, because the shapes of later results depend on them. At
the end of the capture the tape restores the storages that were overwritten. A replay runs the
operators again and copies the results into those storages of the capture that are still in use.

The tape identifies data by its storage, not by its tensor, because autograd may return the same
bytes as another tensor. So it does not have to record views.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_unflatten

from torchport.virtual.torch_c_shim._native import ops, refuse

# Arguments that the operators write to although the schema does not say so: running statistics, and
# the state of dropout.
_WRITTEN = {
    "aten::native_batch_norm": {3, 4},
    "aten::cudnn_batch_norm": {3, 4},
    "aten::_cudnn_rnn": {15},
}


class View(NamedTuple):
    """The description of a tensor over a storage that each replay makes again."""

    slot: int
    dtype: torch.dtype
    device: torch.device
    size: torch.Size
    stride: tuple[int, ...]
    offset: int
    conj: bool
    neg: bool

    def over(self, storage: torch.UntypedStorage) -> torch.Tensor:
        tensor = torch.empty(0, dtype=self.dtype, device=self.device)
        tensor.set_(storage, self.offset, self.size, self.stride)
        torch._C._set_conj(tensor, self.conj)
        torch._C._set_neg(tensor, self.neg)
        return tensor


class Step(NamedTuple):
    function: Any
    arguments: list[Any]  # a flat list of values, tensors from outside the capture, and Views
    form: Any
    made: list[tuple[int, int]]  # (index of the result, slot) for each storage that the step makes
    grad: bool  # whether gradients were enabled: kernels save more for them
    draws: Any  # the state of the default generator that it may draw from; None if it does not
    stream: int


class Tape(TorchDispatchMode):
    """Records the operators on devices that this thread, and autograd for it, calls in a block."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch has not annotated it
        ops().begin_journal()
        self.steps: list[Step] = []
        self._slots: dict[int, int] = {}  # address of the storage -> slot
        self._storages: list[StorageWeakRef] = []  # by slot; no address is used twice meanwhile
        self._outside: set[int] = set()  # slots of storages that are older than the capture
        self._before: list[tuple[torch.Tensor, torch.Tensor]] = []  # tensor, its bytes before
        self._kept: set[int] = set()
        self._inputs: list[torch.Tensor] = []  # over the bytes of those
        self._results: dict[int, torch.Tensor] = {}  # by slot: where replays leave results

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        if not ops().is_capturing():  # on a stream that does not belong to the capture
            return func(*args, **(kwargs or {}))
        flat, form = tree_flatten((args, kwargs or {}))
        arguments = [self._argument(value) for value in flat]
        grad, draws = torch.is_grad_enabled(), _default_state(func, flat)
        self._keep_what_is_written(func, args, kwargs or {})
        results = func(*args, **(kwargs or {}))
        outputs = tree_flatten(results)[0]
        made = [
            (i, self._slot(value)) for i, value in enumerate(outputs)
            if _on_device(value) and self._known(value) is None
        ]  # fmt: skip
        touches = made or any(_on_device(value) for value in flat)
        if touches and (made or func._schema.is_mutable):
            self.steps.append(Step(func, arguments, form, made, grad, draws, ops().get_stream(-1)))
        return results

    def call_kernel(
        self, kernel: Callable[..., None], args: Sequence[Any], written: Sequence[int]
    ) -> None:
        """Calls a compiled kernel, which is no operator, and records it. `written` are the indices of
        the arguments that it writes to."""
        arguments = [self._argument(value) for value in args]
        for i in written:
            self._keep(args[i])
        kernel(*args)
        form = tree_flatten((tuple(args), {}))[1]
        self.steps.append(
            Step(kernel, arguments, form, [], torch.is_grad_enabled(), None, ops().get_stream(-1))
        )

    def finish(self) -> None:
        """Restores the storages that the capture overwrote, and drops their copies. Keeps the bytes of
        the results that are still in use: replays write there even after their tensors are gone."""
        ops().restore_journal()  # what lay in the pool before; then what was written in place
        for tensor, bytes_before in self._before:
            ops().twin(tensor).copy_(bytes_before)
        self._before.clear()
        for slot, weak in enumerate(self._storages):
            held = None if slot in self._outside else _storage_of(weak)
            if held is not None and held.nbytes() > 0:
                self._results[slot] = ops().same_bytes(_bytes_of(held))

    def replay(self) -> None:
        ops().set_replaying(True)
        try:
            self._run_steps()
        finally:
            ops().set_replaying(False)

    def _run_steps(self) -> None:
        last = self._last_uses()
        for tensor in (*self._inputs, *self._results.values()):
            ops().follow(tensor)  # the program may have moved the bytes
        fresh: dict[int, torch.UntypedStorage] = {}
        # What was captured is below autograd and autocast.
        with torch._C._AutoDispatchBelowAutograd(), torch.autocast("cuda", enabled=False):
            for number, step in enumerate(self.steps):
                flat = [
                    value.over(fresh[value.slot]) if isinstance(value, View) else value
                    for value in step.arguments
                ]
                args, kwargs = tree_unflatten(flat, step.form)
                with torch.set_grad_enabled(step.grad), _drawing_from(step.draws):
                    outputs = tree_flatten(step.function(*args, **kwargs))[0]
                for i, slot in step.made:
                    fresh[slot] = outputs[i].untyped_storage()
                del flat, args, kwargs, outputs
                for slot in last.get(number, ()):
                    if slot not in self._results:
                        fresh.pop(slot, None)
            for slot, storage in fresh.items():
                self._leave(slot, storage)

    def _leave(self, slot: int, storage: torch.UntypedStorage) -> None:
        result = self._results.get(slot)
        if result is not None and result.untyped_storage().nbytes() == storage.nbytes():
            result.untyped_storage().copy_(storage)

    def _last_uses(self) -> dict[int, list[int]]:
        last: dict[int, int] = {}
        for number, step in enumerate(self.steps):
            for _, slot in step.made:
                last[slot] = number
            for value in step.arguments:
                if isinstance(value, View):
                    last[value.slot] = number
        by_step: dict[int, list[int]] = {}
        for slot, number in last.items():
            by_step.setdefault(number, []).append(slot)
        return by_step

    def _known(self, tensor: torch.Tensor) -> int | None:
        return self._slots.get(tensor.untyped_storage()._cdata)

    def _slot(self, tensor: torch.Tensor) -> int:
        storage = tensor.untyped_storage()
        slot = self._slots.get(storage._cdata)
        if slot is None:
            slot = len(self._storages)
            self._slots[storage._cdata] = slot
            self._storages.append(StorageWeakRef(storage))
        return slot

    def _argument(self, value: Any) -> Any:
        if isinstance(value, torch.Generator) and value.device.type == "cuda":
            return state_of(value)  # the program may give the generator another one
        if not _on_device(value):
            return value
        if value.layout is not torch.strided:
            refuse("torch.cuda.CUDAGraph", f"a capture with a tensor of layout {value.layout}")
        slot = self._known(value)
        if slot is None:
            slot = self._slot(value)
            self._outside.add(slot)
        if slot in self._outside:
            # A graph keeps the addresses of what it reads, not the tensors: the bytes live as long as
            # the graph, the block of memory as long as the program's tensor.
            self._inputs.append(ops().same_bytes(value))
            return self._inputs[-1]
        return View(
            slot, value.dtype, value.device, value.size(), value.stride(), value.storage_offset(),
            value.is_conj(), value.is_neg(),
        )  # fmt: skip

    def _keep_what_is_written(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        for i, argument in enumerate(func._schema.arguments):
            declared = argument.alias_info is not None and argument.alias_info.is_write
            if not declared and i not in _WRITTEN.get(func._schema.name, ()):
                continue
            value = args[i] if i < len(args) else kwargs.get(argument.name)
            for tensor in tree_flatten(value)[0]:
                if _on_device(tensor):
                    self._keep(tensor)

    def _keep(self, tensor: torch.Tensor) -> None:
        """Notes the bytes of a tensor that is about to be written, if it is older than the capture."""
        slot = self._slot(tensor)
        if slot in self._outside and slot not in self._kept:
            self._kept.add(slot)
            self._before.append((tensor.detach(), ops().twin(tensor).clone()))


def _storage_of(weak: StorageWeakRef) -> torch.UntypedStorage | None:
    """The storage, if it is still in use."""
    return torch.UntypedStorage._new_with_weak_ptr(weak.cdata)


def _bytes_of(storage: torch.UntypedStorage) -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)


def _on_device(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_cuda


def state_of(generator: Any) -> Any:
    """A generator over the state that this one has now. Those that draw as the CPU have one."""
    try:
        return generator.graphsafe_get_state()
    except NotImplementedError:
        return generator


def _default_state(func: Any, flat: list[Any]) -> Any:
    if torch.Tag.nondeterministic_seeded not in func.tags:
        return None
    devices = [value.device.index for value in flat if _on_device(value)]
    return state_of(ops().default_generator(devices[0] if devices else -1))


@contextlib.contextmanager
def _drawing_from(state: Any) -> Iterator[None]:
    """The default generator has this state in the block."""
    generator = None if state is None else ops().default_generator(state.device.index)
    if generator is None or generator is state:
        yield
        return
    before = generator.graphsafe_get_state()
    generator.graphsafe_set_state(state)
    try:
        yield
    finally:
        generator.graphsafe_set_state(before)
