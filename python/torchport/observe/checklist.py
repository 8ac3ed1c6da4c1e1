"""The deployment checklist: five questions, each with its answer and the observation behind it."""

from __future__ import annotations

import os
import resource
from typing import Any

import torch
from torch import nn

from torchport._native.observing import storage_number
from torchport._quantities import counted, size
from torchport.observe.inventory import Held, bytes_of, home_of
from torchport.observe.result import Answer, TensorInfo

_NORMS = (nn.modules.batchnorm._BatchNorm, nn.modules.batchnorm._NormBase)
_DROPOUTS = nn.modules.dropout._DropoutNd
# A larger share of a device's memory may fail because of fragmentation and other processes.
_REASONABLE = 0.9


def training_modules(model: nn.Module) -> list[str]:
    """Modules in training mode that compute something else there, such as "bn1 (BatchNorm2d)"."""
    found = []
    for name, module in model.named_modules():
        norm = isinstance(module, _NORMS) and getattr(module, "track_running_stats", False)
        dropout = isinstance(module, _DROPOUTS) and module.p > 0
        other = isinstance(getattr(module, "dropout", None), float) and module.dropout > 0
        if module.training and (norm or dropout or other):
            found.append(f"{name or type(module).__name__} ({type(module).__name__})")
    return found


def evaluation_mode(model: nn.Module) -> Answer:
    question = "Is the model in evaluation mode?"
    matter = training_modules(model)
    training = sum(module.training for module in model.modules())
    if not training:
        return Answer(
            question,
            "yes",
            f"{counted(sum(1 for _ in model.modules()), 'module')}, all in evaluation mode",
        )
    if not matter:
        return Answer(
            question,
            "no",
            f"{counted(training, 'module')} in training mode, which compute the same in both modes",
            "model.eval()",
        )
    shown = ", ".join(matter[:4]) + (f" and {len(matter) - 4} more" if len(matter) > 4 else "")
    return Answer(
        question,
        "no",
        f"in training mode: {shown}",
        "call model.eval() before the first batch",
    )


def input_device(inputs: list[TensorInfo], held: list[Held]) -> Answer:
    question = "Is the input on the model's device?"
    home = home_of(held)
    if home is None or not inputs:
        what = "parameters" if home is None else "tensors in its inputs"
        return Answer(question, "not applicable", f"the model has no {what}")
    # A model on several devices may take its input on any of them.
    places = {str(h.tensor.device) for h in held if h.kind != "unregistered tensor"}
    away = [i for i in inputs if i.device not in places]
    if not away:
        on = ", ".join(sorted({i.device for i in inputs}))
        return Answer(question, "yes", f"{counted(len(inputs), 'tensor')} on {on}, as the model is")
    shown = ", ".join(f"{i.name} on {i.device}" for i in away[:4])
    target, what = str(home), "the input"
    if home.type == "cpu":
        target, what = away[0].device, "the model"
    return Answer(
        question, "no", f"the model is on {home}, {shown}", f"move {what} to {target!r} first"
    )


def gradients_off(operators: int, with_grad: int, outputs: list[TensorInfo]) -> Answer:
    question = "Are gradients off?"
    graphs = sum(o.requires_grad for o in outputs)
    if not with_grad:
        return Answer(
            question, "yes", f"{counted(operators, 'operator')} ran, and none recorded a graph"
        )
    return Answer(
        question,
        "no",
        f"{with_grad} of {operators} operators ran with gradients on"
        + (f"; {graphs} of {len(outputs)} outputs hold a graph" if outputs else ""),
        "call the model within `with torch.inference_mode():`",
    )


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def driver(device: torch.device | None, virtual: bool) -> Answer:
    question = "Does the driver support torch's CUDA version?"
    built = torch.version.cuda
    if device is None or device.type != "cuda":
        return Answer(question, "not applicable", f"the model ran on {device or 'no device'}")
    if virtual:
        return Answer(
            question,
            "not applicable",
            f"the device is virtual and has no driver; torch is {torch.__version__}",
        )
    if torch.version.hip:
        return Answer(
            question, "not applicable", f"this torch is built for ROCm {torch.version.hip}"
        )
    has: int = torch._C._cuda_getDriverVersion()  # type: ignore[attr-defined]  # CUDA builds only
    assert built is not None  # a build that finds a CUDA device has a CUDA version
    wanted = int(built.split(".")[0]) * 1000 + int(built.split(".")[1]) * 10
    seen = f"the driver supports CUDA {_version(has)}, torch is built for {built}"
    # Minor versions of one major version are compatible, from CUDA 11 on.
    if has // 1000 >= wanted // 1000:
        return Answer(question, "yes", seen)
    return Answer(
        question,
        "no",
        seen,
        f"install a driver for CUDA {built}, or a torch built for CUDA {_version(has)}",
    )


def peak_of(device: torch.device | None) -> tuple[int, int] | None:
    """(peak of this process, total memory) in bytes, of an accelerator or the host, or None."""
    if device is not None and device.type != "cpu":
        module: Any = getattr(torch, device.type, None)
        # MPS has no peak, but its driver keeps freed memory allocated.
        if hasattr(module, "driver_allocated_memory"):
            return module.driver_allocated_memory(), module.recommended_max_memory()
        if hasattr(module, "max_memory_allocated") and hasattr(module, "mem_get_info"):
            return module.max_memory_allocated(device), module.mem_get_info(device)[1]
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return peak, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def memory(device: torch.device | None, held: list[Held]) -> Answer:
    question = "Is the memory use reasonable?"
    storages = {storage_number(h.tensor) or id(h.tensor): bytes_of(h.tensor) for h in held}
    model = size(sum(storages.values()))
    found = peak_of(device)
    if found is None:
        return Answer(
            question, "not applicable", f"the model holds {model}; {device} does not report a peak"
        )
    peak, total = found
    where = f"on {device}" if device is not None and device.type != "cpu" else "of this process"
    seen = f"the model holds {model}; the peak {where} was {size(peak)} of {size(total)}"
    if peak <= _REASONABLE * total:
        return Answer(question, "yes", seen)
    return Answer(
        question, "no", seen, "use a smaller batch, torch.inference_mode(), or half precision"
    )
