"""TorchScript: traced, or compiled from source if the model's Python branches on its data."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from torchport.deploy.artefact.errors import ExportError
from torchport.deploy.artefact.formats import _archive
from torchport.deploy.artefact.formats._format import ExportedModel, Format, Options, Runner
from torchport.deploy.artefact.formats._tracing import Reads, inlined_functions, watched_reads
from torchport.deploy.artefact.placing import tensors_of
from torchport.deploy.artefact.sample import Form, Sample, named_outputs
from torchport.deploy.artefact.state import kept
from torchport.deploy.artefact.user_lines import line_of_error

if TYPE_CHECKING:
    from torchport.deploy.artefact.prepare import Prepared
    from torchport.deploy.bench.modes import MeasuredModel


class ScriptArchive(Format):
    name = "torchscript"
    suffix = ".pt"
    bench_title = "TorchScript"
    needs_program = False
    takes = frozenset({"script", "allow_baked"})

    def write(self, subject: ExportedModel, path: Path, options: Options) -> dict[str, Any]:
        if not hasattr(torch.jit, "script" if options.script else "trace"):
            raise ExportError(
                f"torch {torch.__version__} no longer has TorchScript; use --to onnx, aoti or pt2"
            )
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # torch warns that TorchScript is deprecated
            compiled = _scripted(subject) if options.script else _traced(subject, options)
            try:
                _archive.write(path, lambda buffer: torch.jit.save(compiled, buffer))
            except RuntimeError as error:
                raise ExportError(
                    f"torch.jit.save cannot write the model: {_first_line(error)}"
                ) from error
        return {}

    def returns(self, form: Form, options: Options) -> str:
        if options.script or form.is_tensor:
            return form.text
        return f"tuple of {len(form.names)}: {', '.join(form.names)}"

    def refuses(self, prepared: Prepared) -> str:
        for name, tensor in tensors_of(prepared.module):
            if is_traceable_wrapper_subclass(tensor):
                return (
                    f"{name} is a {type(tensor).__name__}, a tensor subclass, which TorchScript does "
                    "not have: export to pt2 or aoti, or to TorchScript before it is quantized"
                )
        return ""

    def bench_step(self, model: MeasuredModel) -> Callable[[], Any]:
        module = torch.jit.load(model.artefact, map_location=model.device).eval()
        if model.device.type == "cpu":
            module = torch.jit.optimize_for_inference(torch.jit.freeze(module))
        tensors = model.tensors()

        def step() -> Any:
            with torch.inference_mode():
                return module(*tensors)

        return step

    def runner(self, subject: ExportedModel, path: Path) -> tuple[Runner, str]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                module = torch.jit.load(path)
            except RuntimeError as error:
                raise ExportError(
                    f"torch.jit cannot load the file that it wrote: {_first_line(error)}"
                ) from error

        def run(sample: Sample) -> list[torch.Tensor]:
            with torch.no_grad():
                return named_outputs(module(*sample.tensors))[1]

        return run, f"TorchScript {torch.__version__}"

    def why_different(self, options: Options) -> str:
        if options.script:
            return ""
        return "tracing keeps only the branches that ran; script=True (--script) keeps all of them"

    def attach(self, path: Path, contract: str) -> None:
        _archive.attach(path, contract)

    def kept_bytes(self, path: Path) -> int:
        return _archive.kept_bytes(path)

    def contract(self, path: Path) -> str | None:
        return _archive.contract(path)


class _Flat(nn.Module):
    """Wraps the model for tracing: it takes tensors, and returns a tensor if the model does, and
    otherwise a tuple of tensors."""

    def __init__(self, module: nn.Module, sample: Sample):
        super().__init__()
        self.module = module
        self._sample = sample

    def forward(self, *tensors: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, ...]:
        given = iter(tensors)
        result = self._sample.map(lambda _, __: next(given)).call(self.module)
        return result if isinstance(result, torch.Tensor) else tuple(named_outputs(result)[1])


def _traced(subject: ExportedModel, options: Options) -> torch.jit.ScriptModule:
    flat = _Flat(subject.module, subject.sample).eval()
    tensors = tuple(tensor.clone() for tensor in subject.sample.tensors)
    try:
        with kept(subject.module), inlined_functions(), watched_reads() as reads:
            # check_trace is off: the export compares with eager itself, on batches of several sizes.
            traced: torch.jit.ScriptModule = torch.jit.trace(flat, tensors, check_trace=False)
    except ExportError:
        raise
    except Exception as error:
        line = line_of_error(error.__traceback__)
        raise ExportError(
            f"torch.jit.trace cannot record the model{f', at {line}' if line else ''}:\n"
            f"  {_told(error)}"
        ) from error
    if reads.elements:
        raise ExportError(_by_element(reads))
    if reads.values and not options.allow_baked:
        raise ExportError(_baked(reads))
    for kind in (reads.values, reads.sizes, reads.warnings):
        subject.assumptions.extend(f"{Path(line).name} {words}" for line, words in kind.items())
    return traced


def _by_element(reads: Reads) -> str:
    lines = ["the model runs Python on the elements of a tensor, of which a trace keeps nothing:"]
    lines += [f"  {line} {words}" for line, words in reads.elements.items()]
    lines.append("compute with tensors: torch.where, or operators on the whole tensor")
    return "\n".join(lines)


def _baked(reads: Reads) -> str:
    """The error for a model whose trace is right for only some values of its inputs."""
    lines = ["the model reads values of its inputs in Python, and a trace keeps what it read once:"]
    lines += [f"  {line} {words}" for line, words in reads.values.items()]
    lines.append(
        "keep both branches with script=True (--script), or compute with tensors: torch.where, "
        "torch.cond. If all inputs read the same, allow_baked=True (--allow-baked) writes this into "
        "the contract"
    )
    return "\n".join(lines)


def _scripted(subject: ExportedModel) -> torch.jit.ScriptModule:
    everything = [*subject.sample.args, *subject.sample.kwargs.values()]
    if not all(isinstance(value, torch.Tensor) for value in everything):
        raise ExportError("script=True accepts only tensors as inputs, not containers of tensors")
    try:
        return torch.jit.script(subject.module)
    except Exception as error:
        raise ExportError(
            f"torch.jit.script cannot compile {type(subject.module).__name__}: {_first_line(error)}"
        ) from error


def _told(error: Exception) -> str:
    text = str(error)
    if "dynamo-optimized" in text:
        return (
            "it calls torch.cond, or what torch.compile made, which TorchScript does not have: export "
            "to pt2, aoti or onnx"
        )
    # The interpreter of a trace ends its own traceback with the exception.
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if "Traceback" in text and lines:
        return lines[-1]
    return f"{type(error).__name__}: {_first_line(error)}"


def _first_line(error: Exception) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)


FORMAT = ScriptArchive()
