"""Runs one call of a model under the observer, for ``verify`` and the first run of ``export``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from torchport import _device_kinds
from torchport.observe.arrays import array_of
from torchport.observe.inventory import held_by
from torchport.observe.known import Context
from torchport.observe.mixing import diagnose
from torchport.observe.naming import Names
from torchport.observe.references import References
from torchport.observe.result import Finding, Mixed
from torchport.observe.splitting import Split, split_of
from torchport.observe.summarizing import Summarizer
from torchport.observe.watching import Watch, watching


class WatchedRun:
    """Runs a call, keeps its result or its error, and explains an error because of mixed devices.

    ``named_inputs`` are the tensors among the arguments by name. ``loader`` says whether a
    DataLoader made them.
    """

    def __init__(
        self, model: nn.Module, named_inputs: dict[str, torch.Tensor], *, loader: bool = False
    ):
        self.model = model
        self.named_inputs = named_inputs
        self.held = held_by(model)
        self.watch = Watch(model)
        self.output: Any = None
        self.error: Exception | None = None
        self.split: Split | None = None
        self.array: Finding | None = None
        # Makes the call with another model, so that a fix is tried before it is shown.
        self.again: Callable[[nn.Module], Mixed | None] | None = None
        self._names = Names(self.held, named_inputs)
        self._loader = loader

    def go(
        self,
        call: Callable[[], Any],
        *,
        every_line: bool = True,
        check_finite: bool = False,
        explain_arrays: bool = False,
    ) -> None:
        """Runs ``call``. Passes its errors on, except an error because of mixed devices. With
        ``explain_arrays``, the error of an array of a tensor on a device is kept as ``array``."""
        with watching(self.watch, every_line=every_line, check_finite=check_finite):
            try:
                self.output = call()
            except Exception as error:
                self.error = error
        if explain_arrays:
            self.array = array_of(self.error)
        if self.error is None or self.array is not None or self._is_of_devices(self.error):
            return
        raise self.error

    def summarize(self) -> tuple[Summarizer, Context]:
        """Returns the observation and the data for a diagnosis, after the call has ended."""
        self.held = held_by(self.model)
        self._names.add_held(self.held)
        self._names.after(self.error)
        if self.watch.observed.mixed is not None:
            for module in self.watch.outside():
                name = self._names.of_module(module)
                self._names.add_held(held_by(module, name or type(module).__name__, name))
        summarizer = Summarizer(self.watch, self.watch.observed)
        self.split = split_of(self.model, self.held, summarizer.transfers())
        context = Context(
            self.model,
            self.held,
            self._names,
            summarizer.module_of_scope,
            self._loader,
            self.named_inputs,
            References(self.model, self._names.frames),
            self.split,
            self.again,
        )
        return summarizer, context

    def mixed(self, context: Context) -> Mixed | None:
        """The first operator that raised an error because its tensors were on several devices."""
        seen = self.watch.observed.mixed
        return None if seen is None else diagnose(seen, context, self.error)

    def mixed_by(self, call: Callable[[], Any]) -> Mixed | None:
        """Makes the call, and returns what it mixes, if it does."""
        try:
            self.go(call)
            return self.mixed(self.summarize()[1])
        finally:
            self.let_go()

    def let_go(self) -> None:
        """Drops the program's frames: they keep its tensors alive, and this object in a cycle."""
        self._names.frames = []
        self.error = None

    def _is_of_devices(self, error: BaseException | None) -> bool:
        """Whether ``error`` is the error that the observer recorded, or follows from it."""
        if self.watch.observed.mixed is None:
            return False
        wanted = _alike(self.watch.observed.mixed.message)
        while error is not None:
            text = str(error)
            # If Python raised the error below an operator, C++ puts "RuntimeError: " before it.
            if wanted in _alike(text, whole=True) or (text and wanted.endswith(_alike(text))):
                return True
            # In the message of a convolution, Python replaces the names of the types.
            if wanted.startswith("Input type (") and text.startswith("Input type ("):
                return True
            error = error.__cause__ or error.__context__
        return False


def _alike(message: str, whole: bool = False) -> str:
    """The first line of a message with DEVICE for each device. Replicas fail in any order, and each
    names its own device."""
    text = message if whole else message.strip().partition("\n")[0]
    kinds = "|".join(("cpu", "meta", *(kind.name for kind in _device_kinds.kinds())))
    return re.sub(rf"\b({kinds})(:\d+)?\b", "DEVICE", text)
