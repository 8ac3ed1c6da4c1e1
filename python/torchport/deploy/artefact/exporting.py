"""torchport.export: prepares a model, writes the artefact, compares both, stores the contract."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from torchport import _device_kinds
from torchport.deploy.artefact import contract as contracts
from torchport.deploy.artefact import formats, servers
from torchport.deploy.artefact.attention import fast_path_differs, ordinary_attention
from torchport.deploy.artefact.axes import Axes
from torchport.deploy.artefact.batches import Budget, limit_batches, parity_batches
from torchport.deploy.artefact.bisect import first_difference
from torchport.deploy.artefact.capture import capture
from torchport.deploy.artefact.errors import ExportError, KeepsState, NotVerified
from torchport.deploy.artefact.formats._format import ExportedModel, Format, Options
from torchport.deploy.artefact.parity import Parity, eager, measure
from torchport.deploy.artefact.placing import tensors_of
from torchport.deploy.artefact.prepare import Prepared, prepare
from torchport.deploy.artefact.questions import (
    assumed,
    questions_of,
    refuse_other_answers,
    watched_questions,
)
from torchport.deploy.artefact.rows import rows_are_independent
from torchport.deploy.artefact.servers._server import Publication
from torchport.deploy.artefact.size_limits import limits_of
from torchport.deploy.artefact.staging import staged
from torchport.deploy.artefact.stripping import structural_copy
from torchport.deploy.artefact.tolerance import Tolerance
from torchport.deploy.artefact.traits import traits_of
from torchport.deploy.artefact.weights import weights_hash

# An error names so many differences; NotVerified.findings has all of them.
_MOST_FINDINGS = 4


@dataclass(frozen=True)
class Exported:
    """An artefact that was written.

    Attributes:
        path: The file.
        contract: The inputs, the outputs and the needs of the artefact, as stored in it.
        parity: The comparison with the model.
        notes: The changes that the export made.

    Example:
        >>> net = torch.nn.Linear(2, 1).eval()
        >>> done = torchport.export(net, torch.ones(3, 2), to="pt2", path="net.pt2")
        >>> done.path.name, done.contract["inputs"][0]["shape"]
        ('net.pt2', ['batch', 2])
        >>> done.parity.findings
        []
    """

    path: Path
    contract: dict[str, Any]
    parity: Parity
    notes: list[str]


@dataclass(frozen=True)
class Checks:
    """The settings of the comparison: further inputs and tolerances."""

    inputs: Sequence[Any] = ()
    tolerance: Tolerance | None = None
    allow_nan: bool = False


def export(
    model: nn.Module | Callable[[], nn.Module],
    inputs: Any,
    *,
    to: str,
    path: str | Path,
    server: str | None = None,
    weights: str | Path | None = None,
    dynamic: Sequence[str] | str | Mapping[str, Mapping[int, str]] | None = None,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
    opset: int | None = None,
    script: bool = False,
    allow_baked: bool = False,
    check_inputs: Sequence[Any] = (),
    tolerance: tuple[float, float] | None = None,
    allow_nan: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> Exported:
    """Writes ``model`` to ``path`` in an export format, and compares the result with the model.

    Not thread safe, as torch.export is not. On an error or ctrl-C, an existing file at ``path``
    stays unchanged.

    Args:
        model: A module, which is not changed, or a function that makes one.
        inputs: A tensor, a tuple of positional arguments, or a mapping of named ones.
        to: The format, such as "onnx"; ``torchport export --help`` lists them.
        path: The file to write; with ``server`` the model's folder in the server's repository.
        server: The server to lay the artefact out for, such as "triton". Each export is a new
            version of the model.
        weights: A safetensors or torch.save file to load the weights from.
        dynamic: Axes whose size may change: "batch", "name:axis=label", "name:axis=label[2..512]",
            or {"name": {0: "batch"}}; () for none. By default it is the batch, axis 0 of all inputs,
            if the model and the format allow it; if they do not, a note says why.
        device: Move the model and its inputs there. The default is the model's device.
        dtype: Convert all floating-point tensors. By default they keep their dtypes.
        opset: The ONNX opset. The default is the exporter's choice.
        script: Compile TorchScript from source, which keeps control flow.
        allow_baked: Allow a trace to keep branches and numbers that it read from the values of the
            inputs. The contract names their lines.
        check_inputs: Further inputs to compare on, beside those made from ``inputs``.
        tolerance: (absolute, relative to the output's largest magnitude). The default depends on
            the dtype.
        allow_nan: Allow NaN and infinity in the outputs.
        tell: A function that receives progress messages.

    Returns:
        The path, the contract, the comparison, and notes on the changes that were made.

    Raises:
        NotVerified: The artefact computes something different. The message names the node.
        ExportError: Anything else that prevents the export.

    Example:
        >>> done = torchport.export(
        ...     torch.nn.Linear(2, 1).eval(), torch.ones(3, 2), to="pt2", path="net.pt2"
        ... )
        >>> done.contract["outputs"][0]["dtype"]
        'float32'
    """
    options = Options(opset=opset, script=script, allow_baked=allow_baked)
    try:
        format_ = formats.get(to)
    except ValueError as error:
        raise ExportError(str(error)) from None
    for name in options.given():
        if name not in format_.takes:
            raise ExportError(f"the option {name} does not apply to {to}; leave it out")
    with (
        _place(server, Path(path), to) as place,
        _without_autocast(),
        ordinary_attention() as fast_path,
        warnings.catch_warnings(),
    ):
        for kind in (FutureWarning, DeprecationWarning):  # torch calls deprecated parts of itself
            warnings.simplefilter("ignore", kind)
        format_.check(options)
        module = structural_copy(model) if isinstance(model, nn.Module) else model()
        prepared = prepare(
            module,
            inputs,
            weights=None if weights is None else str(weights),
            device=None if device is None else _device(device),
            dtype=dtype,
            unsupported=format_.unsupported,
        )
        _add_assumptions(prepared, fast_path)
        if why := format_.refuses(prepared):
            raise ExportError(why)
        checks = Checks(
            check_inputs,
            None if tolerance is None else Tolerance(*tolerance, literal=True),
            allow_nan,
        )

        def write(axes: Axes) -> Exported:
            return _write(format_, prepared, axes, place.artefact, options, checks, tell)

        if dynamic is None:
            done = _with_batch(prepared, write, tell)
        else:
            wanted = [dynamic] if isinstance(dynamic, str) else dynamic
            done = write(Axes(prepared.sample, wanted))
        return replace(done, path=place.publish(done.contract))


def _place(server: str | None, path: Path, format_: str) -> AbstractContextManager[Publication]:
    if server is None:
        return nullcontext(Publication(path))
    try:
        found = servers.get(server)
    except ValueError as error:
        raise ExportError(str(error)) from None
    if why := found.refuses(format_):
        raise ExportError(why)
    return found.version(path, format_)


def _add_assumptions(prepared: Prepared, fast_path: bool) -> None:
    """Adds to the assumptions what a user of the artefact must know of the model."""
    prepared.traits = traits_of(prepared.module, prepared.sample)
    prepared.assumptions += [_without_folder(text) for text in prepared.traits.random]
    if fast_path and (
        text := fast_path_differs(
            prepared.module, prepared.sample, prepared.output_names, prepared.outputs
        )
    ):
        prepared.assumptions.append(text)


def _without_folder(text: str) -> str:
    line, blank, words = text.partition(" ")
    return Path(line).name + blank + words


def _with_batch(
    prepared: Prepared, write: Callable[[Axes], Exported], tell: Callable[[str], None]
) -> Exported:
    """Exports with a batch of any size, or with fixed shapes and a note if that is not possible."""
    axes, why = Axes.of_batch(prepared.sample)
    if axes and (refused := _refuses_one_row(prepared, axes)):
        axes.axes["batch"].minimum = 2
        prepared.notes.append(f"the batch has at least 2 rows: {refused}")
    before = prepared.notes.copy(), prepared.assumptions.copy()
    if axes:
        try:
            return write(axes)
        except KeepsState:
            raise
        except ExportError as error:
            why = " ".join(line.strip() for line in str(error).splitlines()[:2])
            tell(
                f"the size of the batch cannot vary: {why}\ntorchport export: again, with one size"
            )
    prepared.notes, prepared.assumptions = before
    prepared.notes.append(f"the shapes are fixed to those of the sample: {why}")
    return write(Axes(prepared.sample, []))


def _refuses_one_row(prepared: Prepared, axes: Axes) -> str:
    """What the model does with a batch of one row if it differs from others; empty if it does not."""
    try:
        ones = eager(prepared.module, axes.resized(prepared.sample, {"batch": 1}))[1]
    except Exception as error:
        text = (str(error).strip() or "-").splitlines()[0]
        return f"with one the model raises {type(error).__name__}: {text}"
    for name, one, usual in zip(prepared.output_names, ones, prepared.outputs, strict=False):
        if one.dim() != usual.dim():
            return f"with one, {name} has {one.dim()} dimensions, and otherwise {usual.dim()}"
    return ""


def _device(wanted: torch.device | str) -> torch.device:
    """Returns the wanted device. Raises ExportError if it does not exist."""
    from torchport._native.devices import choose_device

    try:
        return choose_device(str(wanted)).device
    except (ValueError, RuntimeError) as error:
        raise ExportError(str(error)) from None


@contextmanager
def _without_autocast() -> Iterator[None]:
    """Turns the caller's autocast off: it is not part of the model; ``dtype`` sets casts."""
    with ExitStack() as stack:
        for kind in ("cpu", *(known.name for known in _device_kinds.known_to_torch())):
            if torch.is_autocast_enabled(kind):
                stack.enter_context(torch.autocast(kind, enabled=False))
        yield


def _write(
    format_: Format,
    prepared: Prepared,
    axes: Axes,
    path: Path,
    options: Options,
    checks: Checks,
    tell: Callable[[str], None],
) -> Exported:
    tensors = dict(tensors_of(prepared.module))
    size = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
    with staged(path, size) as target:
        program = None
        if format_.needs_program:
            tell("capturing the graph")
            program = capture(prepared, axes)
        subject = ExportedModel(
            prepared.module, prepared.sample, prepared.output_names, axes, prepared.device, program
        )
        tell(f"writing {format_.name}")
        versions = format_.write(subject, target, options)
        tell("comparing with eager")
        parity = _compared(format_, subject, prepared, target, options, checks, tell)
        contract = contracts.describe(
            format_,
            subject,
            prepared,
            weights={
                "sha256": weights_hash(prepared.module),
                "tensors": len(tensors),
                "bytes": size,
            },
            versions=versions,
            parity=parity,
            host=format_.host(subject, target),
            independent=rows_are_independent(
                prepared.module, prepared.sample, axes, parity.tolerance
            ),
            returns=format_.returns(prepared.form, options),
            content=_content(format_, target),
        )
        format_.attach(target, json.dumps(contract, indent=1))
    return Exported(path, contract, parity, prepared.notes)


def _content(format_: Format, target: Path) -> list[dict[str, Any]]:
    """The files of the artefact with their hashes. The artefact itself comes first, without its contract and
    without a name."""
    from torchport._native import call

    beside = sorted(other for other in target.parent.glob(f"{target.name}*") if other != target)
    return [
        {"file": name, "bytes": size, "xxh3": call("content_hash", str(file), size)}
        for name, file, size in [
            ("", target, format_.kept_bytes(target)),
            *((other.name, other, other.stat().st_size) for other in beside),
        ]
    ]


def _compared(
    format_: Format,
    subject: ExportedModel,
    prepared: Prepared,
    target: Path,
    options: Options,
    checks: Checks,
    tell: Callable[[str], None],
) -> Parity:
    tolerance = checks.tolerance or Tolerance.of(prepared.dtype)
    more = [prepared.inputs(inputs) for inputs in checks.inputs]
    batches, too_large = parity_batches(prepared.sample, subject.axes, more)
    if subject.program is None and not options.script:
        # A graph of torch.export has the sizes at which its model decides; a trace does not.
        began = time.monotonic()
        eager(prepared.module, prepared.sample)
        limits = limits_of(prepared.module, prepared.sample)
        further, notes = limit_batches(
            prepared.sample, subject.axes, limits, batches, Budget(time.monotonic() - began)
        )
        batches += further
        prepared.notes += notes
    run, runtime = format_.runner(subject, target)
    names = questions_of(format_.name, options.script)
    with watched_questions(names) as asked:
        parity = measure(prepared.module, run, runtime, batches, tolerance, checks.allow_nan)
    if asked.lines:
        settings = (tolerance, checks.allow_nan)
        refuse_other_answers(prepared.module, batches, names, asked, settings)
        subject.assumptions.extend(assumed(asked))
    parity.skipped |= dict.fromkeys(too_large, "the inputs would be too large")
    if not parity.findings:
        return parity
    wrong = None
    if parity.failing is not None:
        try:
            program = subject.program or capture(prepared, Axes(parity.failing, ()))
            wrong = first_difference(format_, program, parity.failing, options, tolerance, tell)
        except ExportError as error:
            tell(f"the wrong node was not found: {error}")
    lines = [f"the {format_.name} artefact does not compute what the model computes:"]
    lines += [f"  {finding}" for finding in parity.findings[:_MOST_FINDINGS]]
    if (unnamed := len(parity.findings) - _MOST_FINDINGS) > 0:
        lines.append(f"  and {unnamed} more like these")
    if wrong is not None:
        lines.append(f"the first wrong node is {wrong}")
    if prepared.traits.random:
        lines += ["the results of the model itself are random:"]
        lines += [f"  {text}" for text in prepared.traits.random]
        lines.append("make the numbers an input, or draw them only where self.training is true")
    elif why := format_.why_different(options):
        lines.append(why)
    raise NotVerified("\n".join(lines), parity.findings, wrong)
