"""What torch's FakeTensorMode with MemTracker says of a program: python mem_tracker.py OUT.json program.py ...

As MemTracker's documentation says, what exists before the first call of a model (the program's models, optimizers and
tensors, and the arguments) is given to `track_external`, the rest runs in the tracker, and `reset_mod_stats` is called
before each further call of a model. Tensors are fake ones of the CPU: those of CUDA need a build of torch for CUDA.
"""

from __future__ import annotations

import contextlib
import json
import runpy
import sys
from pathlib import Path
from typing import Any

import torch
from first_call import without_cuda
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.mem_tracker import MemTracker
from torch.utils._pytree import tree_leaves

STATEFUL = (torch.nn.Module, torch.optim.Optimizer, torch.Tensor)


def of_program() -> list[Any]:
    """The models, optimizers and tensors that are names of the program now."""
    frame = sys._getframe()
    found: dict[int, Any] = {}
    while frame is not None:
        if frame.f_globals.get("__name__") == "__main__" and frame.f_globals is not globals():
            values = [*frame.f_globals.values(), *frame.f_locals.values()]
            found |= {id(one): one for one in values if isinstance(one, STATEFUL)}
        frame = frame.f_back
    return list(found.values())


def apply(self: torch.nn.Module, function, recurse: bool = True) -> torch.nn.Module:
    """Module._apply without the exchange of parameters' contents that fake tensors do not allow."""
    for child in self.children() if recurse else []:
        child._apply(function)
    for name, parameter in self._parameters.items():
        if parameter is not None:
            made = torch.nn.Parameter(function(parameter.detach()), parameter.requires_grad)
            self._parameters[name] = made
    for name, buffer in self._buffers.items():
        self._buffers[name] = None if buffer is None else function(buffer)
    return self


class Tracked:
    """Calls of modules, the outermost of which the tracker is told of."""

    def __init__(self, leave: contextlib.ExitStack) -> None:
        self.tracker = MemTracker()
        self.call, self.leave = torch.nn.Module.__call__, leave
        self.depth, self.is_entered = 0, False

    def begin(self, module: torch.nn.Module, arguments: Any) -> None:
        if self.is_entered:
            self.tracker.reset_mod_stats()
            return
        tensors = [one for one in tree_leaves(arguments) if isinstance(one, torch.Tensor)]
        self.tracker.track_external(module, *of_program(), *tensors)
        self.leave.enter_context(self.tracker)
        self.is_entered = True

    def install(self) -> None:
        tracked = self

        def call(module, *args, **kwargs):
            if tracked.depth == 0 and torch._C._current_graph_task_id() == -1:
                tracked.begin(module, (args, kwargs))
            tracked.depth += 1
            try:
                return tracked.call(module, *args, **kwargs)
            finally:
                tracked.depth -= 1

        torch.nn.Module.__call__ = call


def main() -> None:
    out, program, *arguments = sys.argv[1:]
    sys.argv = [program, *arguments]
    torch.nn.Module._apply = apply
    torch.nn.init.trunc_normal_ = lambda tensor, *_, **__: tensor  # looks into its values
    with contextlib.ExitStack() as leave:
        leave.enter_context(without_cuda("cpu"))
        leave.enter_context(FakeTensorMode(allow_non_fake_inputs=True))
        tracked = Tracked(leave)
        tracked.install()
        runpy.run_path(program, run_name="__main__")
    peaks = tracked.tracker.get_tracker_snapshot("peak")
    total = {str(device): snapshot["Total"] for device, snapshot in peaks.items()}
    Path(out).write_text(json.dumps({"bytes": max(total.values()), "devices": total}))


main()
