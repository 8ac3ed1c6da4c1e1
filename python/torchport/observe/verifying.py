"""torchport.verify: one run of a model, watched, and what that showed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from torchport import _device_kinds
from torchport.observe import checklist, telling
from torchport.observe.findings import findings_of
from torchport.observe.inputs import Inputs, inputs_from
from torchport.observe.inventory import held_by, info_of
from torchport.observe.mixing import Context, diagnose, home_of
from torchport.observe.naming import Names, named_tensors
from torchport.observe.result import Verification
from torchport.observe.watching import Watch, watching


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
) -> Verification:
    """Runs ``model`` once under watch and says where its tensors are, what mixes devices, what
    copies.

    A mixed-device error is part of the result. Whatever else the model raises passes through
    unchanged. The model runs for real: what it changes stays changed.

    Args:
        model: The model.
        inputs: A tuple of positional arguments, a mapping of keyword arguments, a DataLoader (its
            first batch), or the one argument.
        device: The model and its inputs are moved there before, as a program would by ``.to()``; a
            DataLoader's batch is taken as it comes.
        call: Run in place of the model: ``call(model, *args, **kwargs)``, a training step or
            generate(). Of a DataLoader it gets the whole batch.
        evaluate: Run under ``eval()`` and ``inference_mode()``, and put the modes back.
        training: Gradients and training mode are wanted.
        check_finite: Look for the first NaN and infinity, which reads every result.
        every_line: Find the line of every operator. Without it only of what makes, moves or reads a
            tensor: a microsecond less for each of the other operators.

    Returns:
        The report. ``ok`` says whether it is free of errors; its text, ``html()`` and ``to_dict()``
        are for people and programs.

    Raises:
        TypeError: ``model`` is not a module.
        RuntimeError: Another verification runs in this process, whose operators are watched as a
            whole.

    Example:
        >>> result = torchport.verify(torch.nn.Linear(2, 1), torch.ones(3, 2), evaluate=True)
        >>> result.ok, result.outputs[0].sizes
        (True, (3, 1))
    """
    if not isinstance(model, nn.Module):
        raise TypeError(
            f"torchport: verify takes an nn.Module, not {type(model).__name__}; to verify a "
            "function, pass the module it uses and call=function"
        )
    given = inputs_from(inputs, model, call)
    if device is not None:
        device = torch.device(device)
        model.to(device)
        given = given if given.loader else given.moved(device)
    run = _Run(model, given, call, evaluate)
    try:
        run.go(every_line=every_line, check_finite=check_finite)
        return run.told("training" if training else "inference")
    finally:
        run.names.frames = []  # they hold the program's tensors, and this one, in a circle
        run.error = None


class _Run:
    def __init__(
        self, model: nn.Module, given: Inputs, call: Callable[..., Any] | None, evaluate: bool
    ):
        self.model = model
        self.given = given
        self.call = call
        self.evaluate = evaluate
        self.named_inputs = given.named(model.forward if call is None else _without_first(call))
        self.held = held_by(model)
        self.names = Names(self.held, self.named_inputs)
        self.watch = Watch(model)
        self.output: Any = None
        self.error: BaseException | None = None
        self.eval_answer = checklist.evaluation_mode(model)

    def go(self, *, every_line: bool, check_finite: bool) -> None:
        modes = {module: module.training for module in self.model.modules()}
        if self.evaluate:
            self.model.eval()
            self.eval_answer = checklist.evaluation_mode(self.model)
        try:
            with watching(self.watch, every_line=every_line, check_finite=check_finite):
                try:
                    self._call()
                except Exception as error:
                    self.error = error
        finally:
            if self.evaluate:
                for module, mode in modes.items():
                    module.training = mode
        if self.error is not None and not self._is_mixed(self.error):
            raise self.error

    def _call(self) -> None:
        mode = torch.inference_mode() if self.evaluate else _AsItIs()
        with mode:
            if self.call is None:
                self.output = self.model(*self.given.args, **self.given.kwargs)
            else:
                self.output = self.call(self.model, *self.given.args, **self.given.kwargs)

    def _is_mixed(self, error: BaseException | None) -> bool:
        """Whether it is the observer's error, or one that the program made of it."""
        if self.watch.observed.mixed is None:
            return False
        wanted = _alike(self.watch.observed.mixed.message)
        while error is not None:
            told = str(error)
            # Where Python raised it below an operator, C++ has "RuntimeError: " before it.
            if wanted in _alike(told, whole=True) or (told and wanted.endswith(_alike(told))):
                return True
            # Python puts its own names of types into the message of a convolution.
            if wanted.startswith("Input type (") and told.startswith("Input type ("):
                return True
            error = error.__cause__ or error.__context__
        return False

    def told(self, purpose: Any) -> Verification:
        held = held_by(self.model)
        self.names.add_held(held)
        self.names.after(self.error)
        teller = telling.Teller(self.watch, self.watch.observed)
        context = Context(self.model, held, self.names, teller.module_of_scope, self.given.loader)
        mixed = None
        if self.watch.observed.mixed is not None:
            mixed = diagnose(self.watch.observed.mixed, context, self.error)
        outputs = [
            info_of(name, "output", tensor)
            for name, tensor in named_tensors(["output"], [self.output]).items()
        ]
        given = [info_of(name, "input", tensor) for name, tensor in self.named_inputs.items()]
        home = home_of(held) or next((t.device for t in self.named_inputs.values()), None)
        sums = self.watch.observed.modules
        operators, with_grad = sum(m.operators for m in sums), sum(m.with_grad for m in sums)
        result = Verification(
            model=type(self.model).__name__,
            device=str(home) if home is not None else "none",
            purpose=purpose,
            torch=torch.__version__,
            devices=teller.devices(held, given),
            autocast=teller.autocast(),
            operators=self.watch.observed.operators,
            unrecorded=self.watch.observed.unrecorded,
            modules=teller.modules(self.model, held),
            inputs=given,
            outputs=outputs,
            intermediates=teller.intermediates(),
            flows=teller.flows(),
            transfers=teller.transfers(),
            mixed=mixed,
            not_finite=teller.not_finite(context),
            checklist=[
                self.eval_answer,
                checklist.input_device(given, held),
                checklist.gradients_off(operators, with_grad, outputs),
                checklist.driver(home, bool(os.environ.get("TORCHPORT_VIRTUAL"))),
                checklist.memory(home, held),
            ],
            findings=[],
            output=self.output,
        )
        result.findings = findings_of(result, self.model, held, self.given)
        return result


def _alike(message: str, whole: bool = False) -> str:
    """Its first line, without which device it was: replicas fail in any order, each on its own."""
    text = message if whole else message.strip().partition("\n")[0]
    kinds = "|".join(("cpu", "meta", *(kind.name for kind in _device_kinds.kinds())))
    return re.sub(rf"\b({kinds})(:\d+)?\b", "DEVICE", text)


class _AsItIs:
    """The caller's own modes."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


def _without_first(call: Callable[..., Any]) -> Callable[..., Any]:
    """``call`` as its signature looks once the model is given."""
    from functools import partial

    return partial(call, None)
