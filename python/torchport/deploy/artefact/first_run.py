"""One run of the model before the export, to report its errors in the model's own terms."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from torchport.deploy.artefact.errors import ExportError
from torchport.deploy.artefact.sample import Sample
from torchport.observe.mixing import sentence
from torchport.observe.result import Mixed
from torchport.observe.running import WatchedRun

_TORCH = torch.__path__[0]
_OWN = ("torchport/deploy", "torchport/observe")


def run_once(module: nn.Module, sample: Sample) -> Any:
    """Runs the model once and returns its outputs for the sample.

    Raises ExportError if the model raises an error. If an operator gets tensors on two devices, the
    message names the tensors and the fix, in the words of ``torchport verify``.
    """
    run = WatchedRun(module, dict(sample.items()))
    try:
        with torch.no_grad():
            run.go(lambda: sample.call(module))
        if run.error is None:
            return run.output
        _, context = run.summarize()
        mixed = run.mixed(context)
        assert mixed is not None  # go() raises every other error
        raise ExportError(_message(mixed)) from run.error
    except ExportError:
        raise
    except Exception as error:
        line = _line_of(error)
        raise ExportError(
            f"the model itself fails on these inputs{f', at {line}' if line else ''}:\n"
            f"  {type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"
        ) from error
    finally:
        run.let_go()


def _message(mixed: Mixed) -> str:
    lines = [sentence(mixed) + (f", at {mixed.line}" if mixed.line else ""), f"  fix: {mixed.fix}"]
    if mixed.fixed_line:
        lines.append(f"    {mixed.fix_at}")
        lines.append(f"    + {mixed.fixed_line}")
    return "\n".join(lines)


def _line_of(error: BaseException) -> str | None:
    """The innermost line in the error's traceback that is not in torch or torchport."""
    line, trace = None, error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith(_TORCH) and not any(own in file for own in _OWN):
            line = f"{file}:{trace.tb_lineno}"
        trace = trace.tb_next
    return line
