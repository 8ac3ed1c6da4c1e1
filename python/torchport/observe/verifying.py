"""torchport.verify: watches one run of a model and reports the results."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Literal

import torch
from torch import nn

from torchport import virtual
from torchport.observe import checklist
from torchport.observe.findings import Context, findings_of
from torchport.observe.inputs import Inputs, inputs_from
from torchport.observe.inventory import home_of, info_of
from torchport.observe.naming import named_tensors
from torchport.observe.result import Severity, Verification
from torchport.observe.running import WatchedRun


def verify(
    model: nn.Module,
    inputs: Any = None,
    *,
    device: str | torch.device | None = None,
    call: Callable[..., Any] | None = None,
    evaluate: bool = False,
    training: bool = False,
    check_finite: bool = False,
    every_line: bool = True,
    fail_on: Literal["error", "warning"] = "warning",
    libraries: bool = False,
) -> Verification:
    """Runs ``model`` once and reports where its tensors are, what mixes devices, and what is
    copied.

    An error because of mixed devices, or because of a NumPy array of a tensor on a device, is part
    of the result. Any other exception of the model is passed on unchanged. The model really runs, so its changes remain. Several verifications may run
    at once, nested or on separate threads, also under ``torchport run --report``.

    Args:
        model: The model.
        inputs: A tuple of positional arguments, a mapping of keyword arguments, a DataLoader (its
            first batch is used), or the only argument.
        device: The device to move the model and its inputs to before the run, as ``.to()`` does.
            The batch of a DataLoader is not moved. By default nothing is moved.
        call: A function to run instead of the model, as ``call(model, *args, **kwargs)``, for
            example a training step or generate(). With a DataLoader it gets the whole batch.
        evaluate: Whether to run under ``eval()`` and ``inference_mode()``. The modes are restored
            afterwards.
        training: Whether gradients and training mode are intended and not reported.
        check_finite: Whether to look for the first NaN and the first infinity. This reads every
            result, which is slow.
        every_line: Whether to find the line of every operator. If false, only operators that make,
            move or read a tensor have a line, which saves about a microsecond for each other one.
        fail_on: The least severe finding with which the model is not verified.
        libraries: Whether copies and reads inside installed libraries are findings, too. By default
            they are counted in one note.

    Returns:
        The report. ``ok`` says whether there is no error and no warning. Its text and ``html()``
        are for people, ``to_dict()`` is for programs.

    Raises:
        TypeError: ``model`` is not a module.
        ValueError: ``fail_on`` is neither "error" nor "warning".

    Example:
        >>> result = torchport.verify(torch.nn.Linear(2, 1), torch.ones(3, 2), evaluate=True)
        >>> result.ok, result.outputs[0].sizes
        (True, (3, 1))
    """
    if not isinstance(model, nn.Module):
        raise TypeError(
            f"torchport: verify needs an nn.Module, not {type(model).__name__}; to verify "
            "a function, pass the module that it uses and call=function"
        )
    if fail_on not in ("error", "warning"):
        raise ValueError(f'torchport: fail_on is "error" or "warning", not {fail_on!r}')
    given = inputs_from(inputs, model, call)
    if device is not None:
        device = torch.device(device)
        model.to(device)
        given = given if given.loader else given.moved(device)
    verification = _Verification(model, given, call, evaluate)
    try:
        verification.go(every_line=every_line, check_finite=check_finite)
        return verification.report("training" if training else "inference", fail_on, libraries)
    finally:
        verification.run.let_go()


class _Verification:
    """The run of one ``verify``, and its report."""

    def __init__(
        self, model: nn.Module, given: Inputs, call: Callable[..., Any] | None, evaluate: bool
    ):
        self.model = model
        self.given = given
        self.call = call
        self.evaluate = evaluate
        named = given.named(model.forward if call is None else _without_first(call))
        self.run = WatchedRun(model, named, loader=given.loader)
        self.run.again = lambda model: WatchedRun(model, named, loader=given.loader).mixed_by(
            lambda: self._run_with(model)
        )
        self.eval_answer = checklist.evaluation_mode(model)

    def go(self, *, every_line: bool, check_finite: bool) -> None:
        modes = {module: module.training for module in self.model.modules()}
        if self.evaluate:
            self.model.eval()
            self.eval_answer = checklist.evaluation_mode(self.model)
        try:
            self.run.go(
                lambda: self._run_with(self.model),
                every_line=every_line,
                check_finite=check_finite,
                explain_arrays=True,
            )
        finally:
            if self.evaluate:
                for module, mode in modes.items():
                    module.training = mode

    def _run_with(self, model: nn.Module) -> Any:
        if self.evaluate:
            model.eval()
        with torch.inference_mode() if self.evaluate else nullcontext():
            if self.call is None:
                return model(*self.given.args, **self.given.kwargs)
            return self.call(model, *self.given.args, **self.given.kwargs)

    def report(self, purpose: Any, fail_on: Severity, libraries: bool) -> Verification:
        run, seen = self.run, self.run.watch.observed
        summarizer, context = run.summarize()
        held, named_inputs = run.held, run.named_inputs
        outputs = [
            info_of(name, "output", tensor)
            for name, tensor in named_tensors(["output"], [run.output]).items()
        ]
        given = [info_of(name, "input", tensor) for name, tensor in named_inputs.items()]
        home = home_of(held) or next((t.device for t in named_inputs.values()), None)
        sums = seen.modules
        operators, with_grad = sum(m.operators for m in sums), sum(m.with_grad for m in sums)
        result = Verification(
            model=type(self.model).__name__,
            device=str(home) if home is not None else "none",
            purpose=purpose,
            torch=torch.__version__,
            devices=summarizer.devices(held, given),
            autocast=summarizer.autocast(),
            operators=seen.operators,
            unrecorded=seen.unrecorded,
            modules=summarizer.modules(self.model, held),
            inputs=given,
            outputs=outputs,
            intermediates=summarizer.intermediates(),
            flows=summarizer.flows(),
            transfers=summarizer.transfers(),
            mixed=run.mixed(context),
            not_finite=summarizer.not_finite(context),
            checklist=[
                self.eval_answer,
                checklist.input_device(given, held),
                checklist.gradients_off(operators, with_grad, outputs),
                checklist.driver(home, virtual.enabled()),
                checklist.memory(home, held),
            ],
            findings=[],
            output=run.output,
            fail_on=fail_on,
        )
        seen_in = Context(self.model, held, self.given, run.split, run.array, libraries)
        result.findings = findings_of(result, seen_in)
        return result


def _without_first(call: Callable[..., Any]) -> Callable[..., Any]:
    """``call`` with the model bound, so that its signature has only the other parameters."""
    from functools import partial

    return partial(call, None)
