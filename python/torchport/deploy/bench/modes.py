"""The modes. A mode is one way to run a model and gives one row of the table."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from torchport.deploy.artefact import formats

Step = Callable[[], Any]


@dataclass
class MeasuredModel:
    """A model, or the artefact of a mode that runs one, with its inputs on the device."""

    module: nn.Module | None
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    device: torch.device
    artefact: Path | None = None
    compiled: Callable[..., Any] | None = None

    @property
    def model(self) -> nn.Module:
        """The module; only modes that do not run an artefact have it."""
        assert self.module is not None
        return self.module

    def call(self) -> Any:
        return (self.compiled or self.model)(*self.args, **self.kwargs)

    def map_inputs(self, change: Callable[[torch.Tensor], torch.Tensor]) -> None:
        self.args, self.kwargs = pytree.tree_map_only(
            torch.Tensor, change, (self.args, self.kwargs)
        )

    def tensors(self) -> list[torch.Tensor]:
        leaves = pytree.tree_leaves((self.args, self.kwargs))
        return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


@dataclass(frozen=True)
class Mode:
    """A way to run a model: `prepare` makes the step that is measured."""

    name: str
    title: str
    prepare: Callable[[MeasuredModel], Step]
    artefact: str = ""  # the export format of the artefact that the step runs
    missing: Callable[[torch.device, bool], str] = lambda device, virtual: ""  # why it cannot run


def _loss(output: Any) -> torch.Tensor:
    """A scalar to call backward() on: the model's own loss, or the mean square of its outputs."""
    loss = getattr(output, "loss", None)
    if isinstance(loss, torch.Tensor):
        return loss
    leaves = pytree.tree_leaves(output)
    tensors = [t for t in leaves if isinstance(t, torch.Tensor) and t.requires_grad]
    if not tensors:
        raise ValueError("the model's output has no tensor that gradients flow through")
    return torch.stack([tensor.float().square().mean() for tensor in tensors]).sum()


def _train(subject: MeasuredModel) -> Step:
    subject.model.train()
    optimizer = torch.optim.SGD(subject.model.parameters(), lr=1e-4, momentum=0.9)

    def step() -> None:
        optimizer.zero_grad()
        _loss(subject.call()).backward()
        optimizer.step()

    return step


def _autocast(device: torch.device) -> AbstractContextManager[None]:
    return torch.autocast(device.type, torch.bfloat16)


def _channels_last(subject: MeasuredModel) -> None:
    subject.model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # torch has it
    subject.map_inputs(
        lambda t: t.contiguous(memory_format=torch.channels_last) if t.dim() == 4 else t
    )


def _compile(subject: MeasuredModel) -> None:
    # Freezing makes constants of the weights, in the layout of the kernels. It is for inference.
    torch._inductor.config.freezing = True
    subject.compiled = torch.compile(subject.model)


def _inference(
    subject: MeasuredModel,
    *changes: Callable[[MeasuredModel], None],
    grad: Callable[[], AbstractContextManager[Any]] = torch.inference_mode,
    cast: bool = False,
) -> Step:
    subject.model.eval()
    for change in changes:
        change(subject)

    def step() -> Any:
        with grad(), _autocast(subject.device) if cast else nullcontext():
            return subject.call()

    return step


def _needs_images(subject: MeasuredModel) -> None:
    if not any(t.dim() == 4 for t in [*subject.tensors(), *subject.model.parameters()]):
        raise NotApplicable("the model has no tensor with four dimensions (images)")
    _channels_last(subject)


class NotApplicable(Exception):
    """The mode cannot be run here, or would not change anything for this model."""


def _no_bfloat16(device: torch.device, virtual: bool) -> str:
    if device.type == "cpu" and not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return "this CPU has no instructions for bfloat16"
    if device.type == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False):
        return "this GPU has no instructions for bfloat16"
    return ""


def no_compiler(device: torch.device, virtual: bool) -> str:
    if device.type == "cpu" and not (shutil.which("g++") or shutil.which("clang++")):
        return "torch.compile needs a C++ compiler; g++ was not found"
    return ""


def _no_compile_nor_bfloat16(device: torch.device, virtual: bool) -> str:
    return no_compiler(device, virtual) or _no_bfloat16(device, virtual)


def _artefact_modes() -> Iterator[Mode]:
    """One mode for each export format that can be measured; the formats decide that."""
    for name in formats.names():
        format_ = formats.get(name)
        if format_.bench_title:
            yield Mode(name, format_.bench_title, format_.bench_step, name, format_.why_not_bench)


_ALL = (
    Mode("train", "train + grad, SGD step", _train),
    Mode("eval", "eval, graph recorded", partial(_inference, grad=torch.enable_grad)),
    Mode("no_grad", "eval + no_grad", partial(_inference, grad=torch.no_grad)),
    Mode("inference", "eval + inference_mode", _inference),
    Mode("channels_last", "inference + channels_last", lambda s: _inference(s, _needs_images)),
    Mode(
        "autocast",
        "inference + autocast bf16",
        partial(_inference, cast=True),
        missing=_no_bfloat16,
    ),
    Mode(
        "compile",
        "inference + compile",
        lambda s: _inference(s, _compile, grad=torch.no_grad),
        missing=no_compiler,
    ),
    Mode(
        "combined",
        "channels_last + autocast + compile",
        lambda s: _inference(s, _channels_last, _compile, grad=torch.no_grad, cast=True),
        missing=_no_compile_nor_bfloat16,
    ),
    *_artefact_modes(),
)
MODES = {mode.name: mode for mode in _ALL}
