"""Tells the record of memory what a program's blocks hold, and writes the record when it ends.

`torchport plan` sets TORCHPORT_PLAN to the file to write. Python knows which tensors are parameters,
gradients and states of optimizers, and which module runs; the rest is in C++
(src/runtime/virtual/planning).
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import pickle
import sys
import time
import warnings
import weakref
from pathlib import Path
from types import ModuleType
from typing import Any

from torchport.virtual import alike_ranks, outside, planning_changes, without_data
from torchport.virtual._watching import folders_of_others
from torchport.virtual.planning_end import Ending
from torchport.virtual.without_data import reads

FILE = "TORCHPORT_PLAN"
SNAPSHOT = "TORCHPORT_PLAN_SNAPSHOT"  # how many events of each device a snapshot may have
NOWHERE = "nowhere in the program"


def wanted() -> bool:
    return FILE in os.environ


class Modules:
    """The names of modules by the number that the record has of them, and which one runs."""

    def __init__(self, torch: ModuleType) -> None:
        self.torch = torch
        self.native = torch._ops.ops.torchport
        self.names = [""]
        self.numbers: dict[int, int] = {}
        self.running: list[int] = []
        self.roots: list[weakref.ref[Any]] = []

    def _add(self, root: Any) -> None:
        """Names a module, and all in it, when it is first called outside of any other."""
        own = type(root).__name__
        for name, module in root.named_modules():
            if id(module) not in self.numbers:
                self.numbers[id(module)] = len(self.names)
                self.names.append(f"{own}.{name}" if name else own)
        held = [*root.parameters(), *root.buffers()]
        self.native.mark_memory(_tensors(held, self.torch), "parameters")
        self.roots.append(weakref.ref(root))
        _watch_gathering(self.torch)

    def begin(self, module: Any, _: Any) -> None:
        if id(module) not in self.numbers:
            self._add(module)
        self.running.append(self.numbers[id(module)])
        self.native.memory_of_module(self.running[-1])

    def end(self, *_: Any) -> None:
        if self.running:
            self.running.pop()
        if not self.running:
            self.native.end_of_work("call")
        self.native.memory_of_module(self.running[-1] if self.running else 0)

    def mark_gradients(self) -> None:
        """Names the gradients that no optimizer's step has named."""
        for reference in self.roots:
            root = reference()
            parameters = [] if root is None else root.parameters()
            gradients = [one.grad for one in parameters if one.grad is not None]
            self.native.mark_memory(_tensors(gradients, self.torch), "gradients")


def _tensors(value: Any, torch: ModuleType) -> list[Any]:
    """The tensors of a device in lists and dictionaries; of a distributed tensor, its own part."""
    if isinstance(value, torch.Tensor):
        value = getattr(value, "_local_tensor", value)
        return [] if value.is_sparse else [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for one in value for tensor in _tensors(one, torch)]
    return []


def _watch_backward(torch: ModuleType, modules: Modules, ending: Ending) -> None:
    """Names gradients after each backward pass of a program that updates its parameters itself."""
    backward = torch.autograd.backward

    @functools.wraps(backward)
    def backward_and_name(*arguments: Any, **named: Any) -> None:
        backward(*arguments, **named)
        if ending.steps == 0:  # else the optimizer's next step names them
            modules.mark_gradients()

    torch.autograd.backward = backward_and_name


def _watch_gathering(torch: ModuleType) -> None:
    """Names the whole parameters that fully_shard() makes of the parts of all ranks, for a while."""
    part = sys.modules.get("torch.distributed.fsdp._fully_shard._fsdp_param_group")
    group: Any = getattr(part, "FSDPParamGroup", None)
    wait = getattr(group, "wait_for_unshard", None)
    if wait is None or hasattr(wait, "__wrapped__"):
        return
    native = torch._ops.ops.torchport

    @functools.wraps(wait)
    def wait_and_name(self: Any, *arguments: Any, **named: Any) -> Any:
        result = wait(self, *arguments, **named)
        whole = [getattr(one, "all_gather_outputs", []) for one in self.fsdp_params]
        native.mark_memory(_tensors(whole, torch), "communication")
        return result

    group.wait_for_unshard = wait_and_name


def _record_snapshot(torch: ModuleType) -> None:
    """Records what torch.cuda.memory._dump_snapshot() writes. Lines of C++ would be the host's."""
    if SNAPSHOT in os.environ:
        torch.cuda.memory._record_memory_history(
            stacks="python", max_entries=int(os.environ[SNAPSHOT])
        )


def _snapshot(torch: ModuleType, file: Path) -> dict[str, Any] | None:
    """Writes the snapshot of this process; none if there is nothing in it."""
    if SNAPSHOT not in os.environ:
        return None
    snapshot = torch.cuda.memory._snapshot()
    if not any(snapshot["device_traces"]) and not snapshot["segments"]:
        return None
    with file.open("wb") as stream:
        pickle.dump(snapshot, stream)
    native = torch._ops.ops.torchport
    dropped = sum(native.history_dropped(i) for i in range(native.device_count()))
    return {
        "file": file.name,
        "rank": _rank(torch),
        "dropped": dropped,
        "recorded": bool(torch._C._cuda_isHistoryEnabled()),
    }


def _rank(torch: ModuleType) -> int | None:
    """The number of this process in its group, or the one that its launcher gave it."""
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank())
    told = os.environ.get("RANK", "")
    return int(told) if told.isdecimal() else None


def _short(line: str) -> str:
    """A place as a reader knows it: from the current folder, or from the folder of packages."""
    path = Path(line)
    for folder in [Path.cwd(), *map(Path, sys.path)]:
        if folder != Path(folder.anchor) and path.is_relative_to(folder):
            return str(path.relative_to(folder))
    return line


def _watch_optimizers(torch: ModuleType, ending: Ending) -> None:
    from torch.optim.optimizer import (
        register_optimizer_step_post_hook,
        register_optimizer_step_pre_hook,
    )

    native = torch._ops.ops.torchport

    def before(optimizer: Any, *_: Any) -> None:
        ending.before_step(optimizer)
        parameters = [one for group in optimizer.param_groups for one in group["params"]]
        native.mark_memory(_tensors(parameters, torch), "parameters")
        gradients = [one.grad for one in parameters if one.grad is not None]
        native.mark_memory(_tensors(gradients, torch), "gradients")
        native.memory_of_step(True)

    def after(optimizer: Any, *_: Any) -> None:
        native.memory_of_step(False)
        native.end_of_work("step")
        ending.after_step(optimizer)
        native.mark_memory(_tensors(optimizer.state, torch), "optimizer states")

    register_optimizer_step_pre_hook(before)
    register_optimizer_step_post_hook(after)


def _recorded(torch: ModuleType, modules: list[str]) -> dict[str, Any]:
    """The record with the names of lines and modules."""
    native = torch._ops.ops.torchport
    lines = [NOWHERE, *map(_short, native.source_lines())]
    recorded: dict[str, Any] = json.loads(native.recorded_memory())
    about = json.loads(native.describe())
    work = json.loads(native.recorded_work())
    times = {one.pop("device"): one for one in work.pop("devices")}
    for index, device in enumerate(recorded["devices"]):
        for row in [*device["rows"], *device.get("rows_when_it_ran_out", [])]:
            row["line"] = lines[row["line"]]
            row["module"] = modules[row["module"]]
        for failure in device["failures"]:
            failure["module"] = modules[failure["module"]]
            failure["line"] = _short(failure["line"])
        if index in times:
            device["time"] = times[index] | work
        stats = json.loads(native.memory_stats(index))
        device["device"] = f"{about['kind']}:{index}"
        # A program may reset the figures of torch.cuda.
        device["allocated"] = max(stats["allocated_bytes"]["all"]["peak"], device["held"])
        device["reserved"] = max(stats["reserved_bytes"]["all"]["peak"], device["most_reserved"])
        device["parts"] = outside.parts(torch, about, index)
    missing = json.loads(native.missing_values())
    hangs_on, at_most, at_least = reads.hangs_on(missing)
    for device, bytes_before in zip(recorded["devices"], at_least, strict=False):
        device["at_least"] = bytes_before
    return recorded | {
        "hangs_on": [*map(_short, hangs_on)],
        "at_most": [*map(_short, at_most)],
        "profile": about["profile"]["name"],
        "memory": about["memory"],
        "count": about["count"],
        "missing_values": [{**one, "line": _short(one["line"])} for one in missing],
    }


def start(torch: ModuleType) -> None:
    """Begins the record. Called after torch is imported, and lines are looked for."""
    native = torch._ops.ops.torchport
    native.record_memory()
    native.record_work()
    _record_snapshot(torch)
    modules = Modules(torch)
    # The hooks are the plan's; a module that torch.compile wraps has the same name with and without them.
    warnings.filterwarnings(
        "ignore", r"Using `torch\.compile\(module\)` when there are global hooks"
    )
    hooks = torch.nn.modules.module
    hooks.register_module_forward_pre_hook(modules.begin)
    hooks.register_module_forward_hook(modules.end, always_call=True)
    if without_data.wanted():
        reads.install(torch, folders_of_others(torch))
    ending = Ending(torch, lambda: write())
    _watch_optimizers(torch, ending)
    _watch_backward(torch, modules, ending)
    changes = planning_changes.start(torch)
    began = time.monotonic()
    ended_by: list[str] = []
    show = sys.excepthook

    def note(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        ended_by.append(f"{kind.__name__}: {error}")
        show(kind, error, trace)

    sys.excepthook = note

    def write() -> None:
        # Each process of the program writes its own.
        target = Path(os.environ[FILE])
        target = target.with_name(f"{target.stem}.{os.getpid()}.json")
        modules.mark_gradients()
        changes.end()
        recorded = _recorded(torch, modules.names) | {
            "seconds": time.monotonic() - began,
            "ended_by": ended_by,
            "ended_early": ending.why,
            "steps": ending.steps,
            "batches": ending.batches,
            "changes": changes.applied,
            "uncertain": without_data.uncertain(),
            "ranks": int(os.environ.get(alike_ranks.VARIABLE, "0")),
            "snapshot": _snapshot(torch, target.with_suffix(".pickle")),
        }
        # Names that are no text in UTF-8 get question marks.
        target.write_bytes(json.dumps(recorded, ensure_ascii=False).encode("utf-8", "replace"))

    atexit.register(write)
