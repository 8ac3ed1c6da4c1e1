"""A worker process, which runs one mode at one batch size for its parent.

`python -m torchport.deploy.bench.worker SPEC` reads requests from standard input, one line of JSON
each, and answers each with one line. The answer to {"run": steps} has the seconds of each step and
the peak memory.
"""

from __future__ import annotations

import inspect
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from torchport import _named as named
from torchport import virtual
from torchport.deploy.artefact.sample import Sample
from torchport.deploy.bench.meters import meter
from torchport.deploy.bench.modes import MODES, MeasuredModel, NotApplicable
from torchport.place.moving import to


def _inputs(make: Any, batch: int | None) -> Any:
    """Makes a tensor, a tuple or a dict with `batch` samples; repeats the first axis if needed."""
    takes_batch = callable(make) and any(
        p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        for p in inspect.signature(make).parameters.values()
    )
    if takes_batch:
        return make(1 if batch is None else batch)
    made = make() if callable(make) else make
    return made if batch is None else _repeated(made, batch)


def _repeated(made: Any, batch: int) -> Any:
    def change(tensor: torch.Tensor) -> torch.Tensor:
        return tensor[torch.arange(batch) % len(tensor)] if tensor.dim() else tensor

    return pytree.tree_map_only(torch.Tensor, change, made)


def _batch_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    leaves = pytree.tree_leaves((args, kwargs))
    return next((len(t) for t in leaves if isinstance(t, torch.Tensor) and t.dim()), 1)


def _model(spec: dict[str, Any], device: torch.device) -> torch.nn.Module:
    torch.manual_seed(0)
    found = named.find(spec["model"])
    return (found if isinstance(found, torch.nn.Module) else found()).to(device)


def _subject(spec: dict[str, Any], device: torch.device) -> MeasuredModel:
    """The model, or its artefact, with the arguments in the order of forward's."""
    artefact = spec.get("artefact")
    model = None if artefact else _model(spec, device)
    torch.manual_seed(1)
    inputs = to(_inputs(named.find(spec["input"]), spec["batch"]), device)
    if model is not None:
        sample = Sample.of(model, inputs)
        return MeasuredModel(model, sample.args, sample.kwargs, device)
    named_ones = {name: inputs[name] for name in spec["named"]}
    positional = inputs if isinstance(inputs, tuple) else (inputs,)
    return MeasuredModel(
        None, () if named_ones else tuple(positional), named_ones, device, Path(spec["artefact"])
    )


def _write(spec: dict[str, Any], device: torch.device) -> dict[str, Any]:
    """Writes the artefact of a mode. Another process measures it."""
    from torchport.deploy.artefact.exporting import export

    model = _model(spec, device)
    torch.manual_seed(1)
    inputs = to(_inputs(named.find(spec["input"]), spec["batch"]), device)
    export(model, inputs, to=MODES[spec["mode"]].artefact, path=spec["artefact"])
    return {"named": list(Sample.of(model, inputs).kwargs)}


class _Measured:
    """A mode that is ready to run."""

    def __init__(self, spec: dict[str, Any], device: torch.device) -> None:
        self.device = device
        named.find(spec["input"])  # imported first: modules do not count as the model's memory
        if not spec.get("artefact"):
            named.find(spec["model"])
        self.meter = meter(device)
        start = time.perf_counter()
        subject = _subject(spec, device)
        self.batch = _batch_of(subject.args, subject.kwargs)
        self.step = MODES[spec["mode"]].prepare(subject)
        self._wait()
        self.step()
        self._wait()
        self.prepared = time.perf_counter() - start

    def _wait(self) -> None:
        if self.device.type != "cpu":
            torch.accelerator.synchronize(self.device)

    def run(self, steps: int) -> dict[str, Any]:
        self.meter.reset()
        seconds = []
        for _ in range(steps):
            start = time.perf_counter()
            self.step()
            self._wait()
            seconds.append(time.perf_counter() - start)
        return {"seconds": seconds, **self.meter.peak()}


def _answer(file: Any, **what: Any) -> None:
    file.write(json.dumps(what) + "\n")
    file.flush()


def _summary_of(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"


def main(spec: dict[str, Any]) -> int:
    # Output of the model must not reach the parent as an answer. Only the parent handles ctrl-C.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    device = torch.device(spec["device"])
    if spec.get("threads"):
        torch.set_num_threads(spec["threads"])
    try:
        # The worker checks this, because the parent may have other devices.
        if reason := MODES[spec["mode"]].missing(device, virtual.enabled()):
            raise NotApplicable(reason)
        if spec.get("write"):
            _answer(answers, **_write(spec, device))
            return 0
        measured = _Measured(spec, device)
        _answer(answers, prepared=measured.prepared, batch=measured.batch)
        for line in sys.stdin:
            _answer(answers, **measured.run(json.loads(line)["run"]))
    except NotApplicable as error:
        _answer(answers, skipped=str(error))
    except Exception as error:
        import traceback

        traceback.print_exc()
        _answer(answers, failed=_summary_of(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
