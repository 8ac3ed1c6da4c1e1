"""Watches one run of a model: hooks tell the observer which module runs, also on new threads."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as nn_module

from torchport._native.observing import Observation, ObservedThread
from torchport.observe.inventory import info_of, within
from torchport.observe.result import OUTSIDE, TensorInfo

# Frames of these modules do not count as lines of the program.
_PASSED_OVER = [
    str(Path(torch.__file__).parent) + "/",
    str(Path(__file__).parents[1]) + "/",
    "<frozen",
    str(Path(threading.__file__)),
    str(Path(sys.modules["contextlib"].__file__ or "contextlib")),
]


class Watch:
    """The modules by number, with the inputs and outputs of their first calls."""

    def __init__(self, model: nn.Module):
        self.names: list[str] = [OUTSIDE]
        self.calls: list[int] = [0]
        self.inputs: dict[int, list[TensorInfo]] = {}
        self.outputs: dict[int, list[TensorInfo]] = {}
        self.observation: Any = None  # kept after its end, because places are valid only with it
        self.observed: Any = None
        self._numbers: dict[int, int] = {}
        self._alive: list[nn.Module] = []  # keeps modules alive, so that no id is used twice
        for name, module in model.named_modules():
            self._add(module, name)
        self._of_model = len(self._alive)

    def _add(self, module: nn.Module, name: str) -> int:
        number = len(self.names)
        self.names.append(name)
        self.calls.append(0)
        self._numbers[id(module)] = number
        self._alive.append(module)
        return number

    def number_of(self, module: nn.Module) -> int:
        """The number of a module. A module outside of the model, such as a loss, is added now and
        named after its type."""
        return self._numbers.get(id(module)) or self._add(module, f"({type(module).__name__})")

    def outside(self) -> list[nn.Module]:
        """The modules that ran and are not part of the model, such as a loss. A module inside of
        another one is left out."""
        alive = self._alive[self._of_model :]
        inner = {id(m) for module in alive for m in module.modules() if m is not module}
        return [module for module in alive if id(module) not in inner]

    def before(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        if torch.compiler.is_compiling():  # torch.cond compiles its branches before they run
            return
        # The hooks apply to the whole process, and another thread may run another model.
        if self.observation.watches_this_thread():
            number = self.number_of(module)
            self.calls[number] += 1
            self.observation.enter(number)

    def after(self, module: nn.Module, args: tuple[Any, ...], *rest: Any) -> None:
        if torch.compiler.is_compiling() or not self.observation.leave():
            return
        # rest is (kwargs, output); torch omits kwargs if the module raised an error.
        *kwargs, output = rest
        number = self.number_of(module)
        if self.calls[number] == 1:  # also if the module raised an error and has no output
            self.inputs[number] = _tensors(
                "input", [*args, *(v for given in kwargs for v in given.values())]
            )
            self.outputs[number] = _tensors("output", [output])


def _tensors(kind: str, values: list[Any]) -> list[TensorInfo]:
    found = [part for value in values for part in within("", value)]
    return [info_of(path, kind, tensor) for path, tensor, _ in found]


class _WhileAnyWatches:
    """Changes that apply to the whole process while at least one model is watched.

    A watch also covers the threads that a watched thread starts (the observer itself covers those
    of autograd), and compiled modules run in eager mode. The watches are counted, because on
    several threads they may end in another order than they began.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._undo = ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._undo.enter_context(_threads_join_in())
                if "torch._dynamo" in sys.modules:
                    self._undo.enter_context(torch.compiler.set_stance("force_eager"))
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._undo.close()


@contextmanager
def _threads_join_in() -> Iterator[None]:
    begin = threading.Thread.start

    def start(self: threading.Thread) -> None:
        run, starter = self.run, ObservedThread.current()

        def watched() -> None:
            del self.run  # it would keep the thread alive in a cycle
            starter.join()
            run()

        self.run = watched  # type: ignore[method-assign]
        begin(self)

    threading.Thread.start = start  # type: ignore[method-assign]
    try:
        yield
    finally:
        threading.Thread.start = begin  # type: ignore[method-assign]


def _let_through(operators: dict[str, Any]) -> None:
    """Lets higher-order operators, such as torch.cond, pass the observer's dispatch key, for which
    they have no implementation. The operators that they call are observed.
    """
    key = torch._C._parse_dispatch_key("TESTING_ONLY_GenericMode")  # that of observer.cpp
    for operator in operators.values():
        operator.fallthrough(key)


_while_any_watches = _WhileAnyWatches()


@contextmanager
def watching(watch: Watch, *, every_line: bool, check_finite: bool) -> Iterator[None]:
    """Watches the calling thread within the block; afterwards ``watch.observed`` has the results.

    Compiled modules run in eager mode: they compute the same, and their operators have lines.
    """
    _let_through(getattr(torch._ops, "_higher_order_ops", {}))
    watch.observation = Observation(_PASSED_OVER, every_line, check_finite)

    def end() -> None:
        watch.observed = watch.observation.finish()

    with ExitStack() as stack:
        stack.callback(end)  # the observation must end, also after an error
        stack.enter_context(_while_any_watches)
        for handle in (
            nn_module.register_module_forward_pre_hook(watch.before),
            nn_module.register_module_forward_hook(watch.after, with_kwargs=True, always_call=True),
        ):
            stack.callback(handle.remove)
        yield
